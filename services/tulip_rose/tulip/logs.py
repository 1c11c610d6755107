"""Log lines on standard error, as JSON or for eyes. Knows no call.

Texts and keys never reach an engine; of what does, token ids, nothing is ever logged.
"""

import json
import logging
import sys
from datetime import UTC, datetime


class TextLines(logging.Formatter):
    """`tulip: message key=value …`, and the traceback of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Render one record, with the fields that `extra={"fields": {...}}` gives it."""
        fields = [f" {key}={json.dumps(value)}" for key, value in getattr(record, "fields", {}).items()]
        line = f"tulip: {record.getMessage()}{''.join(fields)}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Render one record, with the fields that `extra={"fields": {...}}` gives it."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


_FORMATTERS = {"text": TextLines, "json": JsonLines}


def set_up(level: str, log_format: str) -> None:
    """Send every log line of the process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMATTERS[log_format]())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
