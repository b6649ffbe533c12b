"""The parts of the default model."""

from __future__ import annotations

import pytest

from benchmarks.quality.graded_model import FOLDER, PARTS, RANK, SUMS
from semblance.models.model_files.lora import read_low_rank_adapter
from semblance_lab.cli.train import read_recipe


@pytest.mark.parametrize("name", PARTS)
def test_every_part_has_valid_settings(name: str) -> None:
    part = PARTS[name]
    recipe = read_recipe(part.recipe, FOLDER / f"{part.file}.yaml")
    assert recipe.low_rank is not None
    assert recipe.low_rank.rank == RANK == read_low_rank_adapter(FOLDER).rank
    assert part.seed != recipe.seed


def test_every_sum_is_another_one_of_known_parts() -> None:
    assert len({tuple(sorted(parts.items())) for parts in SUMS.values()}) == len(SUMS)
    assert {part for parts in SUMS.values() for part in parts} == set(PARTS)
