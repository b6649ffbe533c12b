"""A small network, whole and as a copy that a test may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.small_model import make_small


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network of two layers and random weights; read-only."""
    return make_small(tmp_path_factory.mktemp("small") / "model")


@pytest.fixture
def folder(small: Path, tmp_path: Path) -> Path:
    """A copy that the test may change."""
    return shutil.copytree(small, tmp_path / "model")
