"""The command line, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys


def semblance(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`semblance ARGUMENTS`, in a process with no other environment than this."""
    command = [sys.executable, "-m", "service.cli.main", *arguments]
    wide = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "COLUMNS": "200", **environment}
    return subprocess.run(command, env=wide, capture_output=True, text=True, check=False, timeout=600)


def interruptible(*arguments: str) -> list[str]:
    """The command `semblance ARGUMENTS`, of a process that heeds SIGINT also in the background of a shell."""
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    return [sys.executable, "-c", f"{heed}; from service.cli.main import app; app()", *arguments]
