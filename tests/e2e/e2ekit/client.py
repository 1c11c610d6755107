"""An HTTP client inside the cluster's network: single requests, and steady load that is counted and checked."""

import base64
import json
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from e2ekit.kubectl import Kubectl
from e2ekit.pods import script_pod
from e2ekit.waiting import until

TOLERANCE = 1e-5
"""How far two vectors of the same text may lie apart per component: the same kernels in batches of other sizes."""


@dataclass(frozen=True)
class Answer:
    """What came back; status 0 and the reason as text when nothing did."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def encoded(self) -> list[str]:
        """The vectors of an embeddings answer as base64, in order."""
        assert self.status == 200, f"{self.status}: {self.text[:500]}"
        return [row["embedding"] for row in self.json["data"]]


@dataclass(frozen=True)
class Counted:
    """What steady load has seen until now.

    Attributes:
        statuses: answers by code; 0 counts requests without an answer.
        right: answers whose vectors are the known ones, by the name of these.
        wrong: answers with status 200 and other vectors.
        complaints: the commonest texts of answers other than 200.
    """

    statuses: dict[int, int]
    right: dict[str, int]
    wrong: int
    examples: list[str]
    complaints: dict[str, int]
    slowest_s: float

    @property
    def answers(self) -> int:
        return sum(self.statuses.values())

    def assert_clean(self, least: int = 1) -> None:
        """No answer but 200 and 429, every 200 right, and at least `least` of them."""
        assert set(self.statuses) <= {200, 429}, f"{self.statuses}: {self.complaints}"
        assert not self.wrong, f"{self.wrong} answers hold other vectors: {self.examples}"
        assert self.statuses.get(200, 0) >= least, f"too few answers: {self.statuses}"


class Client:
    """A pod that asks on our behalf."""

    def __init__(self, kubectl: Kubectl, image: str) -> None:
        self._kubectl = kubectl
        self._image = image
        self._name = f"client-{secrets.token_hex(2)}"
        self._met: set[str] = set()
        wait = "import signal; signal.pause()"
        kubectl.apply(*script_pod(self._name, image, ["python", "-c", wait], {}))
        kubectl.run("wait", "--for=condition=Ready", f"pod/{self._name}", "--timeout=60s")

    def request(self, method: str, url: str, body: object = None, headers: dict[str, str] | None = None) -> Answer:
        """One request."""
        asked = {
            "method": method,
            "url": url,
            "body": body,
            "headers": {"content-type": "application/json"} | (headers or {}),
        }
        command = ["exec", "-i", self._name, "--", "python", "/scripts/ask.py"]
        return Answer(**json.loads(self._kubectl.run(*command, stdin=json.dumps(asked))))

    def embed(self, url: str, model: str, texts: Sequence[str], **more: object) -> Answer:
        """One embeddings request, with vectors as base64."""
        self._meet(url)
        body = {"model": model, "input": list(texts), "encoding_format": "base64"} | more
        return self.request("POST", f"{url}/v1/embeddings", body)

    def _meet(self, url: str) -> None:
        """Wait until a gateway is reached that has not been asked before.

        Ready says what the API server knows; the proxy of this pod's node hears of a Service's first endpoint later.
        """
        if url not in self._met:
            until(lambda: self.request("GET", f"{url}/healthz").status == 200, f"{url} is reached", 30)
            self._met.add(url)

    def load(
        self,
        url: str,
        model: str,
        inputs: Sequence[Sequence[str]],
        known: dict[str, list[list[str]]],
        clients: int = 2,
        pause_s: float = 0.0,
    ) -> "Load":
        """Begin steady load: `clients` requests at once, until it is stopped.

        Args:
            url: of the gateway's Service.
            model: the served name.
            inputs: the texts of each request; they take turns.
            known: by name, the base64 vectors of each of `inputs`; an answer must hold those of one name.
            clients: how many requests are under way at once.
            pause_s: what each waits between two requests.
        """
        order = {
            "url": url,
            "model": model,
            "inputs": inputs,
            "known": known,
            "clients": clients,
            "pause_s": pause_s,
            "tolerance": TOLERANCE,
        }
        name = f"load-{secrets.token_hex(2)}"
        command = ["python", "/scripts/load.py", "/scripts/order.json"]
        self._kubectl.apply(*script_pod(name, self._image, command, {"order.json": json.dumps(order)}))
        load = Load(self._kubectl, name)
        until(lambda: load.counted().answers, "the load has an answer", 120)
        return load


class Load:
    """Steady load that is under way. What it counts does not need the API server; reading the counts does."""

    def __init__(self, kubectl: Kubectl, name: str) -> None:
        self._kubectl = kubectl
        self._name = name

    def counted(self) -> Counted:
        """What it has seen until a second ago."""
        if self._phase() == "Pending":
            return Counted({}, {}, 0, [], {}, 0.0)
        return _counted(self._kubectl.run("logs", self._name, "--tail=1"))

    def stop(self) -> Counted:
        """Let the requests under way end, and say what it has seen in all."""
        self._kubectl.run("exec", self._name, "--", "touch", "/tmp/stop")
        until(lambda: self._phase() in ("Succeeded", "Failed"), "the load has ended", 150)
        return self.counted()

    def answered(self, begin: float, end: float) -> list[int]:
        """How many answers with status 200 there had been, once a second between two times (seconds since 1970)."""
        lines = [json.loads(line) for line in self._kubectl.run("logs", self._name).splitlines() if line.strip()]
        return [int(each["statuses"].get("200", 0)) for each in lines if begin <= each["at"] <= end]

    def _phase(self) -> str:
        return str(self._kubectl.get("pod", self._name)["status"]["phase"])


def _counted(line: str) -> Counted:
    if not line.strip():
        return Counted({}, {}, 0, [], {}, 0.0)
    seen = json.loads(line)
    statuses = {int(code): count for code, count in seen["statuses"].items()}
    return Counted(statuses, seen["right"], seen["wrong"], seen["examples"], seen["complaints"], seen["slowest_s"])


def numbers(encoded: str) -> tuple[float, ...]:
    """A base64 vector as float32 numbers."""
    data = base64.b64decode(encoded)
    return struct.unpack(f"<{len(data) // 4}f", data)
