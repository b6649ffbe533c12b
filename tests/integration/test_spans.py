"""Spans of 1,000 real pairs: their sum, their places and their words, as /v2/rerank answers them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from semblance.models.evaluation.tasks import GradedPairs, Rankings
from semblance.service.cli.evaluate.data_sets import read_task
from tests.integration.conftest import Api

pytestmark = pytest.mark.slow

PAIRS = 500  # of each set
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
    """The result of each of 500 pairs, each of which is a request of its own."""
    return [result_of(api, *pair) for pair in random.Random(0).sample(request.param(data), PAIRS)]


def result_of(api: Api, query: str, document: str) -> Any:
    options = {"relevant_spans": {"mode": "enabled", "threshold": 0}, "explain": True}
    [result] = api.ok("/v2/rerank", {"query": query, "documents": [document], **options})["results"]
    assert result["document"]["text"] == document
    return result


def spans_of(result: Any) -> list[Any]:
    """Without a single positive part, there are none, and no field either."""
    assert "relevant_spans" in result or result["raw_score"] <= 0, result
    spans: list[Any] = result.get("relevant_spans", [])
    return spans


def texts_with_spans(results: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    for result in results:
        if spans := spans_of(result):
            yield result["document"]["text"], spans


def test_spans_and_the_rest_sum_to_the_raw_score(results: list[Any]) -> None:
    differences = [
        abs(math.fsum([each["rest"], *(span["score"] for span in spans_of(each))]) - each["raw_score"])
        for each in results
    ]
    without = sum(not spans_of(each) for each in results)
    print(f"{PAIRS} pairs, {without} without a span: the sum differs from the score by at most {max(differences):.1e}")
    assert len(differences) == PAIRS
    assert max(differences) <= TOLERANCE


def test_the_score_of_a_span_is_that_of_its_links(results: list[Any]) -> None:
    """Of the links of the explanation, summed here by the places of their words; the rest has all others."""
    differences = []
    for result in results:
        why, spans = result["explanation"], spans_of(result)
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
        differences += [abs(added - span["score"]) for added, span in zip(sums, spans, strict=True)]
        differences.append(abs(rest - result["rest"]))
    print(f"{len(differences) - len(results)} spans: largest difference to the links {max(differences):.1e}")
    assert max(differences) <= TOLERANCE


def test_spans_are_within_the_document_and_do_not_overlap(results: list[Any]) -> None:
    for text, spans in texts_with_spans(results):
        places = sorted((span["start"], span["end"]) for span in spans)
        assert all(0 <= start < end <= len(text) for start, end in places), text
        assert all(first_end <= start for (_, first_end), (start, _) in pairwise(places)), text


def test_spans_are_sorted_best_first(results: list[Any]) -> None:
    for text, spans in texts_with_spans(results):
        scores = [span["score"] for span in spans]
        assert scores == sorted(scores, reverse=True), text
        assert scores[-1] > 0, text


def test_spans_begin_and_end_at_word_boundaries(results: list[Any]) -> None:
    """In code points: some of the texts have characters of several bytes, and offsets in bytes would fail."""
    several_bytes = 0
    for text, spans in texts_with_spans(results):
        several_bytes += not text.isascii()
        for span in spans:
            inside = text[span["start"] : span["end"]]
            assert inside.strip() == inside != "", text
            assert is_boundary(text, span["start"]), (text, inside)
            assert is_boundary(text, span["end"]), (text, inside)
    print(f"{several_bytes} documents with characters of several bytes")


def is_boundary(text: str, place: int) -> bool:
    """Whether no letter or digit stands on both sides."""
    return not (text[:place][-1:].isalnum() and text[place : place + 1].isalnum())
