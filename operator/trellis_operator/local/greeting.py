"""What a person can paste to try a model: one question that works, by what the model is for. Pure."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

_TEXT = "Hello, world"


@dataclass(frozen=True)
class Question:
    """One that the gateway answers.

    Attributes:
        path: of the URL.
        body: for the served name.
        shown: what of the answer a Python line prints.
    """

    path: str
    body: Callable[[str], dict[str, Any]]
    shown: str


class Purpose(Enum):
    """What a model is for, and what is asked of it."""

    EMBED = Question("/v1/embeddings", lambda model: {"model": model, "input": _TEXT}, "['data'][0]['embedding'][:4]")
    RANK = Question(
        "/v1/rerank",
        lambda model: {
            "model": model,
            "query": "What is a trellis?",
            "documents": ["A frame that plants climb.", "A bulb."],
        },
        "['results']",
    )
    LABEL = Question("/predict", lambda _: {"inputs": _TEXT}, "[:4]")
    SPARSE = Question("/embed_sparse", lambda _: {"inputs": _TEXT}, "[0][:4]")
    TOKENS = Question("/embed_all", lambda _: {"inputs": _TEXT}, "[0][0][:4]")


def greeting(origin: str, purpose: Purpose, model: str, needs_key: bool) -> Sequence[str]:
    """A curl line and a Python line, to be pasted as they are.

    Args:
        origin: of the gateway, e.g. `http://127.0.0.1:8080`.
        purpose: of the model.
        model: its served name.
        needs_key: whether requests have to bring one.
    """
    question = purpose.value
    url, body = origin + question.path, question.body(model)
    curl_key = ' -H "authorization: Bearer $TRELLIS_API_KEY"' if needs_key else ""
    python_key = ", 'authorization': 'Bearer ' + os.environ['TRELLIS_API_KEY']" if needs_key else ""
    modules = "json, os, urllib.request" if needs_key else "json, urllib.request"
    return [
        f"curl -s {url} -H 'content-type: application/json'{curl_key} -d '{json.dumps(body)}'",
        f'python3 -c "import {modules}; '
        f"body = json.dumps({body}).encode(); "
        f"request = urllib.request.Request('{url}', body, {{'content-type': 'application/json'{python_key}}}); "
        f'print(json.load(urllib.request.urlopen(request)){question.shown})"',
    ]
