"""What gateways have sent to each engine, from inside the cluster. Runs in a pod, prints one JSON line twice a second.

scrape.py URL…    of /metrics, of each gateway; the tokens of an engine are summed over them
"""

import json
import sys
import time
import urllib.request
from collections import Counter

_FAMILY = 'trellis_gateway_endpoint_tokens_total{engine="'
_EVERY_S = 0.5


def tokens(url: str) -> Counter[str]:
    """By the address of the engine."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return Counter({line.split('"')[1]: int(float(line.split()[-1])) for line in lines if line.startswith(_FAMILY)})


while True:
    found = sum((tokens(url) for url in sys.argv[1:]), Counter())
    print(json.dumps({"at": time.time(), "tokens": found}), flush=True)
    time.sleep(_EVERY_S)
