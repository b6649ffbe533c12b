"""Refuse to collect modules outside the package `semblance`, where their classes would exist a second time."""

from __future__ import annotations

from pathlib import Path

import pytest

PACKAGE_FOLDERS = tuple(Path(__file__).parent / name for name in ("models", "service"))


def pytest_collect_file(file_path: Path) -> None:
    """Name the path to use for a file of `models/` or `service/`."""
    if any(file_path.is_relative_to(folder) for folder in PACKAGE_FOLDERS):
        inside = Path("semblance") / file_path.relative_to(Path(__file__).parent)
        raise pytest.UsageError(f"{file_path} belongs to the package semblance; run pytest {inside}")
