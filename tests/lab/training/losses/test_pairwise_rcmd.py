"""Pairwise RCMD: its laws, with the plain forms and the served measure as oracles."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from semblance.models.measures.rcmd import Rcmd
from semblance_lab.training.losses import pairwise_rcmd as module
from semblance_lab.training.losses.pairwise_rcmd import TokenBatch, pairwise_rcmd
from tests.lab.training.drawn_columns import drawn_batch
from tests.support.project import GOLDEN_FILES
from tests.support.rcmd_variants import VARIANTS, dense_rcmd
from tests.support.token_matrices import embeddings_of

GOLDEN = json.loads((GOLDEN_FILES / "clrcmd.json").read_text())

sizes = st.integers(1, 6)
some_texts = st.builds(drawn_batch, st.integers(0, 2**31), sizes, sizes, st.just(5))


@pytest.fixture(params=[1, 4 * 36 * 4, module.TILE_BYTES], ids=["a pair", "two by two", "all"])
def tile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test with tiles of several sizes."""
    monkeypatch.setattr(module, "TILE_BYTES", request.param)


def value_and_gradients(
    form: Callable[[TokenBatch, TokenBatch], Tensor], x: TokenBatch, y: TokenBatch
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores of a form, and the gradients of a weighted sum with a weight per pair."""
    scores = form(x, y)
    weights = torch.linspace(-1, 2, scores.numel()).view_as(scores)
    by_x, by_y = torch.autograd.grad((weights * scores).sum(), (x.vectors, y.vectors))
    return scores.detach(), by_x, by_y


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("form", ["matmul dense", "broadcast dense", "gathered"])
def test_value_and_gradient_match_every_plain_form(form: str) -> None:
    @settings(max_examples=15)
    @given(x=some_texts, y=some_texts)
    def check(x: TokenBatch, y: TokenBatch) -> None:
        for found, expected in zip(
            value_and_gradients(pairwise_rcmd, x, y), value_and_gradients(VARIANTS[form], x, y), strict=True
        ):
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)

    check()


@pytest.mark.usefixtures("tile")
def test_scores_match_the_served_measure() -> None:
    x, y = drawn_batch(1, 5, 6, 4), drawn_batch(2, 7, 3, 4)
    scores = pairwise_rcmd(x, y)
    for i in range(5):
        for j in range(7):
            a, b = (embeddings_of(batch.vectors[n][batch.mask[n]].detach().numpy()) for batch, n in ((x, i), (y, j)))
            assert scores[i, j].item() == pytest.approx(Rcmd().score(a, b), abs=1e-5)


def test_the_worked_score_with_and_without_the_masked_row() -> None:
    rows = torch.tensor([[*GOLDEN["x"], GOLDEN["masked_row"]]], dtype=torch.float32)
    y = TokenBatch(torch.tensor([GOLDEN["y"]], dtype=torch.float32), torch.ones(1, 2, dtype=torch.bool))
    for real, expected in ((False, GOLDEN["rcmd"]), (True, GOLDEN["rcmd_if_the_masked_row_counted"])):
        score = pairwise_rcmd(TokenBatch(rows, torch.tensor([[True, True, True, real]])), y)
        assert score.item() == pytest.approx(expected, abs=GOLDEN["tolerance"])


def test_only_the_first_of_equal_matches_has_a_gradient() -> None:
    x = TokenBatch(torch.tensor([[[1.0, 1.0]]]), torch.tensor([[True]]))
    y = TokenBatch(torch.tensor([[[2.0, 0.0], [2.0, 0.0]]], requires_grad=True), torch.tensor([[True, True]]))
    pairwise_rcmd(x, y).backward()  # type: ignore[no-untyped-call]
    # half of the row's match, all with the first token; a quarter of each column's, which both have
    slope = 1 / (2 * 2**0.5)  # of the cosine along the second coordinate
    assert y.vectors.grad is not None
    torch.testing.assert_close(y.vectors.grad, torch.tensor([[[0.0, 0.75 * slope], [0.0, 0.25 * slope]]]))


def test_a_zero_vector_has_cosine_zero_and_a_finite_gradient() -> None:
    x = TokenBatch(torch.zeros(1, 1, 3, requires_grad=True), torch.tensor([[True]]))
    scores, by_x, _ = value_and_gradients(pairwise_rcmd, x, drawn_batch(0, 2, 3, 3))
    assert not scores.any()
    assert by_x.isfinite().all()


def test_a_text_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="no token"):
        TokenBatch(torch.ones(2, 2, 3), torch.tensor([[True, False], [False, False]]))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_scores_and_products_are_float32_under_autocast(dtype: torch.dtype) -> None:
    """Vectors are in low precision, and the backward pass may run under autocast too."""
    x, y = drawn_batch(5, 4, 6, 64), drawn_batch(6, 3, 5, 64)
    low = [TokenBatch(each.vectors.detach().to(dtype).requires_grad_(), each.mask) for each in (x, y)]
    exact = [TokenBatch(each.vectors.detach().float().requires_grad_(), each.mask) for each in low]
    expected = value_and_gradients(dense_rcmd, *exact)
    with torch.autocast("cpu", dtype):
        found = value_and_gradients(pairwise_rcmd, *low)
    assert found[0].dtype == torch.float32
    torch.testing.assert_close(found[0], expected[0])
    for gradient, by in zip(found[1:], expected[1:], strict=True):
        assert gradient.dtype == dtype  # that of the vectors, to which the float32 gradient is rounded once
        torch.testing.assert_close(gradient.float(), by, atol=1e-5, rtol=2 * torch.finfo(dtype).eps)


def saved_bytes(form: Callable[[TokenBatch, TokenBatch], Tensor], x: TokenBatch, y: TokenBatch) -> tuple[int, int]:
    """Bytes that a form saves for its backward pass, and the size of the largest tensor."""
    tensors: dict[int, Tensor] = {}

    def save(tensor: Tensor) -> Tensor:
        tensors[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(save, lambda tensor: tensor):
        form(x, y)
    return sum(each.untyped_storage().nbytes() for each in tensors.values()), max(map(Tensor.numel, tensors.values()))


def test_saved_memory_is_small_integers_and_the_vectors() -> None:
    b, tokens, d = 64, 32, 48
    x, y = drawn_batch(7, b, tokens, d), drawn_batch(8, 2 * b, tokens, d)
    saved, largest = saved_bytes(pairwise_rcmd, x, y)
    dense, _ = saved_bytes(dense_rcmd, x, y)
    assert largest <= 2 * b * b * tokens  # the indices of one side's best matches: b1 b2 l
    assert 3 * saved <= dense
    small_integers = 2 * (2 * b * b * tokens) * 2
    vectors = sum(batch.vectors.nbytes for batch in (x, y))
    assert saved <= small_integers + 2 * vectors + vectors // 8  # vectors, unit vectors; lengths and masks
