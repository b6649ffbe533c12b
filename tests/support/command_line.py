"""The command line, run as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings

from typer.testing import CliRunner

from semblance.service.cli.main import app

OF_ALL_TESTS = ("SEMBLANCE_EXPORTS", "SEMBLANCE_PRECISION")  # which tests/conftest.py sets
SETTINGS = {"HOME": "/tmp", "COLUMNS": "200", **{name: os.environ[name] for name in OF_ALL_TESTS}}


def semblance(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`semblance ARGUMENTS` with no other settings than these, within this process: it has loaded all there is.

    What it leaves behind in a process that goes on is taken back. What it raises and does not catch, it raises here.
    """
    own = {name: None for name in os.environ if name.startswith("SEMBLANCE_")}
    heeding = signal.getsignal(signal.SIGTERM)
    try:
        with warnings.catch_warnings():
            ran = CliRunner().invoke(app, arguments, env={**own, **SETTINGS, **environment})
    finally:
        signal.signal(signal.SIGTERM, heeding)
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    code = ran.exception.code if ran.exception else None
    said = f"{code}\n" if isinstance(code, str) else ""  # the runner writes it to the other stream
    return subprocess.CompletedProcess(arguments, ran.exit_code, ran.stdout.removesuffix(said), ran.stderr + said)


def apart(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, for what ends or changes a process, or proves that a verb needs no more."""
    command = [sys.executable, "-m", "semblance.service.cli.main", *arguments]
    wide = {"PATH": "/usr/bin:/bin", **SETTINGS, **environment}
    return subprocess.run(command, env=wide, capture_output=True, text=True, check=False, timeout=600)


def interruptible(*arguments: str) -> list[str]:
    """The command `semblance ARGUMENTS`, of a process that heeds SIGINT also in the background of a shell."""
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    return [sys.executable, "-c", f"{heed}; from semblance.service.cli.main import app; app()", *arguments]
