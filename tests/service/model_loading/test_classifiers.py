"""Files of bounds on false hits: what is written is read, for the classifier that it was fitted to."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from semblance_client.vocabulary.same import FalseHitBound

from semblance.models.errors import BadCheckpoint
from semblance.service.model_loading.classifiers import (
    BOUNDS,
    BoundFile,
    read_classifiers,
    save_bound,
    served_classifiers,
)
from semblance.service.ports.paraphrases import SAME_FROM

[(SPACE, CLASSIFIER)] = [each for each in read_classifiers().items() if each[1].languages == ["en"]]
BOUND = FalseHitBound(data="questions", cut=2.5, allowed=0.01, different=400, same=300, hit_rate=0.25)


def content(**changes: Any) -> BoundFile:
    own: dict[str, Any] = {"model": "minilm-graded", "space": SPACE, "classifier": CLASSIFIER.digest, "bound": BOUND}
    return BoundFile(**{**own, **changes})


def test_a_written_bound_is_read_and_replaces_the_former_one(tmp_path: Path) -> None:
    save_bound(tmp_path, content(bound=BOUND.model_copy(update={"cut": 1.5})))
    file = save_bound(tmp_path, content())
    assert file == tmp_path / BOUNDS / f"{SPACE[:16]}.json"
    served = served_classifiers(tmp_path)[SPACE]
    assert (served.bound, served.same_from) == (BOUND, 2.5)


def test_classifiers_without_a_bound_have_a_fixed_cut(tmp_path: Path) -> None:
    served = served_classifiers(tmp_path)[SPACE]
    assert (served.bound, served.same_from) == (None, SAME_FROM)


@pytest.mark.parametrize("changes", [{"space": "another"}, {"classifier": "another"}])
def test_bounds_of_other_classifiers_are_logged_and_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, changes: dict[str, str]
) -> None:
    save_bound(tmp_path, content(**changes))
    with caplog.at_level(logging.WARNING):
        assert served_classifiers(tmp_path)[SPACE].bound is None
    assert "another version of minilm-graded" in caplog.text


@pytest.mark.parametrize("change", [{"format": 2}, {"extra": 1}, {"bound": {**BOUND.model_dump(), "cut": "high"}}])
def test_damaged_bounds_are_refused_by_name(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / BOUNDS).mkdir(parents=True)
    (tmp_path / BOUNDS / "damaged.json").write_text(json.dumps({**content().model_dump(), **change}))
    with pytest.raises(BadCheckpoint, match=r"damaged\.json is not a bound .*semblance calibrate --same"):
        served_classifiers(tmp_path)
