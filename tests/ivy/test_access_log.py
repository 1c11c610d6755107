"""Which requests have a line in the log."""

import json

import pytest
from ivy.logs import AccessLog


def lines(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return [json.loads(line)["route"] for line in capfd.readouterr().err.splitlines()]


@pytest.mark.parametrize(
    ("level", "expected"),
    [("debug", ["/readyz", "/v1/embeddings"]), ("info", ["/v1/embeddings"]), ("warning", [])],
)
def test_probes_are_written_only_when_all_is_asked_for(capfd, level, expected):
    log = AccessLog(level)
    log.write("debug", {"route": "/readyz"})
    log.write("info", {"route": "/v1/embeddings"})
    assert lines(capfd) == expected


async def test_a_probe_of_the_gateway_has_no_line_and_a_request_has_one(engine, serve, capfd):
    gateway = await serve(engine, log_level="info")
    await gateway.raw(None, method="GET", path="/readyz")
    await gateway.embed(input="hello there")
    assert lines(capfd) == ["/v1/embeddings"]
