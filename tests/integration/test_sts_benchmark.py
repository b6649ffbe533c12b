"""Measures on the STS benchmark over HTTP: correlation with grades, and the sum law."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from semblance.models import catalogue
from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.encoders.transformer import Transformer
from semblance.models.evaluation.scorer import LocalScorer
from semblance.models.evaluation.tasks import GradedPairs
from semblance.service.cli.evaluate.data_sets import read_task
from semblance.service.model_loading.registry import read_source
from tests.integration.conftest import Api
from tests.support.no_progress import no_progress

EXPLAINABLE = list(filter(catalogue.explains, catalogue.names(catalogue.SIMILARITIES)))


@pytest.fixture(scope="module")
def stsb(data: Path) -> GradedPairs:
    task = read_task("stsb", data)
    assert isinstance(task, GradedPairs)
    return task


@pytest.fixture(scope="module")
def pairs(stsb: GradedPairs) -> list[dict[str, str]]:
    """The pairs in the form of requests."""
    return [{"a": a, "b": b} for a, b in zip(stsb.left, stsb.right, strict=True)]


@pytest.fixture(scope="module")
def embedded(stsb: GradedPairs, minilm: Transformer) -> list[tuple[TokenEmbeddings, TokenEmbeddings]]:
    """The first 1,000 pairs."""
    left, right = stsb.left[:1000], stsb.right[:1000]
    known = LocalScorer(minilm, no_progress).embed([*left, *right], "tokens")
    return [(known[a], known[b]) for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize(("measure", "expected"), [("cosine", 82.05), ("rcmd", 82.75)])
def test_spearman_on_the_sts_benchmark(
    api: Api, stsb: GradedPairs, pairs: list[dict[str, str]], measure: str, expected: float
) -> None:
    scores = api.ok("/similarity", {"pairs": pairs, "measure": measure, "model": "minilm"})["scores"]
    correlation = 100 * spearmanr(scores, stsb.gold)[0]
    print(f"STS-B test, {measure}: Spearman {correlation:.2f}")
    assert correlation == pytest.approx(expected, abs=0.1)


def test_cosines_equal_those_of_sentence_transformers(api: Api, pairs: list[dict[str, str]]) -> None:
    some = pairs[::7]
    oracle = SentenceTransformer(str(read_source("minilm").location), device="cpu")
    left, right = (oracle.encode([pair[side] for pair in some]) for side in ("a", "b"))
    assert api.ok("/similarity", {"pairs": some, "model": "minilm"})["scores"] == pytest.approx(
        (left * right).sum(axis=1).tolist(), abs=1e-5
    )


@pytest.mark.parametrize("name", EXPLAINABLE)
def test_links_special_and_omitted_sum_to_the_score(
    embedded: list[tuple[TokenEmbeddings, TokenEmbeddings]], name: str
) -> None:
    measure: Any = similarity(name)
    worst = 0.0
    for a, b in embedded:
        score, tokens = measure.score(a, b), measure.explain(a, b)
        for form in (tokens, tokens.by_word(), tokens.strongest(5), tokens.by_word().strongest(5)):
            total = math.fsum([*(link.contribution for link in form.links), form.special, form.omitted])
            worst = max(worst, abs(total - score))
    print(f"{name}: the largest difference of 4,000 sums to their scores is {worst:.1e}")
    assert worst < 1e-6


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    number=st.integers(0, 999),
    name=st.sampled_from(EXPLAINABLE),
    granularity=st.sampled_from(["word", "token"]),
    max_links=st.integers(0, 250),
)
def test_sum_law_holds_in_json_responses(
    api: Api, pairs: list[dict[str, str]], number: int, name: str, granularity: str, max_links: int
) -> None:
    body = {**pairs[number], "measure": name, "granularity": granularity, "max_links": max_links}
    answer = api.ok("/explain", body)
    total = math.fsum([*(link["contribution"] for link in answer["links"]), answer["special"], answer["omitted"]])
    assert total == pytest.approx(answer["score"], abs=1e-6)
    assert len(answer["links"]) <= max_links
    for link in answer["links"]:
        assert 0 <= link["a"] < len(answer["a"]["tokens"])
        assert 0 <= link["b"] < len(answer["b"]["tokens"])
