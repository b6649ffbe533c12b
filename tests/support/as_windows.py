"""Run `semblance` without what Python on Windows lacks: python -m tests.support.as_windows serve.

Packages of others stay those that are installed, so they are imported first; modules of Semblance are imported later.
What this cannot show is how Windows itself behaves: files in use that cannot be removed, or its consoles.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty", "uvloop")
OF_OS = (
    "fork",
    "forkpty",
    "geteuid",
    "getloadavg",
    "getuid",
    "killpg",
    "mkfifo",
    "sched_getaffinity",
    "setsid",
    "sysconf",
)
OF_SIGNAL = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "setitimer")
OURS = ("semblance", "semblance_client")
LOADED_LATER = ("faiss", "openvino", "semblance_client.async_client", "semblance.service.cli.toolbox.http_service")


def become_windows() -> None:
    """Change this process, for all that it imports of Semblance from now on."""
    for name in ("semblance.service.cli.main", "semblance.service.cli.serve", *LOADED_LATER):
        try:
            import_module(name)
        except ImportError as error:  # a module of ours that fails below as well
            print(error, file=sys.stderr)
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    sys.modules.update(dict.fromkeys(MODULES))  # type: ignore[arg-type]  # Python's way to refuse an import
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            delattr(module, name)
    sys.platform = "win32"
    _limit_calls()


def _limit_calls() -> None:
    """Let calls fail that Windows has, and refuses."""
    loop: Any = asyncio.SelectorEventLoop
    loop.add_signal_handler = asyncio.AbstractEventLoop.add_signal_handler  # NotImplementedError
    asyncio.ProactorEventLoop = loop  # type: ignore[attr-defined]  # the name of the default loop there
    open_file, load_library, flush = os.open, ctypes.CDLL, os.fsync

    def open_no_folder(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if not isinstance(path, int) and Path(os.fsdecode(path)).is_dir():
            raise PermissionError(13, "Permission denied", path)
        return open_file(path, flags, *arguments, **options)

    def load_named_library(name: str | None, *arguments: Any, **options: Any) -> Any:
        if name is None:
            raise TypeError("a library needs a name")
        return load_library(name, *arguments, **options)

    def flush_written_file(fd: Any) -> None:
        os.write(fd, b"")  # fails unless the file is open for writing
        flush(fd)

    os.open, os.fsync, os.kill = open_no_folder, flush_written_file, lambda _, number: os._exit(number)
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # it would open folders
    ctypes.CDLL = load_named_library  # type: ignore[assignment,misc]


if __name__ == "__main__":
    become_windows()
    from semblance.service.cli.main import app

    app()
