"""The command line as users run it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import warnings

from typer.testing import CliRunner

from semblance.service.cli.main import app

TEST_SETTINGS = ("SEMBLANCE_EXPORTS", "SEMBLANCE_PRECISION", "SEMBLANCE_THREADS")  # set by tests/conftest.py
SETTINGS = {"HOME": "/tmp", "COLUMNS": "200", **{name: os.environ[name] for name in TEST_SETTINGS}}


def semblance(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `semblance ARGUMENTS` in this process, which saves imports, with only the given settings.

    `stdin` is its standard input. Side effects on the process are undone. An exception that the command does not handle
    is raised here.
    """
    unset = {name: None for name in os.environ if name.startswith("SEMBLANCE_")}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with warnings.catch_warnings():
            ran = CliRunner().invoke(app, arguments, stdin, env={**unset, **SETTINGS, **environment})
    finally:
        signal.signal(signal.SIGTERM, handler)
        gc.unfreeze()
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    code = ran.exception.code if ran.exception else None
    message = f"{code}\n" if isinstance(code, str) else ""  # CliRunner writes it to stdout
    return subprocess.CompletedProcess(arguments, ran.exit_code, ran.stdout.removesuffix(message), ran.stderr + message)


def semblance_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """As `semblance`, in a separate process: for verbs that end or change it, or to prove which imports they need."""
    command = [sys.executable, "-m", "semblance.service.cli.main", *arguments]
    settings = {"PATH": "/usr/bin:/bin", **SETTINGS, **environment}
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=600)
