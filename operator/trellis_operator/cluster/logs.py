"""The operator's log: lines for people, or one JSON object a line."""

import datetime
import json
import logging
import sys

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")


def set_up(level: str, form: str) -> None:
    """Log to stderr from `level` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("trellis_operator").setLevel(level.upper())
    # It runs beside the main thread on purpose, see `kopf_handlers`: its warning about signals says nothing new.
    logging.getLogger("kopf._core.reactor.running").setLevel(logging.ERROR)
    # Each of its tries at an API server that is away: the informers' warnings, fewer, say the same.
    logging.getLogger("kopf._cogs.clients.api").setLevel(logging.CRITICAL)
    # kopf tells each of its own steps; what it ends with is logged where it is started again.
    logging.getLogger("kopf").setLevel(logging.WARNING if level != "debug" else logging.DEBUG)


def _time(record: logging.LogRecord) -> str:
    at = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = f"{_time(record)} {record.levelname.lower():7} {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
