"""At the outermost wire: as much of an API server as an operator and a gateway ask for. Keeps what it is given."""

import itertools
import json
import queue
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from trellis_operator.kinds import EMBEDDING_MODEL

Object = dict[str, Any]

_GROUPS = {
    "trellis.dev/v1alpha1": [(EMBEDDING_MODEL.plural, EMBEDDING_MODEL.name, True)],
    "apiextensions.k8s.io/v1": [("customresourcedefinitions", "CustomResourceDefinition", False)],
    "v1": [("namespaces", "Namespace", False), ("events", "Event", True)],
}
_WATCH_S = 5.0


class Place:
    """What a path speaks of: `collection` is its group, version and plural."""

    def __init__(self, path: str) -> None:
        pieces = path.strip("/").split("/")
        size = 2 if pieces[0] == "api" else 3
        rest, self.namespace = pieces[size:], ""
        if rest[0] == "namespaces" and len(rest) > 2:
            self.namespace, rest = rest[1], rest[2:]
        self.collection = "/".join((*pieces[1:size], rest[0]))
        self.name = rest[1] if len(rest) > 1 else ""
        self.part = rest[2] if len(rest) > 2 else ""


class ApiServer:
    """Objects by collection, namespace and name; whoever watches a collection is told of changes."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[tuple[str, str], Object]] = defaultdict(dict)
        self._watches: dict[str, list[queue.Queue[Object]]] = defaultdict(list)
        self._versions = itertools.count(100)
        self._lock = threading.RLock()
        outer = self

        class Handler(_Handler):
            server_api = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop to listen."""
        self._server.shutdown()
        self._server.server_close()

    def get(self, place: Place) -> Object | None:
        """One object."""
        return self._objects[place.collection].get((place.namespace, place.name))

    def list(self, place: Place) -> Object:
        """All of a collection, or of a namespace in it."""
        with self._lock:
            found = self._objects[place.collection].items()
            items = [each for (namespace, _), each in found if place.namespace in ("", namespace)]
            return {"metadata": {"resourceVersion": str(next(self._versions))}, "items": items}

    def put(self, place: Place, body: Object) -> Object:
        """Make an object, or merge into the one that is there."""
        with self._lock:
            key, objects = (place.namespace, body["metadata"].get("name", place.name)), self._objects[place.collection]
            old = objects.get(key)
            merged = {**(old or {}), **body}
            kept = {"uid": f"uid-{next(self._versions)}", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
            merged["metadata"] = {
                **kept,
                **(old or {}).get("metadata", {}),
                **body["metadata"],
                "name": key[1],
                "namespace": key[0],
                "resourceVersion": str(next(self._versions)),
            }
            objects[key] = merged
            self._tell(place.collection, "MODIFIED" if old else "ADDED", merged)
            return merged

    def delete(self, place: Place) -> None:
        """Forget an object."""
        with self._lock:
            gone = self._objects[place.collection].pop((place.namespace, place.name), None)
            if gone:
                self._tell(place.collection, "DELETED", gone)

    def watch(self, place: Place) -> "queue.Queue[Object]":
        """What changes in a collection from now on."""
        with self._lock:
            told: queue.Queue[Object] = queue.Queue()
            self._watches[place.collection].append(told)
            return told

    def _tell(self, collection: str, change: str, item: Object) -> None:
        for told in self._watches[collection]:
            told.put({"type": change, "object": item})


class _Handler(BaseHTTPRequestHandler):
    server_api: ApiServer

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        path, place = parts.path.rstrip("/"), None
        if (found := _discovery(path)) is not None:
            self._answer(200, found)
            return
        if len(path.split("/")) > (3 if path.startswith("/api/") else 4):
            place = Place(path)
        if place is None:
            self._answer(404, {"kind": "Status", "code": 404, "message": "not served"})
        elif parse_qs(parts.query).get("watch"):
            self._follow(place)
        elif not place.name:
            self._answer(200, self.server_api.list(place))
        else:
            one = self.server_api.get(place)
            self._answer(200 if one else 404, one or {"kind": "Status", "code": 404, "message": "not found"})

    def do_PATCH(self) -> None:
        self._answer(200, self.server_api.put(Place(urlsplit(self.path).path), self._body()))

    def do_POST(self) -> None:
        body = self._body()
        body.setdefault("metadata", {}).setdefault("name", "made")
        self._answer(201, self.server_api.put(Place(urlsplit(self.path).path), body))

    def do_DELETE(self) -> None:
        self._body()
        self.server_api.delete(Place(urlsplit(self.path).path))
        self._answer(200, {"kind": "Status", "status": "Success"})

    def _body(self) -> Object:
        body: Object = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        return body

    def _follow(self, place: Place) -> None:
        told = self.server_api.watch(place)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        until = time.monotonic() + _WATCH_S
        while (left := until - time.monotonic()) > 0:
            try:
                event = told.get(timeout=left)
                self.wfile.write(json.dumps(event).encode() + b"\n")
            except (queue.Empty, OSError):
                return

    def _answer(self, status: int, body: Object) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test's output is its own."""


def _discovery(path: str) -> Object | None:
    if path == "/api":
        return {"versions": ["v1"]}
    if path == "/version":
        return {"major": "1", "minor": "34"}
    if path == "/apis":
        named = [each.split("/") for each in _GROUPS if "/" in each]
        return {
            "groups": [
                {"name": name, "versions": [{"version": version}], "preferredVersion": {"version": version}}
                for name, version in named
            ]
        }
    kinds = _GROUPS.get(path.removeprefix("/apis/").removeprefix("/api/"))
    if kinds is None:
        return None
    verbs = ["list", "watch", "get", "patch"]
    return {
        "resources": [
            {"name": plural, "kind": kind, "singularName": kind.lower(), "namespaced": namespaced, "verbs": verbs}
            for plural, kind, namespaced in kinds
        ]
    }
