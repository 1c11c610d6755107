"""A plain HTTP client over the standard library: one connection a call, no retries. Knows the embeddings route."""

import base64
import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Answer:
    """What came back. Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The `error` object; fails where the answer is not an error of the documented shape."""
        error = self.json["error"]
        assert set(error) == {"message", "type", "param", "code"}, f"status {self.status}: {error}"
        assert error["message"], f"status {self.status} says nothing"
        return dict(error)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors of an embeddings answer, checked to be whole and in order."""
        assert self.status == 200, f"status {self.status}: {self.body[:500]!r}"
        data = self.json["data"]
        assert [each["index"] for each in data] == list(range(len(data)))
        return np.stack([_vector(each["embedding"]) for each in data])


def request(method: str, url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
    """Send one request and read the whole answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
    try:
        connection.request(method, parts.path, body, headers or {})
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, found, response.read())
    finally:
        connection.close()


def get(url: str) -> Answer:
    return request("GET", url)


def embed(url: str, inputs: Any, *, key: str | None = None, model: str = "minilm", **fields: Any) -> Answer:
    """POST to `/v1/embeddings` of the gateway at `url`, asking for base64 unless told otherwise."""
    body = {"model": model, "input": inputs, "encoding_format": "base64"} | fields
    return post(url, body, key)


def post(url: str, body: Any, key: str | None = None) -> Answer:
    """POST any JSON to `/v1/embeddings`."""
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})
    return request("POST", f"{url}/v1/embeddings", json.dumps(body).encode(), headers)


def _vector(embedding: str | list[float]) -> NDArray[np.float32]:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    return np.asarray(embedding, dtype=np.float32)
