"""The teacher's scores are Origin's."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from semblance.models.origin.harvest.teacher import OriginTeacher, model_digests
from semblance.models.origin.scoring.scoring import FORMS
from tests.models.origin.counting_models import TEXTS, Counted
from tests.support.text_files import write


def test_the_teacher_gives_the_scores_of_origin() -> None:
    for weights in ((1, 1, 1, 1), (0.5, 1, 0, 2)):
        counted = Counted(weights=weights)
        result = OriginTeacher(counted.origin, {}).all_pairs(TEXTS)
        pairs = list(product(TEXTS, repeat=2))
        alone = Counted(weights=weights).origin
        for form in FORMS:
            expected = alone.similarities([a for a, _ in pairs], [b for _, b in pairs], form)
            np.testing.assert_allclose(result.scores[form].ravel(), expected, atol=1e-9)
        assert result.fallback.tolist() == [each.fallback for each in alone.context_sets(TEXTS)]


def test_the_provenance_contains_files_and_settings(tmp_path: Path) -> None:
    names = ("corpus/train.arrow", "vocabulary/tokenizer.json", "coherence/model.safetensors")
    for name in (*names, "generation/all/model.safetensors", "generation/notes.txt"):
        write(tmp_path / name, "before")
    found = model_digests(tmp_path)
    assert sorted(found) == ["coherence/model.safetensors", "generation/all/model.safetensors"]
    about = json.loads(json.dumps(OriginTeacher(Counted(size=4).origin, found).about()))
    assert about["contexts"]["size"] == 4
    assert about["contexts"]["weights"] == pytest.approx((1, 1, 1, 1))
    write(tmp_path / "generation/all/model.safetensors", "after")
    assert [name for name, digest in model_digests(tmp_path).items() if about["files"][name] != digest] == [
        "generation/all/model.safetensors"
    ]
