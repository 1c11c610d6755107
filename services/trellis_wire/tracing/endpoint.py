"""Where traces go: checked before anything of OpenTelemetry is imported."""

from importlib.util import find_spec
from urllib.parse import urlsplit

_EXPORTER = "opentelemetry.exporter.otlp.proto.grpc"


def endpoint_flaw(text: str) -> str | None:
    """What is wrong with the address of a collector, in words that follow the flag's name; None: nothing."""
    if not _is_endpoint(text):
        return f"{text!r} is not http://HOST:PORT or https://HOST:PORT"
    if not _is_installed():
        return "OpenTelemetry is not installed: pip install 'trellis-serve[tracing]'"
    return None


def _is_endpoint(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    origin = f"{parts.scheme}://{parts.netloc}"
    named = bool(parts.hostname) and port is not None and "@" not in parts.netloc
    return parts.scheme in ("http", "https") and named and text.removesuffix("/") == origin


def _is_installed() -> bool:
    try:
        return find_spec(_EXPORTER) is not None
    except ModuleNotFoundError:
        return False
