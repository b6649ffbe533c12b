"""Packed passes of networks of random weights: the same vectors as each text alone by the network's own attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import varlen
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

from semblance.models.embeddings import Floats, unit_rows
from semblance.models.errors import DeviceLost, NotExportable
from semblance.models.networks import device_errors, packed_attention, packed_batches
from semblance.models.networks.cuda_graphs import MOST_TOKENS, Passed, Room, room_for
from semblance.models.networks.packed_batches import PackedPasses, pool
from semblance.models.runtime import Pooling, Precision
from semblance.models.text import Ints
from tests.support.devices import DEVICES

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
NEAR = {"cpu": 1e-5, "cuda": 1e-4}  # products of another machine, added up in another order


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


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


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


def test_packed_texts_have_the_vectors_that_each_has_alone(network: Any, device: str) -> None:
    ids = texts()
    expected = [alone(network, each) for each in ids]
    found = PackedPasses(network, torch.nn.Identity(), "mean", device).run(ids, ones(ids), "tokens")
    for vectors, pooled, oracle in zip(found.vectors, found.pooled, expected, strict=True):
        assert vectors == pytest.approx(oracle, abs=NEAR[device])
        assert pooled == pytest.approx(oracle.mean(axis=0), abs=NEAR[device])


def test_texts_are_different_so_that_this_says_something(network: Any) -> None:
    first, second = (unit_rows(alone(network, each)) for each in texts((9, 9)))
    assert (first * second).sum(axis=1).max() < 0.9


def test_the_head_comes_before_pooling_and_weights_leave_tokens_out(device: str) -> None:
    torch.manual_seed(1)
    network, head, ids = with_real_spread(bert()), torch.nn.Linear(32, 5), texts()
    weights = ones(ids)
    weights[2][:40] = 0.0
    weights[3][:] = np.linspace(0, 1, 12)
    with torch.inference_mode():
        expected = [head(torch.from_numpy(alone(network, each))).numpy() for each in ids]
    found = PackedPasses(network, head, "mean", device).run(ids, weights, "pooled")
    oracle = [np.average(vectors, axis=0, weights=share) for vectors, share in zip(expected, weights, strict=True)]
    assert found.pooled == pytest.approx(np.array(oracle), abs=NEAR[device])
    assert list(found.vectors) == []


@pytest.mark.parametrize("pooling", ["cls", "max"])
def test_other_poolings_are_what_they_say(pooling: Pooling, device: str) -> None:
    torch.manual_seed(1)
    network, ids = with_real_spread(bert()), texts()
    expected = [alone(network, each) for each in ids]
    found = PackedPasses(network, torch.nn.Identity(), pooling, device).run(ids, ones(ids), "pooled").pooled
    oracle = [vectors[0] if pooling == "cls" else vectors.max(axis=0) for vectors in expected]
    assert found == pytest.approx(np.array(oracle), abs=NEAR[device])


def test_many_passes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    torch.manual_seed(1)
    runtime, ids = PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean", device), texts(LENGTHS * 3)
    whole = runtime.run(ids, ones(ids), "tokens")
    passes: list[int] = []
    launch = runtime._launch

    def noting(some: Sequence[Ints], *rest: Any) -> Any:
        passes.append(len(some))
        return launch(some, *rest)

    monkeypatch.setattr(runtime, "_launch", noting)
    monkeypatch.setattr(packed_batches, "MOST_TOKENS", 200)
    split = runtime.run(ids, ones(ids), "tokens")
    assert len(passes) > 3
    assert split.pooled == pytest.approx(whole.pooled, abs=NEAR[device])
    for one, other in zip(split.vectors, whole.vectors, strict=True):
        assert one == pytest.approx(other, abs=NEAR[device])


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_same_call_gives_the_same_bits(precision: Precision, device: str) -> None:
    torch.manual_seed(1)
    runtime, ids = PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean", device, precision), texts()
    first, second = (runtime.run(ids, ones(ids), "tokens") for _ in range(2))
    np.testing.assert_array_equal(first.pooled, second.pooled)
    for one, other in zip(first.vectors, second.vectors, strict=True):
        np.testing.assert_array_equal(one, other)


def test_vectors_hold_no_memory_but_their_own() -> None:
    torch.manual_seed(1)
    ids = texts()
    found = PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean").run(ids, ones(ids), "tokens")
    for vectors in (found.pooled, *found.vectors):
        assert vectors.base is None
        assert vectors.dtype == np.float32


def test_bfloat16_stays_near_float32_and_near_itself_in_any_company(device: str) -> None:
    """The bounds that encoders promise, on a network as wide as the built-in one."""
    torch.manual_seed(2)
    network = BertModel(
        BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    )
    network.eval()  # type: ignore[no-untyped-call]
    ids = texts((7, 1, 90, 12, 3, 150, 2, 60))
    exact = [alone(network, each) for each in ids]
    runtime = PackedPasses(network, torch.nn.Identity(), "mean", device, "bfloat16")
    together = runtime.run(ids, ones(ids), "tokens")
    for i, oracle in enumerate(exact):
        by_itself = runtime.run(ids[i : i + 1], ones(ids[i : i + 1]), "tokens")
        assert least_cosine(by_itself.vectors[0], oracle) >= 0.999
        assert least_cosine(by_itself.vectors[0], together.vectors[i]) >= 0.9998
        assert least_cosine(by_itself.pooled, together.pooled[i : i + 1]) >= 0.9999


def test_passes_of_other_sizes_in_between_change_nothing(device: str) -> None:
    torch.manual_seed(1)
    runtime = PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean", device, "bfloat16")
    sizes = ((7, 1), (150, 140, 90), (3,), (60,) * 30)
    first = [runtime.run(texts(each), ones(texts(each)), "tokens") for each in sizes]
    for lengths, found in zip(reversed(sizes), reversed(first), strict=True):
        again = runtime.run(texts(lengths), ones(texts(lengths)), "tokens")
        np.testing.assert_array_equal(again.pooled, found.pooled)
        np.testing.assert_array_equal(np.concatenate(again.vectors), np.concatenate(found.vectors))


def test_a_model_that_is_loaded_meanwhile_changes_nothing(device: str) -> None:
    def load() -> PackedPasses:
        network = bert()
        network.load_state_dict(state)
        return PackedPasses(network, torch.nn.Identity(), "mean", device, "bfloat16")

    torch.manual_seed(1)
    state = with_real_spread(bert()).state_dict()
    sizes = [tuple(range(1, most)) for most in range(3, 40, 4)]
    expected = [load().run(texts(each), ones(texts(each)), "pooled").pooled for each in sizes]
    running = load()
    with ThreadPoolExecutor(1) as pool:
        loading = [pool.submit(load) for _ in range(5)]
        for lengths, oracle in zip(sizes, expected, strict=True):
            np.testing.assert_array_equal(running.run(texts(lengths), ones(texts(lengths)), "pooled").pooled, oracle)
        loaded = [each.result() for each in loading]
    for runtime in loaded:
        np.testing.assert_array_equal(runtime.run(texts(sizes[2]), ones(texts(sizes[2])), "pooled").pooled, expected[2])


def test_a_pass_that_is_not_captured_is_filled_up_by_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    runtime, rooms = PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean"), []
    forward = runtime._forward

    def noting(inputs: torch.Tensor, room: Room) -> Passed:
        rooms.append(room)
        return forward(inputs, room)

    monkeypatch.setattr(runtime, "_forward", noting)
    runtime.run(texts((150,)), ones(texts((150,))), "tokens")
    assert rooms == [Room(tokens=150, texts=1, longest=150)]


def test_one_that_is_captured_is_and_its_vectors_are_the_same(network: Any) -> None:
    ids = texts()
    runtime, rooms = PackedPasses(network, torch.nn.Identity(), "mean"), []
    expected = runtime.run(ids, ones(ids), "tokens")

    def replay(inputs: torch.Tensor, room: Room) -> Passed:
        rooms.append(room)
        return runtime._forward(inputs, room)

    runtime._replay = replay
    found = runtime.run(ids, ones(ids), "tokens")
    assert rooms == [room_for(sum(LENGTHS), len(LENGTHS), max(LENGTHS))]
    assert found.pooled == pytest.approx(expected.pooled, abs=1e-5)
    assert np.concatenate(found.vectors) == pytest.approx(np.concatenate(expected.vectors), abs=1e-5)


def test_passes_are_captured_in_bfloat16_on_cuda_only(device: str) -> None:
    found = [
        PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean", device, each)._replay is not None
        for each in ("float32", "bfloat16")
    ]
    assert found == [False, device == "cuda"]


def kernel_in_half_precision(monkeypatch: pytest.MonkeyPatch, kernel: Callable[..., Any]) -> None:
    """Attention as CUDA takes it: by a kernel, but for float32."""
    by_rows = packed_attention._by_rows

    def by_type(parts: list[torch.Tensor], *rest: Any) -> Any:
        return (packed_attention._by_kernel if parts[0].dtype in packed_attention.FAST else by_rows)(parts, *rest)

    monkeypatch.setattr(packed_attention, "_by_rows", by_type)
    monkeypatch.setattr(varlen, "varlen_attn", kernel)


def test_a_gpu_whose_kernel_of_attention_does_not_run_is_refused_and_the_network_works_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("FlashAttention only supports Ampere GPUs or newer.")

    kernel_in_half_precision(monkeypatch, fail)
    torch.manual_seed(0)
    network = with_real_spread(bert())
    before = alone(network, texts()[0])
    PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean", precision="float32")  # which has no use for it
    with pytest.raises(NotExportable, match="Ampere"):
        PackedPasses(network, torch.nn.Identity(), "mean", precision="bfloat16")
    np.testing.assert_array_equal(alone(network, texts()[0]), before)


def test_a_device_that_is_lost_meanwhile_is_no_fault_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise torch.AcceleratorError("an illegal memory access was encountered")

    kernel_in_half_precision(monkeypatch, fail)
    monkeypatch.setattr(device_errors, "_answers", lambda _: False)
    with pytest.raises(DeviceLost, match="illegal memory access"):
        PackedPasses(with_real_spread(bert()), torch.nn.Identity(), "mean", precision="bfloat16")


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
