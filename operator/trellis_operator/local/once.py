"""Asks a running gateway for one vector. Never interprets the answer."""

import http.client
import json
from pathlib import Path

from trellis_operator.errors import LocalError

_TIMEOUT_S = 300.0


def embed_once(host: str, port: int, model: str, text: str, api_key: str | None) -> str:
    """Ask `POST /v1/embeddings` for the vector of one text.

    Returns:
        The body of the answer: JSON.

    Raises:
        LocalError: the gateway refused, or did not answer.
    """
    headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {api_key}"} if api_key else {})
    connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
    try:
        connection.request("POST", "/v1/embeddings", json.dumps({"model": model, "input": text}), headers)
        response = connection.getresponse()
        body = response.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise LocalError(f"the gateway did not answer: {error}") from error
    finally:
        connection.close()
    if response.status != http.HTTPStatus.OK:
        raise LocalError(f"the gateway answered {response.status}: {body.strip()}")
    return body


def first_key(file: Path | None) -> str | None:
    """The first key of an API keys file; None where there is no file.

    Raises:
        LocalError: the file cannot be read, or has no key.
    """
    if file is None:
        return None
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise LocalError(f"the API keys file {file} cannot be read: {getattr(error, 'strerror', error)}") from error
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise LocalError(f"the API keys file {file} holds no key")
    return keys[0]
