"""See the package. Ends with 1 where something is not right, whatever its speed, or where something raised."""

import argparse
import faulthandler
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tulip_rose.rose.backends.table import NAMES

from bench.gpu.hardware import PACKAGES, hardware
from bench.gpu.model_run import PARTS, ModelRun
from bench.gpu.models import SHAPES, write_model
from bench.gpu.page import Page
from bench.gpu.scale import ON_CPU, ON_GPU, Clock, Scale
from bench.record import RESULTS, surroundings

_SECONDS = 570.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print the page and write it."""
    asked = _options(arguments)
    there = torch.cuda.is_available() and not asked.cpu
    scale = ON_GPU if there else ON_CPU
    if not there:
        _say("without a GPU: this is the small part for a CPU; it shows that all of it runs, and its times say nothing")
    around = {**surroundings(PACKAGES), **hardware()}
    # With the time of day: runs on a GPU do parts of it, one after the other, and none takes the page of another.
    name = f"gpu-{around['date'][11:16].replace(':', '')}" if there else "gpu-on-cpu"
    title = f"On a GPU: {around['gpu']}" if there else "On a GPU: the part that a CPU can do"
    with TemporaryDirectory() as scratch:
        page = Page(name, title, around, asked.out or (RESULTS if there else Path(scratch)))
        _do(asked, scale, page)
        print(page.write().read_text(encoding="utf-8"))
    return 1 if page.failures else 0


def _do(asked: argparse.Namespace, scale: Scale, page: Page) -> None:
    """All models, each with an equal share of the time that is left when it begins."""
    whole = Clock(asked.seconds)
    for index, key in enumerate(asked.models):
        with TemporaryDirectory() as scratch:
            clock = Clock(whole.left / (len(asked.models) - index))
            run = ModelRun(key, SHAPES[key], Path(scratch), scale, clock, _telling(key, whole, page))
            page.runs.append(run)
            run.failures.attempt("all of it", partial(_all_of, run, asked))
    _say(f"done in {whole.gone:.0f} s")


def _all_of(run: ModelRun, asked: argparse.Namespace) -> None:
    run.say("writing a model of its shape, with random weights")
    write_model(run.shape, run.folder, run.scale.device, small=run.scale.small)
    run.do([part for part in PARTS if part in asked.only], asked.backends)


def _telling(key: str, whole: Clock, page: Page) -> Callable[[str], None]:
    def tell(part: str) -> None:
        page.write(under_way=f"{SHAPES[key].name}: {part}")
        _say(f"{whole.gone:4.0f} s  {key}: {part}")

    return tell


def _say(line: str) -> None:
    print(f"bench-gpu: {line}", file=sys.stderr, flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=sys.modules["bench.gpu"].__doc__)
    many: dict[str, Any] = {"nargs": "+", "metavar": "NAME"}
    parser.add_argument(
        "--models", default=list(SHAPES), choices=SHAPES, help=f"Of {', '.join(SHAPES)}; all, unless named.", **many
    )
    parser.add_argument(
        "--only", default=list(PARTS), choices=PARTS, help=f"Of {', '.join(PARTS)}; all, unless named.", **many
    )
    parser.add_argument(
        "--backends",
        default=[],
        choices=NAMES,
        help=f"Attention, of {', '.join(NAMES)}; unless named, all that are installed and need not be compiled first.",
        **many,
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=_SECONDS,
        help="Time for everything; what would take longer is left out and named.",
    )
    parser.add_argument("--out", type=Path, help="Folder of the result; bench/results on a GPU, nowhere without one.")
    parser.add_argument("--cpu", action="store_true", help="Do the small part for a CPU, though there is a GPU.")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    # What ends a process within a kernel, or in the driver, raises nothing.
    faulthandler.enable()
    sys.exit(main())
