"""Fixtures: a running service and a headless browser."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.running_service import running_service
from tests.support.waiting import CEILING_S

Browse = Callable[..., str]
SILENT = "background-networking component-update gpu quic sync"  # what is disabled
OPTIONS = [
    *("--headless", "--no-sandbox", "--no-first-run", "--hide-scrollbars", "--window-size=1280,1600"),
    *("--virtual-time-budget=8000", *(f"--disable-{each}" for each in SILENT.split())),
]


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    with running_service(sample="1") as address:
        yield address


@pytest.fixture
def browse(chromium: str) -> Iterator[Browse]:
    """Open an address and return its document after scripts have run; `screenshot` saves a picture instead."""
    with tempfile.TemporaryDirectory() as profile:

        def open_page(address: str, screenshot: Path | None = None) -> str:
            output = f"--screenshot={screenshot}" if screenshot else "--dump-dom"
            command = [chromium, *OPTIONS, f"--user-data-dir={profile}", output, address]
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=CEILING_S).stdout

        yield open_page
