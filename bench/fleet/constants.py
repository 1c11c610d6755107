"""What an engine and a gateway take, and where each number comes from. Knows no simulation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Of all-MiniLM-L6-v2 in float32 on 2 threads of an AMD EPYC: the only engine of which there are records.

    `step_ms` and `token_ms` are the straight line through `bench/results/2026-11-29-in-process.md`, trellis float32:
    1 x 16 tokens 3.0 ms, 1 x 128 tokens 16.7 ms (tokenization included). Held against the third row there: 25 x 128
    tokens would be 398 ms in 7 steps, and 407.3 ms are measured.

    `around_ms` is what HTTP, the gateway, gRPC and the client add: `2026-11-29-http.md`, 1 x 16 tokens, 1 client,
    trellis float32, p50 5.74 ms, less the 3.0 ms.

    `batch_tokens` and `queue_tokens` are the engine's own defaults on a CPU (`tulip_rose.tulip.config.budgets`); an
    engine on a GPU has 16,384 and 1,048,576.

    `start_s` is **assumed**: from `kubectl apply` to the first vector takes 8.3 s where the image and the model are on
    the node (`2026-11-30-first-vector.md`); the rest is left for fetching them, and for a node that is busier.

    `scrape_s` is an assumed interval of Prometheus, `sync_s` and the rest are Kubernetes' defaults.

    Attributes:
        step_ms: of a step, whatever is in it.
        token_ms: of each of its tokens.
        around_ms: of a request, outside of the engine.
        batch_tokens: in one step at most.
        queue_tokens: that may wait in an engine.
        start_s: from the wish for an engine until it serves.
        scrape_s: between two looks at metrics, of Prometheus and of metrics-server.
        sync_s: between two decisions of Kubernetes' autoscaler.
        fewer_after_s: for how long fewer engines must be enough before some go.
        rate_s: over which the rate of tokens is taken.
        capacity_s: of which the best capacity counts.
        utilization: that is aimed at.
        accelerated: whether an engine has an accelerator.
    """

    step_ms: float = 1.04
    token_ms: float = 0.1223
    around_ms: float = 2.74
    batch_tokens: int = 512
    queue_tokens: int = 131_072
    start_s: int = 30
    scrape_s: int = 15
    sync_s: int = 15
    fewer_after_s: int = 300
    rate_s: int = 120
    capacity_s: int = 3600
    utilization: float = 0.7
    accelerated: bool = False

    @property
    def full_speed(self) -> float:
        """Tokens a second of steps that are full."""
        return 1000 * self.batch_tokens / (self.step_ms + self.token_ms * self.batch_tokens)

    def step_s(self, tokens: int) -> float:
        """Seconds of a step."""
        return (self.step_ms + self.token_ms * tokens) / 1000


ACCELERATED = Constants(
    step_ms=0.5, token_ms=0.0018, batch_tokens=16_384, queue_tokens=1_048_576, start_s=120, accelerated=True
)
"""**Assumed** whole, and measured nowhere: a small model on a large GPU, as far as anybody can guess. What matters of
it is that a step of 16 tokens takes nearly as long as one of 300. Batches and queue are the engine's own defaults."""


@dataclass(frozen=True)
class Edges:
    """What engines cost gateways, and requests: `bench/results/2026-11-30-fleet-edges.md`.

    Processor times of one caller on a machine that others used: upper bounds, and not those of another machine.

    Attributes:
        slice_bytes: JSON of an EndpointSlice of 100 endpoints.
        look_cpu_us: of a gateway, for one look at one engine.
        look_each_s: between two looks at an engine (`ivy.client.watch`).
        connection_kib: memory of a gateway for one engine.
        choice_us: of a gateway, for one choice, an engine that there is (the line through 1,000 and 10,000).
        request_cpu_us: of a gateway, for a request without its texts.
        text_cpu_us: of a gateway, for each text of a request.
    """

    slice_bytes: int = 29_775
    look_cpu_us: float = 621.0
    look_each_s: float = 2.0
    connection_kib: float = 78.0
    choice_us: float = 0.36
    request_cpu_us: float = 1621.0
    text_cpu_us: float = 45.0
