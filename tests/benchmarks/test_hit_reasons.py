"""The figures of the strongest links of search hits."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality.hit_reasons import reasons
from semblance.models.catalogue import similarity
from semblance.models.protocols import Explainable
from tests.support.small_model import load, write_glove

QUESTION, DOCUMENT = "the parcel is lost", "my parcel was lost ."


def test_strongest_links_are_counted_by_their_words(tmp_path: Path) -> None:
    """Every word has a vector of its own, so only equal words are linked by more than the rest."""
    words = ["the", "parcel", "is", "lost", "my", "was", "."]
    vectors = tmp_path / "words.txt"
    vectors.write_text(
        "".join(f"{word} {' '.join('1' if i == j else '0' for j in range(7))}\n" for i, word in enumerate(words))
    )
    encoder = load(str(vectors))
    one, other = encoder.encode(encoder.tokenize([QUESTION, DOCUMENT], "document", "END"), "tokens")
    found = reasons("glove", "rcmd", [(one, other)])
    explaining = similarity("rcmd")
    assert isinstance(explaining, Explainable)
    contributions = sorted(explaining.explain(one, other).contribution.ravel().tolist(), reverse=True)
    assert found.carried == pytest.approx(sum(contributions[:3]) / explaining.score(one, other), abs=1e-3)
    assert found.carried == 1.0
    assert found.function_words + found.mixed < 0.34  # the third link is worth nothing


def test_hits_without_a_score_do_not_count(tmp_path: Path) -> None:
    encoder = load(str(write_glove(tmp_path / "glove.txt", ["a", "b"])))
    same, unknown = encoder.encode(encoder.tokenize(["a", "c"], "document", "END"), "tokens")
    assert reasons("glove", "rcmd", [(same, same), (same, unknown)]).carried == 1.0
