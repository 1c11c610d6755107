"""infinity's command line, run by infinity's own interpreter.

optimum 1.24 imports helpers of torch's ONNX exporter from where they were before torch 2.9. Nothing is exported here,
so the module at its present place stands in for the old one.
"""

import sys

from torch.onnx._internal.torchscript_exporter import symbolic_opset14

sys.modules["torch.onnx.symbolic_opset14"] = symbolic_opset14

from infinity_emb.cli import cli  # noqa: E402

cli()
