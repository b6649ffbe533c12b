"""Objectives against worked numbers, losses of sentence-transformers and torch, and limits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from torch import Tensor
from torch.nn.functional import cross_entropy

from semblance_lab.training.losses.pairwise_rcmd import TokenBatch
from semblance_lab.training.objective import EncodedColumn, Objective, in_batch_cross_entropy
from semblance_lab.training.objectives.clrcmd import Clrcmd
from semblance_lab.training.objectives.cosine_regression import CosineRegression
from semblance_lab.training.objectives.multiple_negatives_ranking import MultipleNegativesRanking
from semblance_lab.training.objectives.softmax import Softmax
from semblance_lab.training.objectives.triplet import Triplet
from tests.lab.training.drawn_columns import drawn_column, one_token_texts
from tests.support.project import GOLDEN_FILES
from tests.support.rcmd_variants import dense_rcmd

CLRCMD, SBERT, TWITTER4SSE = (
    json.loads((GOLDEN_FILES / f"{name}.json").read_text()) for name in ("clrcmd_loss", "sbert", "twitter4sse_loss")
)
TRIPLETS = SBERT["triplet"]
batches, seeds = st.integers(1, 6), st.integers(0, 2**31)


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


@pytest.mark.parametrize("case", CLRCMD["cases"])
def test_the_worked_losses_of_clrcmd(case: dict[str, Any]) -> None:
    """Anchors are axes, and each candidate is a vector with the worked similarities along them."""
    similarities = torch.tensor(case["similarities"])
    rest = (1 - similarities.T.square().sum(dim=1, keepdim=True)).sqrt()
    candidates = torch.cat([similarities.T, rest], dim=1)
    columns = [one_token_texts(each) for each in (torch.eye(2, 3), candidates[:2], candidates[2:])]
    exact = similarities.double()
    for loss in (
        Clrcmd(CLRCMD["temperature"])(columns),
        in_batch_cross_entropy([exact[:, :2], exact[:, 2:]], 1 / CLRCMD["temperature"]),
    ):
        assert loss.item() == pytest.approx(case["loss"], abs=CLRCMD["tolerance"])


def worked(paper: Mapping[str, Any], *names: str) -> list[EncodedColumn]:
    """Columns of the texts of a paper, of one token each."""
    return [one_token_texts(torch.from_numpy(np.atleast_2d(np.array(paper[name], np.float32)))) for name in names]


@pytest.mark.parametrize(
    ("objective", "columns", "labels", "expected", "paper"),
    [
        (
            MultipleNegativesRanking(TWITTER4SSE["scale"]),
            worked(TWITTER4SSE, "anchors", "positives"),
            None,
            TWITTER4SSE["loss"],
            TWITTER4SSE,
        ),
        (CosineRegression(), worked(SBERT, "u", "v"), [SBERT["grade"]], SBERT["squared_error"], SBERT),
        *(
            (
                Triplet(float(margin)),
                worked(TRIPLETS, "anchor", "positive", "negative"),
                None,
                loss,
                TRIPLETS,
            )
            for margin, loss in TRIPLETS["loss_of_margin"].items()
        ),
    ],
)
def test_the_worked_losses_of_other_objectives(
    objective: Objective, columns: list[EncodedColumn], labels: list[float] | None, expected: float, paper: Any
) -> None:
    loss = objective(columns, None if labels is None else torch.tensor(labels))
    assert loss.item() == pytest.approx(expected, abs=paper["tolerance"])


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


def test_the_worked_features_logits_and_losses_of_softmax() -> None:
    objective, pair = Softmax(2, 3), worked(SBERT, "u", "v")
    objective.classifier.weight.data = torch.tensor(SBERT["weight"])
    objective.classifier.bias.data = torch.zeros(3)
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


@pytest.mark.parametrize(
    ("objective", "oracle", "columns", "graded"),
    [
        (MultipleNegativesRanking(), losses.MultipleNegativesRankingLoss(PASS_THROUGH, scale=20), (2, 4), False),
        (CosineRegression(), losses.CosineSimilarityLoss(PASS_THROUGH), (2, 2), True),
        *((Triplet(m), losses.TripletLoss(PASS_THROUGH, triplet_margin=m), (3, 3), False) for m in (0.5, 1.0, 5.0)),
    ],
)
def test_objectives_match_sentence_transformers(
    objective: Objective, oracle: torch.nn.Module, columns: tuple[int, int], graded: bool
) -> None:
    @given(seed=seeds, b=batches, count=st.integers(*columns))
    @settings(max_examples=15)
    def check(seed: int, b: int, count: int) -> None:
        drawn, grades = columns_of(seed, b, count), torch.linspace(0, 1, b) if graded else None
        assert_same(objective, by_sentence_transformers(oracle, drawn, grades), drawn, grades)

    check()
