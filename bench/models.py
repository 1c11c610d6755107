"""The model that is measured, brought the same way as `make run` brings it."""

import sys
from pathlib import Path

from trellis_operator.manifest import read_manifest
from trellis_operator.source import PackageSource
from trellis_operator.sources.package import default_cache, package_folder
from trellis_operator.spec import EmbeddingModel
from trellis_operator.validate import validate

_MANIFEST = Path(__file__).parents[1] / "examples" / "minilm.yaml"


def minilm() -> Path:
    """The folder of the example's model."""
    source = EmbeddingModel.from_body(validate(read_manifest(_MANIFEST))).model.source
    if not isinstance(source, PackageSource):
        raise TypeError(f"{_MANIFEST.name} does not bring its model as a package")
    return package_folder(source, default_cache(), lambda line: print(line, file=sys.stderr))
