"""Damaged model folders are refused where they are listed, by what is wrong with each."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.errors import BadCheckpoint
from semblance.service.model_loading.registry import read_source
from tests.support.damaged_models import DAMAGES


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_refused_by_name(folder: Path, damage: str) -> None:
    read_source(str(folder))
    act, message = DAMAGES[damage]
    act(folder)
    with pytest.raises(BadCheckpoint, match=message):
        read_source(str(folder))
