"""Measures on the STS benchmark over HTTP: correlation with grades, and the sum law."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from semblance.models import catalogue
from semblance.models.evaluation.tasks import GradedPairs
from semblance.service.cli.evaluate.data_sets import read_task
from tests.integration.conftest import Api

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


@pytest.mark.parametrize(("measure", "expected"), [("cosine", 82.05), ("rcmd", 82.75)])
def test_spearman_on_the_sts_benchmark(
    api: Api, stsb: GradedPairs, pairs: list[dict[str, str]], measure: str, expected: float
) -> None:
    scores = api.ok("/similarity", {"pairs": pairs, "measure": measure, "model": "minilm"})["scores"]
    correlation = 100 * spearmanr(scores, stsb.gold)[0]
    print(f"STS-B test, {measure}: Spearman {correlation:.2f}")
    assert correlation == pytest.approx(expected, abs=0.1)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
