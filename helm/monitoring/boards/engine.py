"""Engine: the queue, the batches, the device's time, and what failed."""

from helm.monitoring.boards.process import process_row
from helm.monitoring.dashboard import Dashboard, Row, pods
from helm.monitoring.panel import Panel, stat
from helm.monitoring.query import PODS, Query

_P = "trellis_engine_"


def _padded(pads: str, useful: str) -> str:
    """The share of pads in what steps have."""
    lost = PODS.rate(f"{_P}graph_{pads}_total")
    return f"{lost} / ({lost} + {PODS.rate(useful)})"


_NUMBERS = Row(
    "Now",
    (
        stat("Ready", "Engines that are loaded, alive and not stuck.", PODS.total(f"{_P}up")),
        stat("Draining", "Engines that stop, and finish what they accepted.", PODS.total(f"{_P}draining")),
        stat("Calls", "Of gateways.", PODS.rate(f"{_P}calls_total"), "reqps"),
        stat("Tokens", "Handed to the device.", PODS.rate(f"{_P}tokens_total")),
        stat(
            "Device busy",
            "Share of the time in which a batch was under way.",
            f"{PODS.rate(f'{_P}forward_seconds_sum')} / {PODS.total(f'{_P}up')}",
            "percentunit",
        ),
        stat(
            "Not finite",
            "Rows a second that failed: a value was not finite. Any at all is a fault of the model or the device.",
            PODS.rate(f"{_P}nonfinite_rows_total"),
            limits=(0.000001, 0.01),
        ),
    ),
)

_QUEUE = Row(
    "Queue",
    (
        Panel(
            "Tokens that wait",
            "By engine.",
            (Query(PODS.total(f"{_P}queued_tokens", by="pod"), "{{pod}}"),),
        ),
        Panel(
            "Sequences that wait",
            "By engine.",
            (Query(PODS.total(f"{_P}queued_sequences", by="pod"), "{{pod}}"),),
        ),
        Panel("Wait", "Longest wait of a sequence, a call.", PODS.quantiles(f"{_P}queue_seconds"), "s"),
        Panel(
            "Refused calls",
            "The queue was full.",
            (Query(PODS.rate(f"{_P}rejected_calls_total", by="pod"), "{{pod}}"),),
            "reqps",
        ),
        Panel(
            "Dropped before the device",
            "Sequences whose caller went away, whose deadline passed, or whose engine failed.",
            (Query(PODS.rate(f"{_P}dropped_sequences_total", by="reason"), "{{reason}}"),),
        ),
        Panel(
            "Calls by answer",
            "gRPC codes. FAILED_PRECONDITION: a gateway asks for another digest.",
            (Query(PODS.rate(f"{_P}calls_total", by="code"), "{{code}}"),),
            "reqps",
        ),
    ),
)

_DEVICE = Row(
    "Device",
    (
        Panel(
            "Tokens",
            "Handed to the device per second, by engine.",
            (Query(PODS.rate(f"{_P}tokens_total", by="pod"), "{{pod}}"),),
        ),
        Panel(
            "Tokens on the device",
            "Handed over and not given back.",
            (Query(PODS.total(f"{_P}in_flight_tokens", by="pod"), "{{pod}}"),),
        ),
        Panel(
            "Forward",
            "From launch, or from the result of the batch before, to its result.",
            PODS.quantiles(f"{_P}forward_seconds"),
            "s",
        ),
        Panel(
            "Around the device, 99th percentile",
            "Launch packs a batch, settle tells the rows of a result apart. Both belong far below forward.",
            (
                Query(PODS.quantile(0.99, f"{_P}launch_seconds"), "launch"),
                Query(PODS.quantile(0.99, f"{_P}settle_seconds"), "settle"),
            ),
            "s",
        ),
        Panel(
            "Tokens in a batch",
            "Small batches with a queue beside them: texts come one by one, or the budget is low.",
            (
                Query(PODS.mean(f"{_P}batch_tokens"), "mean"),
                Query(PODS.quantile(0.95, f"{_P}batch_tokens"), "p95"),
            ),
        ),
        Panel(
            "Batches filled",
            "Mean tokens of a batch, as a share of what it may have. Low without a queue: there is little to do.",
            (
                Query(
                    f"{PODS.mean(f'{_P}batch_tokens', by='pod')} / {PODS.total(f'{_P}max_batch_tokens', by='pod')}",
                    "{{pod}}",
                ),
            ),
            "percentunit",
        ),
        Panel(
            "Sequences in a batch",
            "Mean and 95th percentile.",
            (
                Query(PODS.mean(f"{_P}batch_sequences"), "mean"),
                Query(PODS.quantile(0.95, f"{_P}batch_sequences"), "p95"),
            ),
        ),
        Panel(
            "Speed of the device",
            "Tokens a second while a batch is under way: what an engine can do at this mix of lengths.",
            (
                Query(
                    f"{PODS.rate(f'{_P}tokens_total', by='pod')} / {PODS.rate(f'{_P}forward_seconds_sum', by='pod')}",
                    "{{pod}}",
                ),
            ),
        ),
        Panel(
            "Capacity",
            "The same, remembered by the engine while it is idle: what autoscaling goes by.",
            (Query(PODS.total(f"{_P}capacity_tokens_per_second", by="pod"), "{{pod}}"),),
        ),
    ),
)

_GRAPHS = Row(
    "Graphs",
    (
        Panel(
            "Steps with graphs",
            "Replays, and steps of sizes that have no graph; nothing on a CPU.",
            (
                Query(PODS.rate(f"{_P}graph_replays_total"), "replays"),
                Query(PODS.rate(f"{_P}graph_eager_steps_total"), "without a graph"),
            ),
        ),
        Panel(
            "Pads",
            "Of all rows, and of all slots of sequences, those that hold nothing: steps with graphs have fixed sizes. "
            "Nothing on a CPU. `plan-buckets` proposes sizes with fewer.",
            (
                Query(_padded("pad_tokens", f"{_P}tokens_total"), "tokens"),
                Query(_padded("pad_sequences", f"{_P}batch_sequences_sum"), "sequences"),
            ),
            "percentunit",
        ),
        Panel(
            "Captures",
            "In service each makes all wait that came meanwhile: sizes that come often belong into the prewarm list.",
            (
                Query(PODS.rate(f"{_P}graph_captures_total", by="pod"), "{{pod}}"),
                Query(PODS.rate(f"{_P}graph_capture_failures_total", by="pod"), "failed, {{pod}}"),
            ),
        ),
        Panel(
            "Graphs held",
            "By engine. Evictions beside it mean that more sizes are met than graphs are held.",
            (
                Query(PODS.total(f"{_P}graph_held", by="pod"), "{{pod}}"),
                Query(PODS.rate(f"{_P}graph_evictions_total", by="pod"), "evictions, {{pod}}"),
            ),
        ),
        Panel(
            "Warm-up",
            "Graphs that are captured of those to capture before an engine is ready.",
            (
                Query(PODS.total(f"{_P}graph_prewarmed", by="pod"), "{{pod}}"),
                Query(PODS.total(f"{_P}graph_to_prewarm", by="pod"), "of, {{pod}}"),
            ),
        ),
        Panel(
            "Start",
            "From the begin of the process until it was ready, and what it may take.",
            (
                Query(PODS.series(f"{_P}warmup_seconds"), "{{pod}}"),
                Query(PODS.series(f"{_P}warmup_timeout_seconds"), "of, {{pod}}"),
            ),
            "s",
        ),
        Panel(
            "Steps without room",
            "The device had no memory for them; batches of several texts were split. Smaller batches, or fewer graphs.",
            (Query(PODS.rate(f"{_P}graph_out_of_memory_total", by="pod"), "{{pod}}"),),
        ),
    ),
)

_FAILURES = Row(
    "Failures",
    (
        Panel(
            "Sequences by outcome",
            "Embedded, failed, or dropped before the device began.",
            (Query(PODS.rate(f"{_P}sequences_total", by="outcome"), "{{outcome}}"),),
        ),
        Panel(
            "Failed batches",
            "The engine raised; the callers of that batch got 500.",
            (Query(PODS.rate(f"{_P}step_failures_total", by="pod"), "{{pod}}"),),
        ),
        Panel(
            "Rows that are not finite",
            "By engine. One engine alone: its device.",
            (Query(PODS.rate(f"{_P}nonfinite_rows_total", by="pod"), "{{pod}}"),),
        ),
        Panel(
            "Models served",
            "One line for each engine.",
            (Query(PODS.series(f"{_P}info")),),
            kind="table",
            width=24,
            columns=("pod", "model_digest", "architecture", "dtype", "device", "attention_backend"),
        ),
    ),
)

_TRACES = Row(
    "Traces",
    (
        Panel(
            "Spans by what became of them",
            "queue_full: the collector does not keep up; export_failed: it is away or refuses. 0: nothing is traced.",
            (Query(PODS.rate(f"{_P}spans_total", by="outcome"), "{{outcome}}"),),
        ),
    ),
)

ENGINE = Dashboard(
    "engine",
    "Trellis / Engine",
    "The queue, the batches, the device's time, and what failed.",
    pods(f"{_P}up"),
    (_NUMBERS, _QUEUE, _DEVICE, _GRAPHS, _FAILURES, _TRACES, process_row(PODS, f"{_P}up")),
)
