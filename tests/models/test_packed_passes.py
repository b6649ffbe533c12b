"""Packed passes of networks of random weights: the same vectors as each text alone by the network's own attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    ModernBertConfig,
    ModernBertModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
)

from models import packed_passes
from models.captured_passes import MOST_TOKENS, room_for
from models.embeddings import Floats, unit_rows
from models.errors import DeviceLost, NotExportable
from models.packed_passes import PackedPasses, parts, pool
from models.runtime import Pooling
from models.text import Ints

VOCABULARY = 200
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "pad_token_id": 1,
}
LENGTHS = (7, 1, 90, 12, 3, 150, 2)


def bert() -> Any:
    return BertModel(BertConfig(**SIZES))


def roberta() -> Any:
    return RobertaModel(RobertaConfig(**SIZES, type_vocab_size=1, max_position_embeddings=160))


def distilbert() -> Any:
    return DistilBertModel(DistilBertConfig(vocab_size=VOCABULARY, dim=32, n_layers=3, n_heads=4, hidden_dim=64))


def modernbert() -> Any:
    """Two of its three layers attend to the 8 nearest tokens on either side only."""
    return ModernBertModel(ModernBertConfig(**SIZES, local_attention=16))


def with_real_spread(network: Any) -> Any:
    """Weights large enough that texts differ and attention is not nearly even, as it is where they are just drawn."""
    with torch.no_grad():
        for weights in network.parameters():
            if weights.ndim == 2:
                weights.mul_(6)
    return network.eval()


@pytest.fixture(params=[bert, roberta, distilbert, modernbert], ids=lambda make: make.__name__)
def network(request: pytest.FixtureRequest) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return with_real_spread(request.param())


def texts(lengths: Sequence[int] = LENGTHS) -> list[Ints]:
    rng = np.random.default_rng(5)
    return [rng.integers(5, VOCABULARY, n).astype(np.int32) for n in lengths]


def ones(ids: Sequence[Ints]) -> list[Floats]:
    return [np.ones(len(each), np.float32) for each in ids]


def alone(network: Any, ids: Ints) -> Floats:
    """The oracle: no padding, no mask, no positions given."""
    with torch.inference_mode():
        hidden: Floats = network(input_ids=torch.from_numpy(ids).long()[None]).last_hidden_state[0].float().numpy()
    return hidden


def test_packed_texts_have_the_vectors_that_each_has_alone(network: Any) -> None:
    ids = texts()
    expected = [alone(network, each) for each in ids]
    found = PackedPasses(network, torch.nn.Identity(), "mean").run(ids, ones(ids), "tokens")
    for vectors, pooled, oracle in zip(found.vectors, found.pooled, expected, strict=True):
        assert vectors == pytest.approx(oracle, abs=1e-5)
        assert pooled == pytest.approx(oracle.mean(axis=0), abs=1e-5)


def test_texts_are_different_so_that_this_says_something(network: Any) -> None:
    first, second = (unit_rows(alone(network, each)) for each in texts((9, 9)))
    assert (first * second).sum(axis=1).max() < 0.9


def test_the_head_comes_before_pooling_and_weights_leave_tokens_out() -> None:
    torch.manual_seed(1)
    network, head, ids = with_real_spread(bert()), torch.nn.Linear(32, 5), texts()
    weights = ones(ids)
    weights[2][:40] = 0.0
    weights[3][:] = np.linspace(0, 1, 12)
    with torch.inference_mode():
        expected = [head(torch.from_numpy(alone(network, each))).numpy() for each in ids]
    found = PackedPasses(network, head, "mean").run(ids, weights, "pooled")
    oracle = [np.average(vectors, axis=0, weights=share) for vectors, share in zip(expected, weights, strict=True)]
    assert found.pooled == pytest.approx(np.array(oracle), abs=1e-5)
    assert list(found.vectors) == []


@pytest.mark.parametrize("pooling", ["cls", "max"])
def test_other_poolings_are_what_they_say(pooling: Pooling) -> None:
    torch.manual_seed(1)
    network, ids = with_real_spread(bert()), texts()
    expected = [alone(network, each) for each in ids]
    found = PackedPasses(network, torch.nn.Identity(), pooling).run(ids, ones(ids), "pooled").pooled
    oracle = [vectors[0] if pooling == "cls" else vectors.max(axis=0) for vectors in expected]
    assert found == pytest.approx(np.array(oracle), abs=1e-5)


def test_many_passes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    runtime, ids = PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean"), texts(LENGTHS * 3)
    whole = runtime.run(ids, ones(ids), "tokens")
    passes: list[int] = []
    launch = runtime._launch

    def noting(some: Sequence[Ints], *rest: Any) -> Any:
        passes.append(len(some))
        return launch(some, *rest)

    monkeypatch.setattr(runtime, "_launch", noting)
    monkeypatch.setattr(packed_passes, "parts", lambda lengths: parts(lengths, most=200))
    split = runtime.run(ids, ones(ids), "tokens")
    assert len(passes) > 3
    assert split.pooled == pytest.approx(whole.pooled, abs=1e-5)
    for one, other in zip(split.vectors, whole.vectors, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_the_same_call_gives_the_same_bits() -> None:
    torch.manual_seed(1)
    runtime, ids = PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean"), texts()
    first, second = (runtime.run(ids, ones(ids), "tokens") for _ in range(2))
    np.testing.assert_array_equal(first.pooled, second.pooled)
    for one, other in zip(first.vectors, second.vectors, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_device_that_failed_for_good_is_said_to_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    runtime = PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean")

    def fail(*_: Any) -> None:
        raise torch.AcceleratorError("an illegal memory access was encountered")

    monkeypatch.setattr(runtime, "_forward", fail)
    with pytest.raises(DeviceLost, match="illegal memory access"):
        runtime.run(texts(), ones(texts()), "pooled")


def test_vectors_hold_no_memory_but_their_own() -> None:
    torch.manual_seed(1)
    ids = texts()
    found = PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean").run(ids, ones(ids), "tokens")
    for vectors in (found.pooled, *found.vectors):
        assert vectors.base is None
        assert vectors.dtype == np.float32


def test_bfloat16_stays_near_float32_and_near_itself_in_any_company() -> None:
    """The bounds that encoders promise, on a network as wide as the built-in one."""
    torch.manual_seed(2)
    network = BertModel(
        BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    )
    network.eval()  # type: ignore[no-untyped-call]
    ids = texts((7, 1, 90, 12, 3, 150, 2, 60))
    exact = [alone(network, each) for each in ids]
    runtime = PackedPasses(network, torch.nn.Identity(), "mean", precision="bfloat16")
    together = runtime.run(ids, ones(ids), "tokens")
    for i, oracle in enumerate(exact):
        by_itself = runtime.run(ids[i : i + 1], ones(ids[i : i + 1]), "tokens")
        assert least_cosine(by_itself.vectors[0], oracle) >= 0.999
        assert least_cosine(by_itself.vectors[0], together.vectors[i]) >= 0.9998
        assert least_cosine(by_itself.pooled, together.pooled[i : i + 1]) >= 0.9999


def test_bfloat16_keeps_norms_and_embeddings_in_float32() -> None:
    network = with_real_spread(bert())
    PackedPasses(network, torch.nn.Identity(), "mean", precision="bfloat16")
    leaves = [module for module in network.modules() if not list(module.children()) and list(module.parameters())]
    kinds = {type(module): next(module.parameters()).dtype for module in leaves}
    assert kinds == {
        torch.nn.Linear: torch.bfloat16,
        torch.nn.LayerNorm: torch.float32,
        torch.nn.Embedding: torch.float32,
    }


def test_a_network_whose_attention_cannot_be_bounded_is_refused_and_works_as_before() -> None:
    torch.manual_seed(0)
    network = with_real_spread(MPNetModel(MPNetConfig(**SIZES)))  # it adds a bias by distance
    before = alone(network, texts()[0])
    with pytest.raises(NotExportable, match="MPNetModel"):
        PackedPasses(network, torch.nn.Identity(), "mean")
    np.testing.assert_array_equal(alone(network, texts()[0]), before)


def test_a_network_that_looks_beyond_attention_is_refused() -> None:
    class Mixing(BertModel):  # type: ignore[no-untyped-call]
        """Adds to each token the one before it in the sequence."""

        def forward(self, *given: Any, **named: Any) -> Any:
            out = super().forward(*given, **named)
            out.last_hidden_state = out.last_hidden_state + out.last_hidden_state.roll(1, dims=1)
            return out

    torch.manual_seed(0)
    network = with_real_spread(Mixing(BertConfig(**SIZES)))
    before = alone(network, texts()[0])
    with pytest.raises(NotExportable, match="looks beyond"):
        PackedPasses(network, torch.nn.Identity(), "mean")
    np.testing.assert_array_equal(alone(network, texts()[0]), before)


@given(st.lists(st.integers(1, 600), min_size=1, max_size=60), st.integers(1, 2000))
def test_parts_are_all_texts_in_order_and_none_is_too_large(lengths: list[int], most: int) -> None:
    found = [lengths[part] for part in parts(lengths, most)]
    assert [each for part in found for each in part] == lengths
    assert all(len(part) == 1 or sum(part) <= most for part in found)
    assert all(sum(part) + after[0] > most for part, after in pairwise(found))


@given(st.lists(st.integers(1, 512), min_size=1, max_size=200))
def test_a_room_has_place_for_what_comes_and_wastes_a_quarter_at_most(lengths: list[int]) -> None:
    tokens, longest = sum(lengths), max(lengths)
    room = room_for(tokens, len(lengths), longest)
    assert room.tokens >= tokens
    assert room.texts >= len(lengths)
    assert room.longest >= longest
    assert room.tokens <= max(128, 1.25 * tokens)
    assert room_for(*room) == room


def test_few_rooms_serve_all_short_passes() -> None:
    longest = (1, 100, 300, 512)
    rooms = {room_for(n, max(1, n // 16), most) for n in range(1, MOST_TOKENS + 1) for most in longest}
    assert len(rooms) <= 100


def plain_mean(vectors: Floats, weights: Floats) -> Floats:
    mean: Floats = (vectors.astype(np.float64) * weights[:, None]).sum(axis=0) / max(float(weights.sum()), 1e-9)
    return mean


@pytest.mark.parametrize(
    ("pooling", "oracle"),
    [
        ("mean", plain_mean),
        ("cls", lambda vectors, _: vectors[0]),
        ("max", lambda vectors, _: vectors.max(axis=0)),
    ],
)
def test_pooling_minds_neither_empty_texts_nor_what_stands_behind_the_last(
    pooling: Pooling, oracle: Callable[[Floats, Floats], Floats]
) -> None:
    rng = np.random.default_rng(0)
    vectors, weights = rng.normal(size=(20, 4)).astype(np.float32), rng.random(20).astype(np.float32)
    vectors[14:] = np.nan
    offsets = np.array([0, 5, 6, 14, 14, 14], np.int32)
    found = pool(torch.from_numpy(vectors), torch.from_numpy(weights), torch.from_numpy(offsets), pooling).numpy()
    for row, start, end in zip(found, (0, 5, 6), (5, 6, 14), strict=False):
        assert row == pytest.approx(oracle(vectors[start:end], weights[start:end]), abs=1e-6)


def least_cosine(x: Floats, y: Floats) -> float:
    return float((unit_rows(x) * unit_rows(y)).sum(axis=1).min())
