"""The folder of the store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from semblance.service.documents.lock import hold
from semblance.service.documents.sqlite import sqlite_engine


@pytest.fixture
def generous() -> Iterator[None]:
    """Without a mask, new folders would be open to all."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("generous")
def test_a_new_home_is_its_owners_alone(tmp_path: Path) -> None:
    with hold(tmp_path / "held"):
        assert (tmp_path / "held").stat().st_mode & 0o777 == 0o700
    sqlite_engine(tmp_path / "opened" / "documents.sqlite").dispose()
    assert (tmp_path / "opened").stat().st_mode & 0o777 == 0o700
