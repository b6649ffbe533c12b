"""Search against people's judgements, and against sentence-transformers doing the same exhaustively."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.retrieval import run


def test_cosine_search_equals_exhaustive_search_with_sentence_transformers(url: str, data: Path) -> None:
    cosine, rcmd, rcmd1, oracle = run(url, [data / "ir" / "adi"], "int8", Console(quiet=True))
    assert (cosine.measure, cosine.scored_from) == ("cosine", "index")
    assert cosine.ndcg_at_10 == pytest.approx(oracle.ndcg_at_10, abs=0.001)
    assert cosine.recall_at_10 == pytest.approx(oracle.recall_at_10, abs=0.001)
    assert rcmd.scored_from == rcmd1.scored_from == "token_codes"
    assert min(rcmd.ndcg_at_10, rcmd1.ndcg_at_10) > 0.2
