"""The laws of every training objective in the catalogue."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from semblance.models import catalogue
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.protocols import Encoder
from semblance_lab.training.objective import EncodedColumn, Objective
from semblance_lab.training.objectives.clrcmd import Clrcmd
from semblance_lab.training.objectives.cosine_regression import CosineRegression
from semblance_lab.training.objectives.distillation import Distillation
from semblance_lab.training.objectives.multiple_negatives_ranking import MultipleNegativesRanking
from semblance_lab.training.objectives.softmax import Softmax
from semblance_lab.training.objectives.triplet import Triplet
from tests.lab.training.drawn_columns import drawn_column
from tests.support.project import PROJECT
from tests.support.token_matrices import embeddings_of

B, TOKENS, DIM = 6, 5, 8
OBJECTIVES = catalogue.names("semblance_lab.training.objectives")
BIBLIOGRAPHY = PROJECT / "references.bib"

every_objective = pytest.mark.parametrize("name", OBJECTIVES)


@dataclass(frozen=True, slots=True)
class Case:
    """How to create an objective, and the batch it takes."""

    create: Callable[[], Objective]
    columns: int
    labels: Tensor | None = None


class Teacher:
    """Random vectors of each letter."""

    def tokenize(self, texts: Sequence[str], role: str, truncate: str) -> Sequence[str]:
        del role, truncate
        return texts

    def encode(self, texts: Sequence[str], want: str) -> list[TokenEmbeddings]:
        del want
        return [
            embeddings_of(np.random.default_rng(ord(text)).normal(size=(3, DIM)).astype(np.float32)) for text in texts
        ]


GRADES = torch.linspace(0, 1, B)
CASES: Mapping[str, Case] = {  # a new objective needs an entry here
    "clrcmd": Case(lambda: Clrcmd(pooled_weight=0.5), 3),
    "cosine_regression": Case(CosineRegression, 2, GRADES),
    "distillation": Case(lambda: Distillation([cast("Encoder", Teacher())], "abcdef"), 2, torch.arange(B)),
    "multiple_negatives_ranking": Case(MultipleNegativesRanking, 3),
    "softmax": Case(lambda: seeded(lambda: Softmax(DIM, 3)), 2, torch.arange(B) % 3),
    "triplet": Case(Triplet, 3),
}


def seeded(create: Callable[[], Objective]) -> Objective:
    """Create an objective with the same initial parameters every time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return create()


def drawn_columns(count: int) -> list[EncodedColumn]:
    return [drawn_column(seed, B, TOKENS, DIM) for seed in range(count)]


def changed(columns: Sequence[EncodedColumn], change: Callable[[Tensor], Tensor]) -> list[EncodedColumn]:
    return [EncodedColumn(change(each.tokens), change(each.mask), change(each.pooled)) for each in columns]


@every_objective
def test_the_loss_is_a_nonnegative_scalar_with_gradients(name: str) -> None:
    columns = drawn_columns(CASES[name].columns)
    loss = CASES[name].create()(columns, CASES[name].labels)
    assert (loss.shape, loss.dtype) == ((), torch.float32)
    assert loss.isfinite()
    assert loss >= 0
    for gradient in torch.autograd.grad(loss, [column.tokens for column in columns]):
        assert gradient.isfinite().all()
        assert gradient.any()


@every_objective
def test_the_order_of_the_rows_does_not_matter(name: str) -> None:
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    case, columns = CASES[name], drawn_columns(CASES[name].columns)
    labels = None if case.labels is None else case.labels[order]
    loss = case.create()(changed(columns, lambda each: each[order]), labels)
    torch.testing.assert_close(loss, case.create()(columns, case.labels))


@every_objective
def test_padding_does_not_matter(name: str) -> None:
    columns = drawn_columns(CASES[name].columns)
    longer = [
        EncodedColumn(pad(each.tokens, (0, 0, 0, more), value=9.0), pad(each.mask, (0, more)), each.pooled)
        for more, each in enumerate(columns)
    ]
    loss = CASES[name].create()(longer, CASES[name].labels)
    torch.testing.assert_close(loss, CASES[name].create()(columns, CASES[name].labels))


@every_objective
def test_a_step_against_the_gradient_lowers_the_loss(name: str) -> None:
    columns, objective, labels = drawn_columns(CASES[name].columns), CASES[name].create(), CASES[name].labels
    loss = objective(columns, labels)
    slopes = torch.autograd.grad(loss, [each for column in columns for each in (column.tokens, column.pooled)])
    moved = [
        EncodedColumn(column.tokens - 1e-3 * by_tokens, column.mask, column.pooled - 1e-3 * by_pooled)
        for column, by_tokens, by_pooled in zip(columns, slopes[::2], slopes[1::2], strict=True)
    ]
    assert objective(moved, labels) < loss


@every_objective
def test_autocast_changes_nothing(name: str) -> None:
    columns, objective = drawn_columns(CASES[name].columns), CASES[name].create()
    with torch.autocast("cpu", torch.bfloat16):
        loss = objective(columns, CASES[name].labels)
    torch.testing.assert_close(loss, objective(columns, CASES[name].labels))


@every_objective
def test_vectors_of_low_precision_are_widened_first(name: str) -> None:
    columns, objective = drawn_columns(CASES[name].columns), CASES[name].create()
    low = [EncodedColumn(each.tokens.bfloat16(), each.mask, each.pooled.bfloat16()) for each in columns]
    same = [EncodedColumn(each.tokens.float(), each.mask, each.pooled.float()) for each in low]
    torch.testing.assert_close(objective(low, CASES[name].labels), objective(same, CASES[name].labels))


@every_objective
def test_missing_columns_and_labels_are_refused(name: str) -> None:
    if name != "distillation":  # a translation is optional
        with pytest.raises(ValueError, match="values to unpack"):
            CASES[name].create()(drawn_columns(1), CASES[name].labels)
    if CASES[name].labels is not None:
        with pytest.raises(ValueError, match="needs one label per row"):
            CASES[name].create()(drawn_columns(2), None)


@every_objective
def test_the_docstring_has_formula_example_advice_and_source(name: str) -> None:
    text = inspect.getdoc(catalogue.find("semblance_lab.training.objectives", name)) or ""
    paragraphs = text.split("\n\n")
    assert "::" in text
    assert ">>>" in text
    for opening in ("Columns:", "Prefer "):
        assert sum(paragraph.startswith(opening) for paragraph in paragraphs) == 1, opening
    key = re.findall(r"^Source: ([\w-]+)", text, re.MULTILINE)[0]
    assert re.search(rf"^@\w+{{{re.escape(key)},", BIBLIOGRAPHY.read_text(), re.MULTILINE), (
        f"{key} is not in references.bib"
    )
