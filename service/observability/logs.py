"""Logs: one JSON object a line. No texts and no query strings ever stand in them."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

_EXTRAS = ("request_id", "milliseconds", "caller")


class JsonLines(logging.Formatter):
    """A record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, logger, message, and what came along."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: getattr(record, name) for name in _EXTRAS if hasattr(record, name)},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def configure() -> None:
    """Send every logger's records to standard error, as JSON lines."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line tells of them
    for chatty in ("faiss.loader", "httpx2", "uvicorn.error"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
