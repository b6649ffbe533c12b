"""Typical scores of built-in models, which benchmarks.quality.typical_scores writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from semblance_client.vocabulary.models import ScoreRanges

_SERVICE = Path(__file__).parents[1]
NAME = "typical_scores.json"


class TypicalFile(BaseModel):
    """The typical scores of a model on disk, which hold for one space."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    space: str
    typical: Sequence[ScoreRanges]

    def write(self, name: str) -> None:
        """Save them beside the adapter or classifier of that name, if there is one."""
        lines = ",\n".join(f"    {each.model_dump_json()}" for each in self.typical)
        for folder in _folders(name)[:1]:
            (folder / NAME).write_text(f'{{\n  "space": "{self.space}",\n  "typical": [\n{lines}\n  ]\n}}\n')


def _folders(name: str) -> list[Path]:
    """Folders of that name of adapters, then of classifiers."""
    return [folder for kind in ("adapters", "classifiers") for folder in sorted((_SERVICE / kind).glob(name))]


@cache
def read_typical() -> Mapping[str, Sequence[ScoreRanges]]:
    """The typical scores of each space that they are known of."""
    files = [folder / NAME for folder in _folders("*") if (folder / NAME).is_file()]
    known = [TypicalFile.model_validate_json(file.read_bytes()) for file in files]
    return {file.space: file.typical for file in known}


def typical_of(space: str, measure: str) -> ScoreRanges | None:
    """The typical scores of a measure, if they are known."""
    return next((each for each in read_typical().get(space, ()) if each.measure == measure), None)
