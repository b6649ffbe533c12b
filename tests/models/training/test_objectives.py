"""Objectives against worked numbers, losses of sentence-transformers and torch, and limits."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from semblance.models.training.losses.pairwise_rcmd import TokenBatch
from semblance.models.training.objective import EncodedColumn, Objective, in_batch_cross_entropy
from semblance.models.training.objectives.clrcmd import Clrcmd
from semblance.models.training.objectives.cosine_regression import CosineRegression
from semblance.models.training.objectives.multiple_negatives_ranking import MultipleNegativesRanking
from semblance.models.training.objectives.softmax import Softmax
from semblance.models.training.objectives.triplet import Triplet
from tests.models.training.drawn_columns import drawn_column, one_token_texts
from tests.support.project import GOLDEN_FILES
from tests.support.rcmd_variants import dense_rcmd

GOLDEN = GOLDEN_FILES
CLRCMD, SBERT, TWITTER4SSE = (
    json.loads((GOLDEN / f"{name}.json").read_text()) for name in ("clrcmd_loss", "sbert", "twitter4sse_loss")
)

batches = st.integers(1, 6)
seeds = st.integers(0, 2**31)


class PassThrough(torch.nn.Module):
    """A network of sentence-transformers that returns its features as embeddings."""

    def forward(self, features: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        return features


PASS_THROUGH = SentenceTransformer(modules=[PassThrough()], device="cpu")


def by_sentence_transformers(
    loss: torch.nn.Module, columns: Sequence[EncodedColumn], labels: Tensor | None = None
) -> Tensor:
    found: Tensor = loss([{"sentence_embedding": column.pooled} for column in columns], labels)
    return found


def assert_same(
    objective: Objective, oracle: Tensor, columns: Sequence[EncodedColumn], labels: Tensor | None = None
) -> None:
    """Compare the values, and the gradients by the tokens of every column."""
    tokens = [column.tokens for column in columns]
    loss = objective(columns, labels)
    torch.testing.assert_close(loss, oracle, atol=1e-5, rtol=1e-5)
    for found, expected in zip(
        torch.autograd.grad(loss, tokens, retain_graph=True),
        torch.autograd.grad(oracle, tokens, retain_graph=True),
        strict=True,
    ):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def columns_of(seed: int, b: int, count: int) -> list[EncodedColumn]:
    return [drawn_column(seed + n, b, 4, 6) for n in range(count)]


# clrcmd


@pytest.mark.parametrize("case", CLRCMD["cases"])
def test_the_worked_losses_of_clrcmd(case: dict[str, Any]) -> None:
    """Anchors are axes, and each candidate is a vector with the worked similarities along them."""
    similarities = torch.tensor(case["similarities"])
    anchors = one_token_texts(torch.eye(2, 3))
    rest = (1 - similarities.T.square().sum(dim=1, keepdim=True)).sqrt()
    assert rest.isfinite().all()
    candidates = torch.cat([similarities.T, rest], dim=1)
    positives, negatives = one_token_texts(candidates[:2]), one_token_texts(candidates[2:])
    loss = Clrcmd(CLRCMD["temperature"])([anchors, positives, negatives])
    assert loss.item() == pytest.approx(case["loss"], abs=CLRCMD["tolerance"])


@pytest.mark.parametrize("case", CLRCMD["cases"])
def test_the_worked_rows_of_clrcmd(case: dict[str, Any]) -> None:
    similarities = torch.tensor(case["similarities"], dtype=torch.float64)
    assert sum(case["rows"]) / 2 == pytest.approx(case["loss"], abs=CLRCMD["tolerance"])
    loss = in_batch_cross_entropy([similarities[:, :2], similarities[:, 2:]], 1 / CLRCMD["temperature"])
    assert loss.item() == pytest.approx(case["loss"], abs=CLRCMD["tolerance"])


@given(seed=seeds, b=batches, count=st.integers(2, 4))
@settings(max_examples=20)
def test_clrcmd_is_the_cross_entropy_over_dense_rcmd(seed: int, b: int, count: int) -> None:
    columns = columns_of(seed, b, count)
    anchor, *candidates = (TokenBatch(column.tokens, column.mask) for column in columns)
    logits = torch.cat([dense_rcmd(anchor, each) for each in candidates], dim=1) / 0.05
    assert_same(Clrcmd(), cross_entropy(logits, torch.arange(b)), columns)


def test_the_pooled_weight_adds_the_loss_over_cosines() -> None:
    columns = columns_of(5, 4, 3)
    alone = Clrcmd(temperature=0.1)(columns)
    pooled = by_sentence_transformers(losses.MultipleNegativesRankingLoss(PASS_THROUGH, scale=10), columns)
    assert_same(Clrcmd(temperature=0.1, pooled_weight=0.25), alone + 0.25 * pooled, columns)


@given(seed=seeds, b=batches)
@settings(max_examples=10)
def test_clrcmd_of_one_repeated_text_is_log_2b(seed: int, b: int) -> None:
    one = drawn_column(seed, 1, 4, 6)
    same = EncodedColumn(one.tokens.expand(b, -1, -1), one.mask.expand(b, -1), one.pooled.expand(b, -1))
    assert Clrcmd()([same] * 3).item() == pytest.approx(math.log(2 * b), abs=1e-5)
    assert Clrcmd(pooled_weight=1.0)([same] * 3).item() == pytest.approx(2 * math.log(2 * b), abs=1e-5)


@given(seed=seeds, b=batches, constant=st.floats(-3, 3))
@settings(max_examples=20)
def test_the_loss_is_invariant_to_constants(seed: int, b: int, constant: float) -> None:
    scores = torch.rand(b, 2 * b, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    torch.testing.assert_close(in_batch_cross_entropy([scores + constant], 20), in_batch_cross_entropy([scores], 20))


# multiple negatives ranking


def test_the_worked_loss_of_twitter4sse() -> None:
    a, p = (torch.tensor(TWITTER4SSE[name], dtype=torch.float32) for name in ("anchors", "positives"))
    tolerance = TWITTER4SSE["tolerance"]
    cosines = normalize(a) @ normalize(p).T
    torch.testing.assert_close(cosines, torch.tensor(TWITTER4SSE["cosines"]), atol=tolerance, rtol=0)
    rows = cross_entropy(TWITTER4SSE["scale"] * cosines, torch.arange(3), reduction="none")
    torch.testing.assert_close(rows, torch.tensor(TWITTER4SSE["rows"]), atol=tolerance, rtol=0)
    loss = MultipleNegativesRanking(TWITTER4SSE["scale"])([one_token_texts(a), one_token_texts(p)])
    assert loss.item() == pytest.approx(TWITTER4SSE["loss"], abs=tolerance)


@given(seed=seeds, b=batches, count=st.integers(2, 4))
@settings(max_examples=20)
def test_multiple_negatives_ranking_matches_sentence_transformers(seed: int, b: int, count: int) -> None:
    columns = columns_of(seed, b, count)
    oracle = by_sentence_transformers(losses.MultipleNegativesRankingLoss(PASS_THROUGH, scale=20), columns)
    assert_same(MultipleNegativesRanking(), oracle, columns)


@given(b=st.integers(1, 9))
@settings(max_examples=9)
def test_the_limits_of_multiple_negatives_ranking(b: int) -> None:
    """Equal texts: log b. Positives equal anchors, others orthogonal: log(1 + (b - 1) exp(-20))."""
    same, apart = one_token_texts(torch.ones(b, 9)), one_token_texts(torch.eye(b, 9))
    objective = MultipleNegativesRanking()
    assert objective([same, same]).item() == pytest.approx(math.log(b), abs=1e-6)
    exact = math.log1p((b - 1) * math.exp(-20))
    assert objective([apart, apart]).item() == pytest.approx(exact, abs=1e-6)
    wide = in_batch_cross_entropy([torch.eye(b, dtype=torch.float64)], 20).item()
    assert wide == pytest.approx(exact, rel=1e-6)


# softmax


def worked_softmax() -> tuple[Softmax, list[EncodedColumn]]:
    objective = Softmax(2, 3)
    objective.classifier.weight.data = torch.tensor(SBERT["weight"])
    objective.classifier.bias.data = torch.zeros(3)
    return objective, [one_token_texts(torch.tensor([SBERT[name]], dtype=torch.float32)) for name in ("u", "v")]


def test_the_worked_features_logits_and_losses_of_softmax() -> None:
    objective, pair = worked_softmax()
    assert objective.features(pair)[0].tolist() == SBERT["features"]
    logits = objective.classifier(objective.features(pair))[0].tolist()
    assert logits == pytest.approx(SBERT["logits"], abs=SBERT["tolerance"])
    for label, expected in enumerate(SBERT["cross_entropy_of_labels"]):
        assert objective(pair, torch.tensor([label])).item() == pytest.approx(expected, abs=SBERT["tolerance"])


@given(seed=seeds, b=batches, k=st.integers(2, 5))
@settings(max_examples=20)
def test_softmax_matches_sentence_transformers(seed: int, b: int, k: int) -> None:
    columns, labels = columns_of(seed, b, 2), torch.arange(b) % k
    objective, oracle = Softmax(6, k), losses.SoftmaxLoss(PASS_THROUGH, 6, k)
    oracle.classifier.load_state_dict(objective.classifier.state_dict())
    expected = by_sentence_transformers(oracle, columns, labels)
    assert_same(objective, expected, columns, labels)
    for found, parameter in zip(
        torch.autograd.grad(objective(columns, labels), list(objective.parameters())),
        torch.autograd.grad(expected, list(oracle.parameters())),
        strict=True,
    ):
        torch.testing.assert_close(found, parameter)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_softmax_without_weights_is_log_k(k: int) -> None:
    objective = Softmax(6, k)
    for parameter in objective.parameters():
        torch.nn.init.zeros_(parameter)
    assert objective(columns_of(0, 5, 2), torch.arange(5) % k).item() == pytest.approx(math.log(k), abs=1e-6)


def test_swapping_columns_keeps_the_difference_but_not_the_loss() -> None:
    objective, (u, v) = worked_softmax()
    assert objective.features([u, v])[:, 4:].equal(objective.features([v, u])[:, 4:])
    label = torch.tensor([0])
    assert objective([u, v], label).item() != pytest.approx(objective([v, u], label).item(), abs=1e-3)


# cosine regression


def test_the_worked_squared_error() -> None:
    _, (u, v) = worked_softmax()
    loss = CosineRegression()([u, v], torch.tensor([SBERT["grade"]]))
    assert loss.item() == pytest.approx(SBERT["squared_error"], abs=SBERT["tolerance"])
    assert math.sqrt(loss.item()) == pytest.approx(SBERT["grade"] - SBERT["cosine"], abs=1e-5)


@given(seed=seeds, b=batches)
@settings(max_examples=20)
def test_cosine_regression_matches_sentence_transformers(seed: int, b: int) -> None:
    columns, grades = columns_of(seed, b, 2), torch.linspace(0, 1, b)
    oracle = by_sentence_transformers(losses.CosineSimilarityLoss(PASS_THROUGH), columns, grades)
    assert_same(CosineRegression(), oracle, columns, grades)


@given(seed=seeds, b=batches, grade=st.floats(-1, 1))
@settings(max_examples=20)
def test_the_limits_of_cosine_regression(seed: int, b: int, grade: float) -> None:
    """Equal texts: (1 - g)^2, opposite ones (1 + g)^2, at most 4; 0 if the cosine is the grade."""
    text = drawn_column(seed, b, 4, 6)
    opposite = EncodedColumn(-text.tokens, text.mask, -text.pooled)
    grades = torch.full((b,), grade)
    assert CosineRegression()([text, text], grades).item() == pytest.approx((1 - grade) ** 2, abs=1e-5)
    assert CosineRegression()([text, opposite], grades).item() == pytest.approx((1 + grade) ** 2, abs=1e-5)
    assert CosineRegression()([text, text], torch.ones(b)).item() == pytest.approx(0, abs=1e-10)


# triplet


@pytest.mark.parametrize(("margin", "expected"), SBERT["triplet"]["loss_of_margin"].items())
def test_the_worked_triplets(margin: str, expected: float) -> None:
    names = ("anchor", "positive", "negative")
    columns = [one_token_texts(torch.tensor([SBERT["triplet"][name]], dtype=torch.float32)) for name in names]
    loss = Triplet(float(margin))(columns)
    assert loss.item() == pytest.approx(expected, abs=SBERT["triplet"]["tolerance"])


@given(seed=seeds, b=batches, margin=st.sampled_from([0.5, 1.0, 5.0]))
@settings(max_examples=20)
def test_triplet_matches_sentence_transformers(seed: int, b: int, margin: float) -> None:
    columns = columns_of(seed, b, 3)
    oracle = by_sentence_transformers(losses.TripletLoss(PASS_THROUGH, triplet_margin=margin), columns)
    assert_same(Triplet(margin), oracle, columns)


@given(seed=seeds, b=batches, margin=st.floats(0.1, 5))
@settings(max_examples=20)
def test_the_limits_of_triplet(seed: int, b: int, margin: float) -> None:
    """Negative equals positive: the margin. Negative farther by the margin: 0."""
    anchor, positive = columns_of(seed, b, 2)
    assert Triplet(margin)([anchor, positive, positive]).item() == pytest.approx(margin, abs=1e-5)
    away = one_token_texts(anchor.pooled + 100 * torch.eye(6)[0])
    assert Triplet(margin)([anchor, anchor, away]).item() == 0
