"""Relevant spans of real pairs, as /v2/rerank answers them."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from semblance.models.evaluation.tasks import GradedPairs, Rankings
from semblance.service.cli.evaluate.data_sets import read_task
from tests.integration.conftest import Api

PAIRS = 25  # of each set
TOLERANCE = 1e-6


def sts_pairs(data: Path) -> list[tuple[str, str]]:
    task = read_task("stsb", data)
    assert isinstance(task, GradedPairs)
    return list(zip(task.left, task.right, strict=True))


def wikiqa_pairs(data: Path) -> list[tuple[str, str]]:
    task = read_task("wikiqa", data)
    assert isinstance(task, Rankings)
    return [(query, text) for query, texts in zip(task.queries, task.candidates, strict=True) for text in texts]


@pytest.fixture(scope="module", params=[sts_pairs, wikiqa_pairs], ids=["stsb", "wikiqa"])
def results(request: pytest.FixtureRequest, api: Api, data: Path) -> list[Any]:
    """The results of pairs, each of which is a request of its own."""
    return [result_of(api, *pair) for pair in random.Random(0).sample(request.param(data), PAIRS)]


def result_of(api: Api, query: str, document: str) -> Any:
    options = {"relevant_spans": {"mode": "enabled", "threshold": 0}, "explain": True}
    [result] = api.ok("/v2/rerank", {"query": query, "documents": [document], **options})["results"]
    assert result["document"]["text"] == document
    assert "relevant_spans" in result or result["raw_score"] <= 0, "no span without a positive part"
    return {"relevant_spans": [], **result}


def test_scores_of_spans_are_those_of_their_links(results: list[Any]) -> None:
    """Of the links of the explanation, summed here by the places of their words; the rest has all others."""
    for result in results:
        why, spans = result["explanation"], result["relevant_spans"]
        words, places = why["b"]["tokens"], [(each["start"], each["end"]) for each in spans]
        sums, rest = [0.0] * len(places), why["special"] + why["omitted"]
        assert why["omitted"] == pytest.approx(0, abs=TOLERANCE)
        for link in why["links"]:
            word = words[link["b"]]
            inside = [i for i, (start, end) in enumerate(places) if start <= word["start"] and word["end"] <= end]
            if inside:
                sums[inside[0]] += link["contribution"]
            else:
                rest += link["contribution"]
        scores = [span["score"] for span in spans]
        assert sums == pytest.approx(scores, abs=TOLERANCE)
        assert rest == pytest.approx(result["rest"], abs=TOLERANCE)
        assert math.fsum([rest, *sums]) == pytest.approx(result["raw_score"], abs=TOLERANCE)
        assert scores == sorted(scores, reverse=True)
        assert min(scores, default=1) > 0


def test_spans_are_disjoint_and_of_whole_words(results: list[Any]) -> None:
    for result in results:
        text = result["document"]["text"]
        places = sorted((span["start"], span["end"]) for span in result["relevant_spans"])
        assert all(first_end <= start for (_, first_end), (start, _) in pairwise(places)), text
        for start, end in places:
            assert 0 <= start < end <= len(text), text
            inside = text[start:end]
            assert inside.strip() == inside, text
            assert is_boundary(text, start), (text, inside)
            assert is_boundary(text, end), (text, inside)


def is_boundary(text: str, place: int) -> bool:
    """Whether no letter or digit stands on both sides."""
    return not (text[:place][-1:].isalnum() and text[place : place + 1].isalnum())
