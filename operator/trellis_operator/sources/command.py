"""`python -m trellis_operator fetch`: its flags, its exit code, and its last words for the kubelet.

Never decides how something is fetched.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from trellis_operator.sources.display import display
from trellis_operator.sources.failure import FetchError
from trellis_operator.sources.fetch import Fetch, Fetched, Order, Surroundings
from trellis_operator.sources.metrics import FetchMetrics
from trellis_operator.sources.order_file import read_source
from trellis_operator.sources.patience import Patience
from trellis_operator.sources.progress import Progress
from trellis_operator.sources.select import Part

PERMANENT = 2
TEMPORARY = 75
_MAX_MESSAGE_CHARACTERS = 1000
"""A kubelet keeps 4096 bytes of a termination message."""

_EPILOG = """\
Secrets come as environment variables: HF_TOKEN; AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
HF_ENDPOINT names a mirror of the hub; HTTPS_PROXY, NO_PROXY and REQUESTS_CA_BUNDLE hold, and pip's PIP_INDEX_URL.

DIR appears by one rename once all is there and checked, so its parent must be on the same volume. What a fetch that
was stopped has left beside DIR is used by the next one.

Exit codes: 0 the model is in DIR; 2 it cannot be had until something is changed; 75 try again later; 130 stopped.
"""


@dataclass(frozen=True)
class FetchOptions:
    """What the command line said.

    Attributes:
        source: JSON file with `spec.model.source`.
        target: the folder to publish.
        part: how much of the model.
        keep: names of folders beside it that stay, where all of them are of one model; None leaves them alone.
        patience: when to give up.
        metrics_listen: host and port for scrapes; None serves none.
        termination_log: gets the reason as JSON, where it exists.
    """

    source: Path
    target: Path
    part: Part
    keep: frozenset[str] | None
    patience: Patience
    metrics_listen: tuple[str, int] | None
    termination_log: Path

    @classmethod
    def from_arguments(cls, said: argparse.Namespace) -> "FetchOptions":
        """Read parsed arguments."""
        patience = Patience(deadline_s=said.deadline_seconds, stall_s=said.stall_seconds)
        keep = None if said.keep is None else frozenset(said.keep)
        return cls(said.source, said.to, said.part, keep, patience, said.metrics_listen, said.termination_log)


def run_fetch(options: FetchOptions) -> int:
    """Fetch one model; returns the exit code."""
    start = time.monotonic()

    def say(line: str) -> None:
        print(f"[{time.monotonic() - start:6.1f} s] {line}", file=sys.stderr, flush=True)

    try:
        fetched = _fetch(options, Progress(display(say)))
    except FetchError as error:
        _leave_word(options.termination_log, {"reason": error.reason.value, "message": str(error)})
        print(f"error: {error}", file=sys.stderr)
        return TEMPORARY if error.reason.temporary else PERMANENT
    word = {"reason": "Fetched", "message": f"the model is in {options.target}"}
    _leave_word(options.termination_log, word | {"revision": fetched.revision, "bytes": fetched.total_bytes})
    return 0


def _fetch(options: FetchOptions, progress: Progress) -> Fetched:
    metrics = FetchMetrics(progress)
    if options.metrics_listen is not None:
        metrics.serve(*options.metrics_listen)
    order = Order(read_source(options.source), options.target, options.part, options.patience, options.keep)
    return Fetch(order, Surroundings.from_environment(), progress, metrics).run()


def _leave_word(log: Path, word: dict[str, object]) -> None:
    """Write the last word for the kubelet, which makes the file; elsewhere there is none, and nobody to read it."""
    if log.exists():
        message = str(word["message"])[:_MAX_MESSAGE_CHARACTERS]
        log.write_text(json.dumps(word | {"message": message}), encoding="utf-8")


def add_fetch_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `fetch` to the commands."""
    parser = commands.add_parser(
        "fetch",
        help="bring a model from its source to a folder: what download jobs and init containers run",
        description="Brings a model from huggingFace, s3 or a package to a folder. Sources pvc and image are mounted "
        "by the cluster: for them nothing is fetched.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--source", type=Path, required=True, metavar="FILE", help="spec.model.source of a manifest, as JSON")
    add("--to", type=Path, required=True, metavar="DIR", help="the folder that appears with the model")
    add(
        "--part",
        type=Part,
        choices=list(Part),
        default=Part.ALL,
        help="all of the model, or all but its weights, for gateways (%(default)s)",
    )
    add(
        "--keep",
        type=_name,
        nargs="*",
        metavar="NAME",
        help="all that lies beside DIR is of one model: what is the same is not fetched again, and what has none of "
        "these names is removed; without it nothing there is touched",
    )
    add("--deadline-seconds", type=_seconds, default=3600.0, metavar="N", help="for all of it (%(default)g)")
    add(
        "--stall-seconds",
        type=_seconds,
        default=120.0,
        metavar="N",
        help="without a byte, before a connection is dropped and made anew (%(default)g)",
    )
    add(
        "--metrics-listen",
        type=_address,
        metavar="HOST:PORT",
        help="serve Prometheus metrics there while it runs; without it there are none",
    )
    add(
        "--termination-log",
        type=Path,
        default=Path("/dev/termination-log"),
        metavar="FILE",
        help="gets the outcome as JSON, where this file exists (%(default)s)",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 604_800:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, at most a week")
    return seconds


def _name(text: str) -> str:
    if not text or Path(text).name != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a folder beside DIR")
    return text


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)
