"""Log lines on standard error, as JSON or for eyes. Never a text that somebody embeds, never a key."""

import logging
import os
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import orjson

_STANDARD_ERROR = 2


Line = dict[str, Any]
"""Begins with time, level, logger and message."""


class Lines(logging.Formatter):
    """Renders a record, with the fields that `extra={"fields": {...}}` gives it."""

    def __init__(self, log_format: str = "json") -> None:
        super().__init__()
        self._render = RENDERERS[log_format]

    def format(self, record: logging.LogRecord) -> str:
        """Render one record."""
        line: Line = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["trace"] = where(record.exc_info[2])
            line["error"] = record.exc_info[0].__name__
        return self._render(line).decode()


def _json(line: Line) -> bytes:
    return orjson.dumps(line, default=str)


def _text(line: Line) -> bytes:
    """`TIME LEVEL logger: message key=value …`, values as JSON has them."""
    head = f"{line['time']:%Y-%m-%dT%H:%M:%S.%fZ} {line['level'].upper()} {line['logger']}: {line['message']}"
    fields = [f"{key}={orjson.dumps(value, default=str).decode()}" for key, value in list(line.items())[4:]]
    return " ".join([head, *fields]).encode()


RENDERERS: dict[str, Callable[[Line], bytes]] = {"json": _json, "text": _text}


class AccessLog:
    """One line a request. Not through `logging`, whose records cost as much as all other work around a request."""

    def __init__(self, level: str, log_format: str = "json") -> None:
        self._levels = {"debug": ("debug", "info"), "info": ("info",)}.get(level, ())
        self._render = RENDERERS[log_format]

    def write(self, level: str, fields: dict[str, Any]) -> None:
        """Write one line, where lines of this level are wanted."""
        if level in self._levels:
            line = {"time": datetime.now(UTC), "level": level, "logger": "ivy.access", "message": "request", **fields}
            os.write(_STANDARD_ERROR, self._render(line) + b"\n")


def set_up(level: str, log_format: str) -> None:
    """Send every log line of the process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines(log_format))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def where(trace: TracebackType | None) -> list[str]:
    """The places of a traceback. Without the exception's own words, which may quote what a caller sent."""
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
