"""`spec.gateway` as a frozen value. Never knows a process or a pod."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Gateway:
    """How gateways run and are reached. Fields that are None were not set.

    Attributes:
        max_queued_tokens: tokens that wait before 429 is the answer; None leaves it to the gateway.
        hold_s: longest wait of a request while there is no engine, where engines are scaled from zero.
        max_held_tokens: that wait so.
        max_engines: that a gateway is connected to at a time, of those that there are.
        slow_start_s: in which a new engine comes to its full share.
        api_keys_secret: name of the Secret with the accepted keys; None asks for no key.
        resources: requests and limits, as in a container.
        http_route: `spec.gateway.expose.httpRoute` as it was written.
    """

    replicas: int
    max_queued_tokens: int | None
    hold_s: int
    max_held_tokens: int
    retry_budget_percent: int
    max_engines: int
    slow_start_s: int
    api_keys_secret: str | None
    resources: Mapping[str, Any]
    service_type: str
    service_annotations: Mapping[str, str]
    http_route: Mapping[str, Any] | None

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "Gateway":
        """Read `spec.gateway`, valid and with its defaults."""
        service = spec["expose"]["service"]
        return cls(
            replicas=spec["replicas"],
            max_queued_tokens=spec.get("maxQueuedTokens"),
            hold_s=spec["hold"]["timeoutSeconds"],
            max_held_tokens=spec["hold"]["maxTokens"],
            retry_budget_percent=spec["loadBalancing"]["retryBudgetPercent"],
            max_engines=spec["loadBalancing"]["maxEngines"],
            slow_start_s=spec["loadBalancing"]["slowStartSeconds"],
            api_keys_secret=spec.get("apiKeysSecretRef", {}).get("name"),
            resources=spec.get("resources", {}),
            service_type=service["type"],
            service_annotations=service.get("annotations", {}),
            http_route=spec["expose"].get("httpRoute"),
        )
