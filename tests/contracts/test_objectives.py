"""The laws of every training objective, over whatever the catalogue holds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from semblance.models import catalogue
from semblance.models.training.objective import Encoded, Objective
from semblance.models.training.objectives.clrcmd import Clrcmd
from semblance.models.training.objectives.cosine_regression import CosineRegression
from semblance.models.training.objectives.multiple_negatives_ranking import MultipleNegativesRanking
from semblance.models.training.objectives.softmax import Softmax
from semblance.models.training.objectives.triplet import Triplet
from tests.models.training.columns import drawn_column
from tests.support.project import PROJECT

B, TOKENS, DIM = 6, 5, 8
OBJECTIVES = catalogue.names("semblance.models.training.objectives")
BIBLIOGRAPHY = PROJECT / "references.bib"

every_objective = pytest.mark.parametrize("name", OBJECTIVES)


@dataclass(frozen=True, slots=True)
class Fed:
    """How an objective is made, and what it wants of a batch."""

    make: Callable[[], Objective]
    columns: int
    labels: Tensor | None = None


GRADES = torch.linspace(0, 1, B)
FED: Mapping[str, Fed] = {  # a new objective is tested once it says here what it wants
    "clrcmd": Fed(lambda: Clrcmd(pooled_weight=0.5), 3),
    "cosine_regression": Fed(CosineRegression, 2, GRADES),
    "multiple_negatives_ranking": Fed(MultipleNegativesRanking, 3),
    "softmax": Fed(lambda: seeded(lambda: Softmax(DIM, 3)), 2, torch.arange(B) % 3),
    "triplet": Fed(Triplet, 3),
}


def seeded(make: Callable[[], Objective]) -> Objective:
    """The same first parameters every time."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make()


def drawn_columns(count: int) -> list[Encoded]:
    return [drawn_column(seed, B, TOKENS, DIM) for seed in range(count)]


def changed(columns: Sequence[Encoded], change: Callable[[Tensor], Tensor]) -> list[Encoded]:
    return [Encoded(change(each.tokens), change(each.mask), change(each.pooled)) for each in columns]


@every_objective
def test_the_loss_is_a_float32_scalar_that_is_not_negative(name: str) -> None:
    loss = FED[name].make()(drawn_columns(FED[name].columns), FED[name].labels)
    assert loss.shape == ()
    assert loss.dtype == torch.float32
    assert loss.isfinite()
    assert loss >= 0


@every_objective
def test_every_column_has_a_gradient(name: str) -> None:
    columns = drawn_columns(FED[name].columns)
    loss = FED[name].make()(columns, FED[name].labels)
    for gradient in torch.autograd.grad(loss, [column.tokens for column in columns]):
        assert gradient.isfinite().all()
        assert gradient.any()


@every_objective
def test_the_order_of_the_rows_does_not_matter(name: str) -> None:
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    fed, columns = FED[name], drawn_columns(FED[name].columns)
    labels = None if fed.labels is None else fed.labels[order]
    loss = fed.make()(changed(columns, lambda each: each[order]), labels)
    torch.testing.assert_close(loss, fed.make()(columns, fed.labels))


@every_objective
def test_padding_does_not_matter(name: str) -> None:
    columns = drawn_columns(FED[name].columns)
    longer = [
        Encoded(pad(each.tokens, (0, 0, 0, more), value=9.0), pad(each.mask, (0, more)), each.pooled)
        for more, each in enumerate(columns)
    ]
    loss = FED[name].make()(longer, FED[name].labels)
    torch.testing.assert_close(loss, FED[name].make()(columns, FED[name].labels))


@every_objective
def test_a_step_against_the_gradient_lowers_the_loss(name: str) -> None:
    columns, objective, labels = drawn_columns(FED[name].columns), FED[name].make(), FED[name].labels
    loss = objective(columns, labels)
    slopes = torch.autograd.grad(loss, [each for column in columns for each in (column.tokens, column.pooled)])
    moved = [
        Encoded(column.tokens - 1e-3 * by_tokens, column.mask, column.pooled - 1e-3 * by_pooled)
        for column, by_tokens, by_pooled in zip(columns, slopes[::2], slopes[1::2], strict=True)
    ]
    assert objective(moved, labels) < loss


@every_objective
def test_autocast_changes_nothing(name: str) -> None:
    columns, objective = drawn_columns(FED[name].columns), FED[name].make()
    with torch.autocast("cpu", torch.bfloat16):
        loss = objective(columns, FED[name].labels)
    torch.testing.assert_close(loss, objective(columns, FED[name].labels))


@every_objective
def test_vectors_of_low_precision_are_widened_first(name: str) -> None:
    columns, objective = drawn_columns(FED[name].columns), FED[name].make()
    low = [Encoded(each.tokens.bfloat16(), each.mask, each.pooled.bfloat16()) for each in columns]
    same = [Encoded(each.tokens.float(), each.mask, each.pooled.float()) for each in low]
    torch.testing.assert_close(objective(low, FED[name].labels), objective(same, FED[name].labels))


@every_objective
def test_a_single_column_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="values to unpack"):
        FED[name].make()(drawn_columns(1), FED[name].labels)


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if FED[name].labels is not None])
def test_missing_labels_are_named(name: str) -> None:
    with pytest.raises(ValueError, match="needs a label a row"):
        FED[name].make()(drawn_columns(2), None)


@every_objective
def test_a_docstring_shows_formula_example_when_to_take_it_and_a_source_that_is_in_the_bibliography(name: str) -> None:
    text = inspect.getdoc(catalogue.find("semblance.models.training.objectives", name)) or ""
    paragraphs = text.split("\n\n")
    assert "::" in text
    assert ">>>" in text
    for opening in ("Columns:", "Prefer "):
        assert sum(paragraph.startswith(opening) for paragraph in paragraphs) == 1, opening
    key = re.findall(r"^Source: ([\w-]+)", text, re.MULTILINE)[0]
    assert re.search(rf"^@\w+{{{re.escape(key)},", BIBLIOGRAPHY.read_text(), re.MULTILINE), (
        f"{key} is not in references.bib"
    )
