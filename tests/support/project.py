"""Paths of the project's files."""

from __future__ import annotations

from pathlib import Path

PROJECT = Path(__file__).parents[2]
GOLDEN_FILES = PROJECT / "tests" / "golden"
