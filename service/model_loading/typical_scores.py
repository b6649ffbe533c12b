"""Typical scores of built-in models, which benchmarks.quality.typical_scores writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from semblance_client.vocabulary.models import ScoreRanges

ADAPTERS = Path(__file__).parents[1] / "adapters"
NAME = "typical_scores.json"


class TypicalFile(BaseModel):
    """The typical scores of a model on disk, which hold for one space."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    space: str
    typical: Sequence[ScoreRanges]

    def write(self, adapter: str) -> None:
        """Save them beside an adapter, a line for each measure."""
        lines = ",\n".join(f"    {each.model_dump_json()}" for each in self.typical)
        (ADAPTERS / adapter / NAME).write_text(f'{{\n  "space": "{self.space}",\n  "typical": [\n{lines}\n  ]\n}}\n')


@cache
def read_typical() -> Mapping[str, Sequence[ScoreRanges]]:
    """The typical scores of each space that they are known of."""
    files = [TypicalFile.model_validate_json(file.read_bytes()) for file in sorted(ADAPTERS.glob(f"*/{NAME}"))]
    return {file.space: file.typical for file in files}


def typical_of(space: str, measure: str) -> ScoreRanges | None:
    """The typical scores of a measure, if they are known."""
    return next((each for each in read_typical().get(space, ()) if each.measure == measure), None)
