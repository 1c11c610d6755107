"""The model that is measured, brought the same way as `make run` brings it."""

import sys
from pathlib import Path

from trellis_operator.manifest import read_manifest
from trellis_operator.source import MountedSource
from trellis_operator.sources.cache import default_cache, model_folder
from trellis_operator.spec import EmbeddingModel
from trellis_operator.validate import validate

_MANIFEST = Path(__file__).parents[1] / "examples" / "minilm.yaml"


def minilm() -> Path:
    """The folder of the example's model."""
    source = EmbeddingModel.from_body(validate(read_manifest(_MANIFEST))).model.source
    if isinstance(source, MountedSource):
        raise TypeError(f"{_MANIFEST.name} brings its model from a volume of a cluster")
    return model_folder(source, default_cache(), lambda line: print(line, file=sys.stderr))
