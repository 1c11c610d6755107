"""`python -m ivy`: flags in, exit code out."""

import os
import signal
import sys
from collections.abc import Sequence

from ivy.arguments import config_of, parser
from ivy.errors import ConfigError


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve, and say in one line why not: exit code 2."""
    # How many threads tokenize is decided by --tokenizer-threads alone, not once more inside of each call.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    # Until the event loop minds signals. The first process of a container would not even die of one otherwise.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        config = config_of(parser().parse_args(arguments))
        # Only a start that can succeed pays for the imports.
        import uvloop

        from ivy import logs
        from ivy.serve import serve

        logs.set_up(config.log_level, config.log_format)
        uvloop.run(serve(config))
    except ConfigError as error:
        print(f"ivy: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
