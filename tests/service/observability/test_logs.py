"""Lines of the log."""

from __future__ import annotations

import json
import logging

from semblance.service.observability.logs import JsonLines


def test_client_input_never_starts_a_log_line() -> None:
    forged = '/collections/x\r\n{"level": "error", "message": "forged"}\u2028\x1b[2J\x85'
    record = logging.LogRecord("service.access", logging.INFO, "", 0, "%s %s %s", ("GET", forged, 404), None)
    line = JsonLines().format(record)
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["message"] == f"GET {forged} 404"
