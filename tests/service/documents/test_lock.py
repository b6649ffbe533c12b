"""Permissions of the folder of documents."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from semblance.service.documents.databases.lock import lock_home
from semblance.service.documents.databases.sqlite import sqlite_engine


@pytest.fixture
def no_umask() -> Iterator[None]:
    """Without a umask, new folders are open to all users by default."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
def test_a_new_home_is_its_owners_alone(tmp_path: Path) -> None:
    with lock_home(tmp_path / "held"):
        assert (tmp_path / "held").stat().st_mode & 0o777 == 0o700
    sqlite_engine(tmp_path / "opened" / "documents.sqlite").dispose()
    assert (tmp_path / "opened").stat().st_mode & 0o777 == 0o700
