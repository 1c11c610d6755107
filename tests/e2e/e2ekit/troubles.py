"""What goes wrong with the models of `watched`, side by side: `monitorkit.proved` says which alerts come of it."""

import json

from e2ekit.faulty import tell
from e2ekit.images import Images
from e2ekit.kubectl import Manifest
from e2ekit.pods import script_pod
from e2ekit.waiting import until
from e2ekit.watched import Watched

_CLS = json.dumps({"word_embedding_dimension": 384, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
_GRPC_PORT = 50051
_LONG = [101] * 100


def make_trouble(watched: Watched, images: Images) -> None:
    """All troubles that need the API server to begin."""
    bad, losing = watched.engines("f")
    [held], [ending] = watched.engines("h"), watched.engines("m")
    # What is told of latest begins first: one engine more of the same model is given other files.
    watched.hub.publish({"1_Pooling/config.json": _CLS})
    watched.kubectl.run("scale", "embeddingmodel/f", "--replicas=3")
    watched.kubectl.patch("embeddingmodel", "n", {"spec": {"gateway": {"apiKeysSecretRef": {"name": "forgotten"}}}})
    tell(watched.kubectl, held, "hold")
    tell(watched.kubectl, bad, "misbehave", "no-captures")
    tell(watched.kubectl, losing, "misbehave", "lose")
    _call(watched, images, of_old=bad)
    _end_once(watched, ending, 1)
    _end_once(watched, ending, 2)
    tell(watched.kubectl, ending, "hold")
    _end_once(watched, ending, 3)
    contents = 'count(count by (contents) (trellis_engine_info{embedding_model="f"})) == 2'
    until(lambda: watched.prometheus.query(contents), "the third engine serves", 150)


def _call(watched: Watched, images: Images, of_old: str) -> None:
    """Let callers ask: the faulty engines, more than the held one has room for, and without a key."""
    address = watched.kubectl.get("pod", of_old)["status"]["podIP"]
    namespace = watched.kubectl.namespace
    http = (
        _caller(namespace, "m", "no key", at_once=1, pause_s=0.5),
        _caller(namespace, "f", "sun", at_once=16, pause_s=0.1),
        _caller(namespace, "h", [_LONG], at_once=10, pause_s=0.5),
    )
    order = json.dumps({"http": http, "of_old": [f"{address}:{_GRPC_PORT}"]})
    command = ["python", "/scripts/callers.py", "/scripts/order.json"]
    watched.kubectl.apply(*script_pod("callers", images.gateway, command, {"order.json": order}))


def _caller(namespace: str, model: str, given: object, at_once: int, pause_s: float) -> Manifest:
    url, body = f"http://{model}.{namespace}.svc", {"model": model, "input": given}
    return {"url": url, "body": body, "at_once": at_once, "pause_s": pause_s}


def _end_once(watched: Watched, pod: str, number: int) -> None:
    """End the process of a pod for the `number`th time, and wait until Prometheus has scraped the next one."""
    end = "import os, signal; os.kill(1, signal.SIGTERM)"
    watched.kubectl.run("exec", pod, "--", "python", "-c", end)
    begun = f'changes(process_start_time_seconds{{pod="{pod}"}}[5m]) >= {number}'
    until(lambda: watched.prometheus.query(begun), f"the engine began again, {number} times", 150)
