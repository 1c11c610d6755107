"""Who is on call: an HTTP server that Alertmanager tells of alerts, which keeps what it was told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Alert = dict[str, Any]


class Inbox:
    """Alerts in the order in which they came."""

    def __init__(self) -> None:
        self.alerts: list[Alert] = []
        outer = self

        class Handler(_Handler):
            inbox = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def names(self, **labels: str) -> set[str]:
        """Of all alerts so far that have these labels; an empty one may be absent."""
        return {
            alert["labels"]["alertname"]
            for alert in self.alerts
            if all(alert["labels"].get(name, "") == value for name, value in labels.items())
        }

    def close(self) -> None:
        """Stop to listen."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    inbox: Inbox

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.inbox.alerts.extend(told["alerts"])
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test's output is its own."""
