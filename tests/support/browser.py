"""The Chromium of this machine."""

from __future__ import annotations

import shutil

# the first one opens no windows, and needs less processor time
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def find_chromium() -> str | None:
    """Path of the program, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)
