"""A small network to tune."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.small_model import make_small


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small(tmp_path_factory.mktemp("base") / "tiny")
