"""Lines of the log."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys

import pytest

from semblance.service.observability.logs import JsonLines, PlainLines

FORGED = '/collections/x\r\n{"level": "error", "message": "forged"}\u2028\x1b[2J\x85'
LOG_ONE_LINE = """
import logging
from semblance.service.observability.logs import configure_logging
configure_logging()
logging.getLogger("alembic.runtime.plugins").info("not this one")
logging.getLogger("semblance.x").warning("hello %s", "there")
"""


def record(
    message: str, *arguments: object, level: int = logging.INFO, error: Exception | None = None
) -> logging.LogRecord:
    error_info = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("service.access", level, "", 0, message, arguments, error_info)


def test_client_input_never_starts_a_log_line() -> None:
    line = JsonLines().format(record("%s %s %s", "GET", FORGED, 404))
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["message"] == f"GET {FORGED} 404"


def test_client_input_does_not_steer_the_terminal() -> None:
    line = PlainLines().format(record("%s %s %s", "GET", FORGED, 404))
    assert line.isprintable()
    assert r"x\r\n{" in line
    assert r"\x1b[2J" in line


def test_plain_lines_have_the_fields_of_json_lines() -> None:
    access = record("GET /models 200")
    access.__dict__.update(request_id="abc", milliseconds=1.5, caller="ci")
    assert PlainLines().format(access)[8:] == " GET /models 200  1.5 ms  caller ci  request abc"
    fields = json.loads(JsonLines().format(access))
    assert (fields["request_id"], fields["milliseconds"], fields["caller"]) == ("abc", 1.5, "ci")
    assert PlainLines().format(record("Odd", level=logging.WARNING))[8:] == " warning: Odd"


def test_a_traceback_is_indented_on_a_terminal() -> None:
    """So that the text of an error cannot pass for a line of the log."""
    failed = record("It failed", level=logging.ERROR, error=ValueError("first\n12:00:00 forged\x1b[2J"))
    first, *others = PlainLines().format(failed).splitlines()
    assert first.endswith("error: It failed")
    assert others[-1] == r"    12:00:00 forged\x1b[2J"
    assert all(line.startswith("    ") and line.isprintable() for line in others)


CHOSEN = """
import logging
from semblance.service.observability.logs import configure_logging
for level, form in (("warning", "text"), ("debug", "json")):
    configure_logging(level, form)
    for name in ("semblance.x", "alembic", "httpcore2"):
        for each in ("debug", "info", "warning"):
            getattr(logging.getLogger(name), each)("%s %s", name, each)
"""


def test_settings_choose_the_form_and_the_least_level_of_lines() -> None:
    ran = subprocess.run([sys.executable, "-c", CHOSEN], capture_output=True, text=True, check=True)
    lines = ran.stderr.splitlines()
    warnings = [f"{name} warning" for name in ("semblance.x", "alembic", "httpcore2")]
    assert [line[8:] for line in lines[:3]] == [f" warning: {message}" for message in warnings]
    assert [json.loads(line)["message"] for line in lines[3:]] == [
        *(f"semblance.x {level}" for level in ("debug", "info", "warning")),
        "alembic warning",
        *(f"httpcore2 {level}" for level in ("info", "warning")),
    ]


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_gets_plain_lines(terminal: bool) -> None:
    ours, theirs = pty.openpty() if terminal else os.pipe()
    subprocess.run([sys.executable, "-c", LOG_ONE_LINE], stderr=theirs, check=True)
    os.close(theirs)
    [line] = os.read(ours, 65_536).decode().splitlines()
    os.close(ours)
    if terminal:
        assert line[8:] == " warning: hello there"
    else:
        assert json.loads(line)["message"] == "hello there"
