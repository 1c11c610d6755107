import pytest
from tulip_rose.rose import device
from tulip_rose.rose.native.library import missing


@pytest.fixture(params=["torch", "native"])
def layers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whose layers an engine on a CPU is built of, from here on."""
    if request.param == "torch":
        monkeypatch.setattr(device, "serves", lambda dtype: False)
    elif reason := missing("bfloat16"):
        pytest.skip(reason)
    return str(request.param)
