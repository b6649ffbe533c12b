"""The log: readable lines on a terminal, and one JSON object a line anywhere else."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from opentelemetry.trace import format_trace_id, get_current_span

from semblance.service.settings import LogFormat, LogLevel

_EXTRAS = ("request_id", "milliseconds", "caller")
_PLAIN = {"milliseconds": "{} ms", "caller": "caller {}", "request_id": "request {}", "trace_id": "trace {}"}
_OWN = ("semblance", "service.access")
_CHATTY = ("alembic", "faiss.loader", "httpx2", "uvicorn.error")  # their information is logged by our modules


class JsonLines(logging.Formatter):
    """Format a record as one JSON object a line. Texts and query strings are never logged."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, logger, message, the extra fields of the record, and its trace."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extras(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class PlainLines(logging.Formatter):
    """Format a record as one line for a person. Texts and query strings are never logged.

    It has the time of day, the level from warnings on, the message, and the extra fields of the record. Control
    characters are escaped, so that the path of a request can neither begin a line nor steer the terminal. Lines of a
    traceback are indented.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Local time, message and fields."""
        time = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S")
        level = f"{record.levelname.lower()}: " if record.levelno > logging.INFO else ""
        extras = _extras(record)
        shown = [form.format(extras[name]) for name, form in _PLAIN.items() if name in extras]
        line = _printable("  ".join([f"{time} {level}{record.getMessage()}", *shown]))
        if not record.exc_info:
            return line
        traceback = self.formatException(record.exc_info).splitlines()
        return "\n    ".join([line, *map(_printable, traceback)])


def configure_logging(level: LogLevel = "info", form: LogFormat = "auto") -> None:
    """Send the records of all loggers to standard error.

    Args:
        level: the least one of the lines; packages of others may log texts below `info`, and are not heard there.
        form: that of the lines; `auto` is text on a terminal, and otherwise JSON.
    """
    handler = logging.StreamHandler()
    handler.setLevel(level.upper())
    plain = sys.stderr.isatty() if form == "auto" else form == "text"
    handler.setFormatter(PlainLines() if plain else JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for own in _OWN:
        logging.getLogger(own).setLevel(level.upper())
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # these fields are not logged
    for chatty in _CHATTY:
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _extras(record: logging.LogRecord) -> dict[str, object]:
    """The extra fields of a record, and the trace that it belongs to."""
    extras = {name: getattr(record, name) for name in _EXTRAS if hasattr(record, name)}
    if (context := get_current_span().get_span_context()).is_valid:
        extras["trace_id"] = format_trace_id(context.trace_id)
    return extras


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
