"""Log lines as JSON, one a line, on standard error. Never a text that somebody embeds, never a key."""

import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

import orjson

_STANDARD_ERROR = 2


class JsonLines(logging.Formatter):
    """Renders a record, with the fields that `extra={"fields": {...}}` gives it."""

    def format(self, record: logging.LogRecord) -> str:
        """Render one record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["trace"] = where(record.exc_info[2])
            line["error"] = record.exc_info[0].__name__
        return orjson.dumps(line, default=str).decode()


class AccessLog:
    """One line a request. Not through `logging`, whose records cost as much as all other work around a request."""

    def __init__(self, level: str) -> None:
        self._levels = {"debug": ("debug", "info"), "info": ("info",)}.get(level, ())

    def write(self, level: str, fields: dict[str, Any]) -> None:
        """Write one line, where lines of this level are wanted."""
        if level in self._levels:
            line = {"time": datetime.now(UTC), "level": level, "logger": "ivy.access", "message": "request", **fields}
            os.write(_STANDARD_ERROR, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def set_up(level: str) -> None:
    """Send every log line of the process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def where(trace: TracebackType | None) -> list[str]:
    """The places of a traceback. Without the exception's own words, which may quote what a caller sent."""
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
