"""One HTTP request from inside the cluster: JSON on standard input, JSON on standard output. Runs in a pod."""

import json
import sys
import urllib.error
import urllib.request


def answer(asked: dict[str, object]) -> dict[str, object]:
    """Status, headers and text of the answer; status 0 when there was none."""
    body = None if asked["body"] is None else json.dumps(asked["body"]).encode()
    request = urllib.request.Request(asked["url"], body, asked["headers"], method=asked["method"])
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return _seen(response.status, response.headers, response.read())
    except urllib.error.HTTPError as error:
        return _seen(error.code, error.headers, error.read())
    except OSError as error:
        return _seen(0, {}, str(error).encode())


def _seen(status: int, headers: object, body: bytes) -> dict[str, object]:
    return {"status": status, "headers": {key.lower(): value for key, value in headers.items()}, "text": body.decode()}


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))
