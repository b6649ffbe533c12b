"""The log: one JSON object a line."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from opentelemetry.trace import format_trace_id, get_current_span

_LOGGED_EXTRAS = ("request_id", "milliseconds", "caller")


class JsonLines(logging.Formatter):
    """Format a record as one JSON object a line. Texts and query strings are never logged."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, logger, message, the extra fields of the record, and its trace."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: getattr(record, name) for name in _LOGGED_EXTRAS if hasattr(record, name)},
        }
        if (context := get_current_span().get_span_context()).is_valid:
            line["trace_id"] = format_trace_id(context.trace_id)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def configure_logging() -> None:
    """Send the records of all loggers to standard error, as JSON lines."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # these fields are not logged
    for chatty in ("faiss.loader", "httpx2", "uvicorn.error"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
