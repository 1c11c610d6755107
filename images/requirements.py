"""Prints what pip must install for extras of pyproject.toml: an image's dependencies are a layer of their own.

Called as `requirements.py PYPROJECT EXTRA...`. Uses the standard library alone: it runs before anything is installed.
"""

import sys
import tomllib
from pathlib import Path


def requirements(pyproject: str, extras: list[str]) -> list[str]:
    """The requirements of the project itself and of `extras`, one a line."""
    project = tomllib.loads(pyproject)["project"]
    return [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]


if __name__ == "__main__":
    print("\n".join(requirements(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2:])))
