"""A mutating admission webhook: `admit.py PATCHES CERTIFICATE KEY`.

PATCHES has operations by resource and component, with a slash between; what has none stays as it is.
"""

import base64
import http.server
import json
import ssl
import sys
from pathlib import Path

PATCHES = json.loads(Path(sys.argv[1]).read_text())


class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = review["request"]
        component = asked["object"]["metadata"].get("labels", {}).get("app.kubernetes.io/component", "")
        patch = json.dumps(PATCHES.get(f"{asked['resource']['resource']}/{component}", [])).encode()
        answer = {
            "uid": asked["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(patch).decode(),
        }
        body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("", 8443), Webhook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
