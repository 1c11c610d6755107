from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class VectorType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VECTOR_TYPE_UNSPECIFIED: _ClassVar[VectorType]
    VECTOR_TYPE_FLOAT32: _ClassVar[VectorType]
    VECTOR_TYPE_INT8: _ClassVar[VectorType]
    VECTOR_TYPE_BINARY: _ClassVar[VectorType]
VECTOR_TYPE_UNSPECIFIED: VectorType
VECTOR_TYPE_FLOAT32: VectorType
VECTOR_TYPE_INT8: VectorType
VECTOR_TYPE_BINARY: VectorType

class EmbedRequest(_message.Message):
    __slots__ = ("token_ids", "lengths", "spans", "vector_type", "dimensions", "normalize", "model_digest")
    TOKEN_IDS_FIELD_NUMBER: _ClassVar[int]
    LENGTHS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_TYPE_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    NORMALIZE_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    token_ids: bytes
    lengths: bytes
    spans: bytes
    vector_type: VectorType
    dimensions: int
    normalize: bool
    model_digest: str
    def __init__(self, token_ids: _Optional[bytes] = ..., lengths: _Optional[bytes] = ..., spans: _Optional[bytes] = ..., vector_type: _Optional[_Union[VectorType, str]] = ..., dimensions: _Optional[int] = ..., normalize: _Optional[bool] = ..., model_digest: _Optional[str] = ...) -> None: ...

class EmbedResponse(_message.Message):
    __slots__ = ("rows", "dimensions", "vector_type", "failed_rows", "queue_ms", "forward_ms", "queued_tokens", "model_digest")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_TYPE_FIELD_NUMBER: _ClassVar[int]
    FAILED_ROWS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_MS_FIELD_NUMBER: _ClassVar[int]
    FORWARD_MS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MODEL_DIGEST_FIELD_NUMBER: _ClassVar[int]
    rows: bytes
    dimensions: int
    vector_type: VectorType
    failed_rows: _containers.RepeatedScalarFieldContainer[int]
    queue_ms: float
    forward_ms: float
    queued_tokens: int
    model_digest: str
    def __init__(self, rows: _Optional[bytes] = ..., dimensions: _Optional[int] = ..., vector_type: _Optional[_Union[VectorType, str]] = ..., failed_rows: _Optional[_Iterable[int]] = ..., queue_ms: _Optional[float] = ..., forward_ms: _Optional[float] = ..., queued_tokens: _Optional[int] = ..., model_digest: _Optional[str] = ...) -> None: ...

class InfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class InfoResponse(_message.Message):
    __slots__ = ("model_name", "model_digest", "architecture", "dtype", "device", "attention_backend", "dimensions", "allowed_dimensions", "max_input_tokens", "vocabulary_size", "pooling", "normalize", "max_batch_tokens", "max_queued_tokens", "queued_tokens", "version")
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
    def __init__(self, model_name: _Optional[str] = ..., model_digest: _Optional[str] = ..., architecture: _Optional[str] = ..., dtype: _Optional[str] = ..., device: _Optional[str] = ..., attention_backend: _Optional[str] = ..., dimensions: _Optional[int] = ..., allowed_dimensions: _Optional[_Iterable[int]] = ..., max_input_tokens: _Optional[int] = ..., vocabulary_size: _Optional[int] = ..., pooling: _Optional[str] = ..., normalize: _Optional[bool] = ..., max_batch_tokens: _Optional[int] = ..., max_queued_tokens: _Optional[int] = ..., queued_tokens: _Optional[int] = ..., version: _Optional[str] = ...) -> None: ...
