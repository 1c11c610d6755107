"""A hub of models on a local port: a real HTTP server that answers as the Hugging Face hub does, and can misbehave.

It is a package index as well, of the wheels that it was given.

Large files are redirected to a second host name (`localhost`, where the hub itself is `127.0.0.1`), as the hub
redirects to its CDN.

`python hub_server.py FOLDER --url URL --cdn-url URL` serves a folder as a repository. `POST /faults` with a list says
what goes wrong from then on, `POST /gate` with a token lets only that token in, `POST /publish` with texts by path adds
them in another commit and answers with its name, `GET /asked` says what it was asked.
"""

import argparse
import hashlib
import json
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from hub_fault import Fault, told

LFS = (".safetensors", ".bin")


@dataclass(frozen=True)
class Asked:
    """One request that came."""

    method: str
    host: str
    path: str
    headers: Mapping[str, str]


class HubServer:
    """Repositories by name, each with commits, `main` the newest; knows which token may read the gated ones."""

    def __init__(self, host: str = "127.0.0.1", port: int = 0, url: str = "", cdn: str = "") -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.commits: dict[str, str] = {}
        self.history: dict[tuple[str, str], dict[str, bytes]] = {}
        self.gated: set[str] = set()
        self.wheels: dict[str, bytes] = {}
        self.token = "hf_sesame"
        self.faults: list[Fault] = []
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        hub = self

        class Handler(_Handler):
            server_hub = hub

        self._server = _Server((host, port), Handler)
        self.port = self._server.server_port
        self.url = url or f"http://{host}:{self.port}"
        self.cdn = cdn or f"http://localhost:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def add(self, repo: str, files: Mapping[str, bytes]) -> str:
        """Publish a commit; returns its name."""
        digest = hashlib.sha1(usedforsecurity=False)
        for path, body in sorted(files.items()):
            digest.update(path.encode() + b"\0" + body)
        self.files[repo], self.commits[repo] = dict(files), digest.hexdigest()
        self.history[repo, self.commits[repo]] = self.files[repo]
        return self.commits[repo]

    def at(self, repo: str, revision: str) -> tuple[str, dict[str, bytes]]:
        """The commit that a revision names, and its files.

        Raises:
            KeyError: there is none.
        """
        commit = self.commits[repo] if revision == "main" else revision
        return commit, self.history[repo, commit]

    def requests_for(self, pattern: str) -> list[Asked]:
        """The requests whose path matches."""
        with self._lock:
            return [asked for asked in self.asked if re.search(pattern, asked.path)]

    def note(self, asked: Asked) -> None:
        with self._lock:
            self.asked.append(asked)

    def fault(self, path: str) -> Fault | None:
        """The next fault of a path; it is used up by that."""
        with self._lock:
            for fault in self.faults:
                if fault.times and re.search(fault.path, path):
                    fault.times -= 1
                    return fault
        return None

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are what many tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_hub: HubServer

    def do_POST(self) -> None:
        hub, said = self.server_hub, json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/faults":
            hub.faults = [told(fault) for fault in said]
        elif self.path == "/gate":
            hub.gated, hub.token = set(hub.files), said
        elif self.path == "/publish":
            [(repo, files)] = hub.files.items()
            self._answer(200, hub.add(repo, files | {path: text.encode() for path, text in said.items()}).encode(), {})
            return
        self._answer(204 if self.path in ("/faults", "/gate") else 404, b"", {})

    def do_HEAD(self) -> None:
        body = self.server_hub.wheels.get(self.path.removeprefix("/wheels/"))
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()

    def do_GET(self) -> None:
        hub, path = self.server_hub, unquote(urlsplit(self.path).path)
        if path == "/asked":
            self._answer(200, json.dumps([asked.__dict__ for asked in hub.asked]).encode(), {})
            return
        hub.note(Asked("GET", self.headers["Host"].partition(":")[0], path, dict(self.headers)))
        fault = hub.fault(path)
        if fault and fault.status:
            self._answer(fault.status, b"", dict(fault.headers))
        elif path.startswith("/api/models/"):
            self._info(path)
        elif path.startswith("/cdn/"):
            self._cdn(path, fault)
        elif path.startswith("/simple/"):
            self._project(path)
        elif path.startswith("/wheels/"):
            self._wheel(path, fault)
        else:
            self._resolve(path, fault)

    def _info(self, path: str) -> None:
        found = re.fullmatch(r"/api/models/(.+)/revision/([^/]+)", path)
        repo, revision = found.groups() if found else ("", "")
        if not self._may(repo, revision):
            return
        commit, files = self.server_hub.at(repo, revision)
        siblings = [_sibling(name, body) for name, body in files.items()]
        body = {"id": repo, "sha": commit, "siblings": siblings}
        self._answer(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _resolve(self, path: str, fault: Fault | None) -> None:
        found = re.fullmatch(r"/(.+)/resolve/([^/]+)/(.+)", path)
        repo, revision, name = found.groups() if found else ("", "", "")
        if not self._may(repo, revision):
            return
        sha, files = self.server_hub.at(repo, revision)
        body, commit = files.get(name), {"X-Repo-Commit": sha}
        if body is None:
            self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        elif name.endswith(LFS):
            etag = hashlib.sha256(body).hexdigest()
            signed = f"{self.server_hub.cdn}/cdn/{repo}/{etag}?signature=secret-of-the-cdn"
            linked = {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(body)), "Location": signed}
            self._answer(302, b"", commit | linked)
        else:
            self._file(body, _blob(body), commit, fault)

    def _cdn(self, path: str, fault: Fault | None) -> None:
        # A store of signed addresses refuses whoever also shows a token of another place.
        if "Authorization" in self.headers or "signature" not in parse_qs(urlsplit(self.path).query):
            self._answer(400, b"", {})
            return
        _, _, rest = path.partition("/cdn/")
        repo, _, digest = rest.rpartition("/")
        bodies = self.server_hub.files.get(repo, {}).values()
        body = next((body for body in bodies if hashlib.sha256(body).hexdigest() == digest), None)
        self._answer(404, b"", {}) if body is None else self._file(body, digest, {}, fault)

    def _project(self, path: str) -> None:
        """The page of one project, with relative addresses, as many indexes have."""
        name = path.removeprefix("/simple/").strip("/").replace("-", "_")
        wheels = {wheel: body for wheel, body in self.server_hub.wheels.items() if wheel.startswith(f"{name}-")}
        links = [
            f'<a href="../../wheels/{wheel}#sha256={hashlib.sha256(body).hexdigest()}">{wheel}</a>'
            for wheel, body in wheels.items()
        ]
        self._answer(200 if links else 404, "".join(links).encode(), {"Content-Type": "text/html"})

    def _wheel(self, path: str, fault: Fault | None) -> None:
        body = self.server_hub.wheels.get(path.removeprefix("/wheels/"))
        self._answer(404, b"", {}) if body is None else self._file(body, "wheel", {}, fault)

    def _may(self, repo: str, revision: str) -> bool:
        hub, token = self.server_hub, self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repo not in hub.files:  # the hub does not tell strangers which names exist
            code = 404 if token == hub.token else 401
            self._answer(code, b"", {"X-Error-Code": "RepoNotFound"})
        elif token not in ("", hub.token):
            self._answer(401, b"", {})
        elif repo in hub.gated and token != hub.token:
            self._answer(401, b"", {"X-Error-Code": "GatedRepo"})
        elif revision != "main" and (repo, revision) not in hub.history:
            self._answer(404, b"", {"X-Error-Code": "RevisionNotFound"})
        else:
            return True
        return False

    def _file(self, body: bytes, etag: str, headers: dict[str, str], fault: Fault | None) -> None:
        if fault and fault.damage:
            body = fault.damage(body)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(asked[1]) if asked and not (fault and fault.ignore_range) else 0
        headers = headers | {"ETag": f'"{etag}"', "Accept-Ranges": "bytes"}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        self._answer(206 if start else 200, body[start:], headers, fault)

    def _answer(self, status: int, body: bytes, headers: dict[str, str], fault: Fault | None = None) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        if fault is None or fault.after is None:
            self.wfile.write(body)
            return
        self.wfile.write(body[: fault.after])
        self.wfile.flush()
        if fault.then():
            self.wfile.write(body[fault.after :])
        else:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the requests are noted."""


def _sibling(name: str, body: bytes) -> dict[str, object]:
    entry: dict[str, object] = {"rfilename": name, "size": len(body), "blobId": _blob(body)}
    if name.endswith(LFS):
        entry["lfs"] = {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body), "pointerSize": 134}
    return entry


def _blob(body: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description="Serves one folder as a repository of a hub.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repo", default="test/model")
    parser.add_argument("--port", type=int, default=8085)
    parser.add_argument("--url", required=True, help="under which clients reach it")
    parser.add_argument("--cdn-url", required=True, help="another name of the same")
    said = parser.parse_args()
    hub = HubServer("0.0.0.0", said.port, said.url, said.cdn_url)
    folder: Path = said.folder
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    print(hub.add(said.repo, files), flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
