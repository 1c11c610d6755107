"""API keys: a missing Secret is told, and a rotated one makes new gateways, which know the new key alone."""

import pytest
from e2ekit.client import Client
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import manifest, templates, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster


def secret(**keys: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": keys}


def test_keys_come_from_a_secret_and_are_changed_by_changing_it(
    kubectl: Kubectl, operator: OperatorProcess, client: Client
) -> None:
    operator.stop()
    operator.flags = ("--resync-seconds", "5")
    operator.start()
    kubectl.apply(manifest(gateway={"apiKeysSecretRef": {"name": "keys"}}))
    assert "keys" in wait_for(kubectl, "m", "Accepted", "False", "SecretNotFound")
    kubectl.apply(secret(team="first", others="second\nthird"))
    wait_settled(kubectl, "m")
    url = f"http://m.{kubectl.namespace}.svc"
    assert client.embed(url, "m", ["hello"]).status == 401

    def accepted(key: str) -> bool:
        body = {"model": "m", "input": "hello"}
        headers = {"authorization": f"Bearer {key}"}
        return client.request("POST", f"{url}/v1/embeddings", body, headers).status == 200

    assert all(accepted(key) for key in ("first", "second", "third"))
    engines = templates(kubectl, "m")["m-engine"]
    kubectl.apply(secret(team="fourth", others="second"))
    until(lambda: accepted("fourth") and not accepted("first"), "the new key alone opens", 60)
    assert templates(kubectl, "m")["m-engine"] == engines
    wait_settled(kubectl, "m")
    gateways = templates(kubectl, "m")["m-gateway"]
    kubectl.run("delete", "secret", "keys")
    wait_for(kubectl, "m", "Accepted", "False", "SecretNotFound")
    throughout(lambda: templates(kubectl, "m")["m-gateway"] == gateways, "gateways that have keys keep them", 10)
    assert accepted("second")
