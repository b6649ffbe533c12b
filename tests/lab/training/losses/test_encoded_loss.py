"""Loss and gradients with gradient caching equal those without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from semblance_lab.training.errors import TrainingDiverged
from semblance_lab.training.losses.encoded_loss import EncodedLoss
from semblance_lab.training.objective import EncodedColumn, Objective
from semblance_lab.training.objectives.clrcmd import Clrcmd
from semblance_lab.training.objectives.softmax import Softmax

DIM, WORDS = 8, 50


class SmallEncoder(nn.Module):
    """Token vectors from a table through dropout and one layer, and their mean."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, DIM)
        self.dropout = nn.Dropout(dropout)
        self.layer = nn.Linear(DIM, DIM)

    def forward(self, features: Mapping[str, Tensor]) -> dict[str, Tensor]:
        tokens = torch.tanh(self.layer(self.dropout(self.table(features["input_ids"]))))
        mask = features["attention_mask"][..., None]
        pooled = (tokens * mask).sum(1) / mask.sum(1)
        return {**features, "token_embeddings": tokens, "sentence_embedding": pooled}


def column(rows: int, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(WORDS, (rows, 6), generator=generator)
    lengths = torch.randint(2, 7, (rows,), generator=generator)
    return {"input_ids": ids, "attention_mask": (torch.arange(6) < lengths[:, None]).long()}


def loss_and_gradients(
    objective: Objective, mini_batch: int | None, columns: int, dropout: float = 0.0, scale: float = 1.0
) -> tuple[Tensor, dict[str, Tensor]]:
    torch.manual_seed(0)
    encoder = SmallEncoder(dropout)
    loss_of = EncodedLoss(encoder, objective, mini_batch)
    labels = torch.arange(7) % 3
    torch.manual_seed(1)
    loss = loss_of([column(7, seed) for seed in range(columns)], labels)
    (loss * scale).backward()
    return loss.detach(), {
        name: each.grad.clone() for name, each in loss_of.named_parameters() if each.grad is not None
    }


def softmax() -> Softmax:
    torch.manual_seed(2)
    return Softmax(DIM, 3)


def assert_same(found: tuple[Tensor, Mapping[str, Tensor]], expected: tuple[Tensor, Mapping[str, Tensor]]) -> None:
    torch.testing.assert_close(found[0], expected[0], rtol=1e-6, atol=1e-6)
    assert found[1].keys() == expected[1].keys()
    for name, gradient in expected[1].items():
        assert gradient.abs().max() > 0
        torch.testing.assert_close(found[1][name], gradient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mini_batch", [1, 3, 7, 100])
def test_cached_gradients_equal_those_of_one_pass(mini_batch: int) -> None:
    assert_same(loss_and_gradients(Clrcmd(), mini_batch, 3), loss_and_gradients(Clrcmd(), None, 3))
    scaled = loss_and_gradients(softmax(), None, 2, scale=0.25)
    assert_same(loss_and_gradients(softmax(), mini_batch, 2, scale=0.25), scaled)


def test_left_out_tokens_do_not_count() -> None:
    """As if the rows had never had them; a text of nothing else keeps all its tokens. 5 is a prompt."""
    special, ids = {1, 2}, torch.tensor([[1, 5, 7, 8, 2], [1, 5, 9, 2, 0], [1, 5, 2, 0, 0]])
    features = {"input_ids": ids, "attention_mask": (ids > 0).long()}
    encoder = SmallEncoder(0.0)
    seen: list[EncodedColumn] = []

    def objective(columns: Sequence[EncodedColumn], labels: Tensor | None) -> Tensor:
        del labels
        seen.extend(columns)
        return columns[0].pooled.sum()

    EncodedLoss(encoder, objective, left_out=special, prompt_tokens=2)([features], None)
    [column] = seen
    tokens = encoder(features)["token_embeddings"]
    own = [[0, 0, 1, 1, 0], [0, 0, 1, 0, 0], [1, 1, 1, 0, 0]]
    assert column.mask.int().tolist() == own
    expected = torch.stack([tokens[0, 2:4].mean(0), tokens[1, 2], tokens[2, :3].mean(0)])
    torch.testing.assert_close(column.pooled, expected)


def test_both_passes_use_the_same_dropout_mask() -> None:
    whole = loss_and_gradients(Clrcmd(), None, 3, dropout=0.5)
    assert_same(loss_and_gradients(Clrcmd(), 7, 3, dropout=0.5), whole)
    assert not torch.equal(loss_and_gradients(Clrcmd(), None, 3)[0], whole[0])


def test_gradients_are_not_cached_under_no_grad() -> None:
    with torch.no_grad():
        loss = EncodedLoss(SmallEncoder(0.0), Clrcmd(), 2)([column(4, 0), column(4, 1)], None)
    assert not loss.requires_grad


@pytest.mark.parametrize("mini_batch", [None, 2])
def test_a_loss_of_nan_is_refused(mini_batch: int | None) -> None:
    def broken(columns: Any, labels: Any) -> Tensor:
        del labels
        return torch.nan * Tensor(columns[0].tokens).sum()

    with pytest.raises(TrainingDiverged, match="the loss is nan"):
        EncodedLoss(SmallEncoder(0.0), broken, mini_batch)([column(4, 0)], None)
