"""The measures on the STS benchmark, over HTTP: agreement with people, and the sum law on real sentences."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer

from models import catalogue
from models.catalogue import similarity
from models.embeddings import TokenEmbeddings
from models.encoders.transformer import Transformer
from models.protocols import Explainable
from service.served_models import read_source
from tests.integration.conftest import Api

EXPLAINABLE = [n for n in catalogue.names("models.similarities") if isinstance(similarity(n), Explainable)]


@pytest.fixture(scope="module")
def rows(data: Path) -> list[dict[str, str]]:
    with (data / "stsb" / "stsb.test.tsv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def embedded(rows: list[dict[str, str]], minilm: Transformer) -> list[tuple[TokenEmbeddings, TokenEmbeddings]]:
    """The first 1,000 pairs."""

    def encode(side: str) -> Iterator[TokenEmbeddings]:
        for start in range(0, 1000, 50):
            texts = [row[side] for row in rows[start : start + 50]]
            yield from minilm.encode(minilm.tokenize(texts, "query", "END"), "tokens")

    return list(zip(encode("sentence1"), encode("sentence2"), strict=True))


@pytest.mark.parametrize(("measure", "expected"), [("cosine", 82.05), ("rcmd", 82.75)])
def test_spearman_with_people(api: Api, rows: list[dict[str, str]], measure: str, expected: float) -> None:
    pairs = [{"a": row["sentence1"], "b": row["sentence2"]} for row in rows]
    scores = api.ok("/similarity", {"pairs": pairs, "measure": measure})["scores"]
    correlation = 100 * spearmanr(scores, [float(row["score"]) for row in rows])[0]
    print(f"STS-B test, {measure}: Spearman {correlation:.2f}")
    assert correlation == pytest.approx(expected, abs=0.1)


def test_cosines_equal_those_of_sentence_transformers(api: Api, rows: list[dict[str, str]]) -> None:
    some = rows[::7]
    oracle = SentenceTransformer(str(read_source("minilm").location), device="cpu")
    left, right = (oracle.encode([row[side] for row in some]) for side in ("sentence1", "sentence2"))
    pairs = [{"a": row["sentence1"], "b": row["sentence2"]} for row in some]
    assert api.ok("/similarity", {"pairs": pairs})["scores"] == pytest.approx(
        (left * right).sum(axis=1).tolist(), abs=1e-5
    )


@pytest.mark.parametrize("name", EXPLAINABLE)
def test_links_special_and_omitted_sum_to_the_score_on_a_thousand_pairs(
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
def test_the_sum_law_holds_in_the_json_of_any_request(
    api: Api, rows: list[dict[str, str]], number: int, name: str, granularity: str, max_links: int
) -> None:
    texts = {"a": rows[number]["sentence1"], "b": rows[number]["sentence2"]}
    body = {**texts, "measure": name, "granularity": granularity, "max_links": max_links}
    answer = api.ok("/explain", body)
    total = math.fsum([*(link["contribution"] for link in answer["links"]), answer["special"], answer["omitted"]])
    assert total == pytest.approx(answer["score"], abs=1e-6)
    assert len(answer["links"]) <= max_links
    for link in answer["links"]:
        assert 0 <= link["a"] < len(answer["a"]["tokens"])
        assert 0 <= link["b"] < len(answer["b"]["tokens"])
