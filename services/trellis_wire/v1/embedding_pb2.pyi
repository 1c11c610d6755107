from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class VectorType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VECTOR_TYPE_UNSPECIFIED: _ClassVar[VectorType]
    VECTOR_TYPE_FLOAT32: _ClassVar[VectorType]
    VECTOR_TYPE_INT8: _ClassVar[VectorType]
    VECTOR_TYPE_BINARY: _ClassVar[VectorType]

class OutputKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTPUT_KIND_DENSE: _ClassVar[OutputKind]
    OUTPUT_KIND_SPARSE: _ClassVar[OutputKind]
    OUTPUT_KIND_TOKENS: _ClassVar[OutputKind]
VECTOR_TYPE_UNSPECIFIED: VectorType
VECTOR_TYPE_FLOAT32: VectorType
VECTOR_TYPE_INT8: VectorType
VECTOR_TYPE_BINARY: VectorType
OUTPUT_KIND_DENSE: OutputKind
OUTPUT_KIND_SPARSE: OutputKind
OUTPUT_KIND_TOKENS: OutputKind

class Output(_message.Message):
    __slots__ = ("kind", "spans", "vector_type", "dimensions", "normalize")
    KIND_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_TYPE_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    kind: OutputKind
    spans: bytes
    vector_type: VectorType
    dimensions: int
    normalize: bool
    def __init__(self, kind: _Optional[_Union[OutputKind, str]] = ..., spans: _Optional[bytes] = ..., vector_type: _Optional[_Union[VectorType, str]] = ..., dimensions: _Optional[int] = ..., normalize: _Optional[bool] = ...) -> None: ...

class OutputRows(_message.Message):
    __slots__ = ("rows", "dimensions", "vector_type", "failed_rows")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_TYPE_FIELD_NUMBER: _ClassVar[int]
    FAILED_ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: bytes
    dimensions: int
    vector_type: VectorType
    failed_rows: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rows: _Optional[bytes] = ..., dimensions: _Optional[int] = ..., vector_type: _Optional[_Union[VectorType, str]] = ..., failed_rows: _Optional[_Iterable[int]] = ...) -> None: ...

class EmbedRequest(_message.Message):
    __slots__ = ("token_ids", "lengths", "spans", "vector_type", "dimensions", "normalize", "model_digest", "kind", "token_types", "also", "unseen", "priority")
    TOKEN_IDS_FIELD_NUMBER: _ClassVar[int]
    LENGTHS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_TYPE_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    TOKEN_TYPES_FIELD_NUMBER: _ClassVar[int]
    ALSO_FIELD_NUMBER: _ClassVar[int]
    UNSEEN_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    token_ids: bytes
    lengths: bytes
    spans: bytes
    vector_type: VectorType
    dimensions: int
    normalize: bool
    model_digest: str
    kind: OutputKind
    token_types: bytes
    also: _containers.RepeatedCompositeFieldContainer[Output]
    unseen: bytes
    priority: int
    def __init__(self, token_ids: _Optional[bytes] = ..., lengths: _Optional[bytes] = ..., spans: _Optional[bytes] = ..., vector_type: _Optional[_Union[VectorType, str]] = ..., dimensions: _Optional[int] = ..., normalize: _Optional[bool] = ..., model_digest: _Optional[str] = ..., kind: _Optional[_Union[OutputKind, str]] = ..., token_types: _Optional[bytes] = ..., also: _Optional[_Iterable[_Union[Output, _Mapping]]] = ..., unseen: _Optional[bytes] = ..., priority: _Optional[int] = ...) -> None: ...

class EmbedResponse(_message.Message):
    __slots__ = ("rows", "dimensions", "vector_type", "failed_rows", "queue_ms", "forward_ms", "queued_tokens", "model_digest", "also", "launch_ms", "settle_ms")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_TYPE_FIELD_NUMBER: _ClassVar[int]
    FAILED_ROWS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_MS_FIELD_NUMBER: _ClassVar[int]
    FORWARD_MS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ALSO_FIELD_NUMBER: _ClassVar[int]
    LAUNCH_MS_FIELD_NUMBER: _ClassVar[int]
    SETTLE_MS_FIELD_NUMBER: _ClassVar[int]
    rows: bytes
    dimensions: int
    vector_type: VectorType
    failed_rows: _containers.RepeatedScalarFieldContainer[int]
    queue_ms: float
    forward_ms: float
    queued_tokens: int
    model_digest: str
    also: _containers.RepeatedCompositeFieldContainer[OutputRows]
    launch_ms: float
    settle_ms: float
    def __init__(self, rows: _Optional[bytes] = ..., dimensions: _Optional[int] = ..., vector_type: _Optional[_Union[VectorType, str]] = ..., failed_rows: _Optional[_Iterable[int]] = ..., queue_ms: _Optional[float] = ..., forward_ms: _Optional[float] = ..., queued_tokens: _Optional[int] = ..., model_digest: _Optional[str] = ..., also: _Optional[_Iterable[_Union[OutputRows, _Mapping]]] = ..., launch_ms: _Optional[float] = ..., settle_ms: _Optional[float] = ...) -> None: ...

class InfoRequest(_message.Message):
    __slots__ = ("starting",)
    STARTING_FIELD_NUMBER: _ClassVar[int]
    starting: bool
    def __init__(self, starting: _Optional[bool] = ...) -> None: ...

class Warmup(_message.Message):
    __slots__ = ("stage", "keys", "captured", "key", "seconds")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    CAPTURED_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    stage: str
    keys: int
    captured: int
    key: str
    seconds: float
    def __init__(self, stage: _Optional[str] = ..., keys: _Optional[int] = ..., captured: _Optional[int] = ..., key: _Optional[str] = ..., seconds: _Optional[float] = ...) -> None: ...

class GraphFailure(_message.Message):
    __slots__ = ("key", "why")
    KEY_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    key: str
    why: str
    def __init__(self, key: _Optional[str] = ..., why: _Optional[str] = ...) -> None: ...

class Graphs(_message.Message):
    __slots__ = ("held", "captures", "capture_failures", "evictions", "replays", "eager_steps", "failures", "crowded")
    HELD_FIELD_NUMBER: _ClassVar[int]
    CAPTURES_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_FAILURES_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    REPLAYS_FIELD_NUMBER: _ClassVar[int]
    EAGER_STEPS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    CROWDED_FIELD_NUMBER: _ClassVar[int]
    held: int
    captures: int
    capture_failures: int
    evictions: int
    replays: int
    eager_steps: int
    failures: _containers.RepeatedCompositeFieldContainer[GraphFailure]
    crowded: _containers.RepeatedCompositeFieldContainer[GraphFailure]
    def __init__(self, held: _Optional[int] = ..., captures: _Optional[int] = ..., capture_failures: _Optional[int] = ..., evictions: _Optional[int] = ..., replays: _Optional[int] = ..., eager_steps: _Optional[int] = ..., failures: _Optional[_Iterable[_Union[GraphFailure, _Mapping]]] = ..., crowded: _Optional[_Iterable[_Union[GraphFailure, _Mapping]]] = ...) -> None: ...

class InfoResponse(_message.Message):
    __slots__ = ("model_name", "model_digest", "architecture", "dtype", "device", "attention_backend", "dimensions", "allowed_dimensions", "max_input_tokens", "vocabulary_size", "pooling", "normalize", "max_batch_tokens", "max_queued_tokens", "queued_tokens", "version", "task", "outputs", "labels", "token_dimensions", "max_terms", "warmup", "graphs", "contents", "texts", "revision", "ready_since")
    MODEL_NAME_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    ARCHITECTURE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    ATTENTION_BACKEND_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    VOCABULARY_SIZE_FIELD_NUMBER: _ClassVar[int]
    POOLING_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    MAX_BATCH_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TASK_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_TERMS_FIELD_NUMBER: _ClassVar[int]
    WARMUP_FIELD_NUMBER: _ClassVar[int]
    GRAPHS_FIELD_NUMBER: _ClassVar[int]
    CONTENTS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    READY_SINCE_FIELD_NUMBER: _ClassVar[int]
    model_name: str
    model_digest: str
    architecture: str
    dtype: str
    device: str
    attention_backend: str
    dimensions: int
    allowed_dimensions: _containers.RepeatedScalarFieldContainer[int]
    max_input_tokens: int
    vocabulary_size: int
    pooling: str
    normalize: bool
    max_batch_tokens: int
    max_queued_tokens: int
    queued_tokens: int
    version: str
    task: str
    outputs: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.RepeatedScalarFieldContainer[str]
    token_dimensions: int
    max_terms: int
    warmup: Warmup
    graphs: Graphs
    contents: str
    texts: str
    revision: str
    ready_since: float
    def __init__(self, model_name: _Optional[str] = ..., model_digest: _Optional[str] = ..., architecture: _Optional[str] = ..., dtype: _Optional[str] = ..., device: _Optional[str] = ..., attention_backend: _Optional[str] = ..., dimensions: _Optional[int] = ..., allowed_dimensions: _Optional[_Iterable[int]] = ..., max_input_tokens: _Optional[int] = ..., vocabulary_size: _Optional[int] = ..., pooling: _Optional[str] = ..., normalize: _Optional[bool] = ..., max_batch_tokens: _Optional[int] = ..., max_queued_tokens: _Optional[int] = ..., queued_tokens: _Optional[int] = ..., version: _Optional[str] = ..., task: _Optional[str] = ..., outputs: _Optional[_Iterable[str]] = ..., labels: _Optional[_Iterable[str]] = ..., token_dimensions: _Optional[int] = ..., max_terms: _Optional[int] = ..., warmup: _Optional[_Union[Warmup, _Mapping]] = ..., graphs: _Optional[_Union[Graphs, _Mapping]] = ..., contents: _Optional[str] = ..., texts: _Optional[str] = ..., revision: _Optional[str] = ..., ready_since: _Optional[float] = ...) -> None: ...
