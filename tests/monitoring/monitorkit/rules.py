"""The chart's rules: as they are, and as a file in fast motion for a Prometheus of the tests."""

from pathlib import Path
from typing import Any

import yaml
from monitorkit.shortened import shortened

from helm.monitoring.pages import ROOT

RULES = ROOT / "helm" / "trellis" / "rules" / "trellis.yaml"


def chart_rules() -> dict[str, Any]:
    """As the chart has them."""
    return dict(yaml.safe_load(RULES.read_text(encoding="utf-8")))


def fast_rules(folder: Path, factor: int) -> Path:
    """A file with the same rules, `factor` times faster and looked at every second."""
    path = folder / "rules.yaml"
    groups = [group | {"interval": "1s"} for group in shortened(chart_rules(), factor)["groups"]]
    path.write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    return path
