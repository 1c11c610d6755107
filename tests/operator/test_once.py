"""The one question of `--once`, asked of a server that answers as it is told."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from trellis_operator.errors import LocalError
from trellis_operator.local.needs import check_needs
from trellis_operator.local.once import embed_once, first_key


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers what it was asked, and 401 to another key than `good`."""

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["content-length"]))
        allowed = self.headers["authorization"] == "Bearer good"
        self.send_response(200 if allowed else 401)
        self.end_headers()
        self.wfile.write(asked if allowed else b'{"error": {"message": "wrong key"}}')

    def log_message(self, format: str, *arguments: object) -> None:
        """Stay silent."""


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.HTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_the_answer_is_handed_on_as_it_came(port: int) -> None:
    answer = embed_once("127.0.0.1", port, "m", "grüße", "good")
    assert json.loads(answer) == {"model": "m", "input": "grüße"}


def test_a_refusal_is_told_with_the_gateways_own_words(port: int) -> None:
    with pytest.raises(LocalError, match=r"answered 401: .*wrong key"):
        embed_once("127.0.0.1", port, "m", "text", "bad")


def test_a_gateway_that_is_not_there_is_told() -> None:
    with pytest.raises(LocalError, match="did not answer"):
        embed_once("127.0.0.1", 1, "m", "text", None)


def test_the_first_key_of_a_file_is_taken_and_comments_are_not_keys(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("\n# comment\n  sk-1  \nsk-2\n")
    assert first_key(keys) == "sk-1"
    assert first_key(None) is None


@pytest.mark.parametrize(("content", "said"), [(b"# only a comment\n", "holds no key"), (b"\xff", "cannot be read")])
def test_a_file_without_a_key_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "keys").write_bytes(content)
    with pytest.raises(LocalError, match=said):
        first_key(tmp_path / "keys")


def test_a_keys_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="cannot be read: No such file"):
        first_key(tmp_path / "absent")


def test_what_is_not_installed_is_named_with_what_brings_it() -> None:
    with pytest.raises(LocalError, match=r"not installed: torch, msgspec; .*'trellis-serve\[engine,ivy\]'"):
        check_needs(lambda module: module not in {"torch", "msgspec"})
