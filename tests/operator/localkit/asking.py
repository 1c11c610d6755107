"""Asks a gateway of `local` for vectors, and how many requests it has."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from localkit.running import DEADLINE_S


def ask(url: str, texts: str | list[str]) -> list[dict[str, Any]]:
    request = urllib.request.Request(
        url, json.dumps({"model": "all-minilm-l6-v2", "input": texts}).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
        found: list[dict[str, Any]] = json.load(answer)["data"]
        return found


def embed(url: str, text: str) -> list[float]:
    vector: list[float] = ask(url, text)[0]["embedding"]
    return vector


def in_flight(url: str) -> float:
    with urllib.request.urlopen(urllib.parse.urljoin(url, "/metrics"), timeout=DEADLINE_S) as answer:
        said = answer.read().decode()
    found = re.search(r"^trellis_gateway_requests_in_flight (\S+)$", said, re.MULTILINE)
    assert found, said
    return float(found[1])


def embeds(url: str) -> bool:
    try:
        return len(embed(url, "again")) == 384
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
