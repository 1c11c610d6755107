"""What a person at the terminal reads. Never on standard output, which belongs to answers."""

import sys
import time
from collections.abc import Sequence


class Console:
    """Lines with the seconds since the start, so that a slow stage shows."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def say(self, line: str) -> None:
        """Tell one thing."""
        print(f"[{self.elapsed_s:6.1f} s] {line}", file=sys.stderr, flush=True)

    def hear(self, name: str, line: str) -> None:
        """Pass on one line of a program."""
        print(f"{name:>9} | {line}", file=sys.stderr, flush=True)


def greeting(url: str, model: str, needs_key: bool) -> Sequence[str]:
    """The URL, a curl line and a Python line, to be pasted as they are."""
    curl_key = ' -H "authorization: Bearer $TRELLIS_API_KEY"' if needs_key else ""
    python_key = ", 'authorization': 'Bearer ' + os.environ['TRELLIS_API_KEY']" if needs_key else ""
    modules = "json, os, urllib.request" if needs_key else "json, urllib.request"
    body = f'{{"model": "{model}", "input": "Hello, world"}}'
    return [
        f"curl -s {url} -H 'content-type: application/json'{curl_key} -d '{body}'",
        f'python3 -c "import {modules}; '
        f"body = json.dumps({{'model': '{model}', 'input': 'Hello, world'}}).encode(); "
        f"request = urllib.request.Request('{url}', body, {{'content-type': 'application/json'{python_key}}}); "
        "print(json.load(urllib.request.urlopen(request))['data'][0]['embedding'][:4])\"",
    ]
