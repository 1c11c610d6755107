"""Prints what pip must install for one extra of pyproject.toml: an image's dependencies are a layer of their own.

Called as `requirements.py PYPROJECT EXTRA`. Uses the standard library alone: it runs before anything is installed.
"""

import sys
import tomllib
from pathlib import Path


def requirements(pyproject: str, extra: str) -> list[str]:
    """The requirements of the project itself and of `extra`, one a line."""
    project = tomllib.loads(pyproject)["project"]
    return [*project["dependencies"], *project["optional-dependencies"][extra]]


if __name__ == "__main__":
    print("\n".join(requirements(Path(sys.argv[1]).read_text(encoding="utf-8"), sys.argv[2])))
