"""An engine that fails on command: a few lines that run before its main and wrap what ROSE does, and the commands.

A command is a file: it is there, or it is not. Nothing in the programs knows of it.
"""

from pathlib import Path

_CODE = """
import os, time
import torch
from tulip_rose.rose import engine

FOLDER = {folder!r}
step, work = engine.Engine.step, engine.Engine._work

def there(name):
    return os.path.exists(os.path.join(FOLDER, name))

def taken(name):
    try:
        os.unlink(os.path.join(FOLDER, name))
    except FileNotFoundError:
        return False
    return True

def held_step(self, batch):
    while there("hold"):
        time.sleep(0.01)
    return step(self, batch)

def faulty_work(self, batch):
    if taken("fail"):
        raise RuntimeError("secret words of the engine")
    if not taken("spoil"):
        return work(self, batch)
    broken = torch.full_like(self._model(batch), float("nan"))
    return [self._heads[part.form.kind](broken, part, batch) for part in batch.parts]

engine.Engine.step, engine.Engine._work = held_step, faulty_work
"""


class Faults:
    """Commands to one engine. `folder` is empty and its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.code = _CODE.format(folder=str(folder))

    def hold(self) -> None:
        """From now on no step begins."""
        self._path("hold").touch()

    def release(self) -> None:
        """Steps begin again."""
        self._path("hold").unlink(missing_ok=True)

    def fail_next(self) -> None:
        """The next step raises, inside the engine thread's work."""
        self._path("fail").touch()

    def spoil_next(self) -> None:
        """The next step gives rows that are not finite."""
        self._path("spoil").touch()

    def _path(self, name: str) -> Path:
        return self._folder / name
