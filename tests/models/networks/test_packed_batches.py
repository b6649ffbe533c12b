"""Packed batches of random networks equal each text alone by the original attention."""

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
from transformers import BertConfig, BertModel

from semblance.models.embeddings import Floats, Precision, unit_rows
from semblance.models.errors import DeviceLost, NotExportable, OutOfDeviceMemory
from semblance.models.networks import device_errors, packed_attention, packed_batches
from semblance.models.networks.cuda_graphs import MAX_TOKENS, BatchShape, DeviceOutput, shape_bucket
from semblance.models.networks.packed_batches import PackedBatches, pool
from semblance.models.text import Ints
from tests.support.devices import DEVICES
from tests.support.random_networks import NETWORKS, SIZES, alone, ones, random_network, texts, with_real_spread

LENGTHS = (7, 1, 90, 12, 3, 150, 2)
NEAR = {"cpu": 1e-5, "cuda": 1e-4}  # another device adds products in another order


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Any:
    return random_network(request.param)


def test_packed_texts_have_the_vectors_of_each_text_alone(network: Any, device: str) -> None:
    """And arrays of their own."""
    ids = texts(LENGTHS)
    expected = [alone(network, each) for each in ids]
    assert (unit_rows(expected[0]) * unit_rows(expected[2][:7])).sum(axis=1).max() < 0.9, "texts must differ"
    output = PackedBatches(network, torch.nn.Identity(), device).run(ids, ones(ids), "tokens")
    for vectors, pooled, oracle in zip(output.vectors, output.pooled, expected, strict=True):
        assert vectors == pytest.approx(oracle, abs=NEAR[device])
        assert pooled == pytest.approx(oracle.mean(axis=0), abs=NEAR[device])
    for owned in (output.pooled, *output.vectors):
        assert owned.base is None
        assert owned.dtype == np.float32


DEFINITIONS: dict[bool, Callable[[Floats, Floats], Floats]] = {  # by `largest`
    False: lambda vectors, weights: np.average(vectors, axis=0, weights=weights),
    True: lambda vectors, weights: vectors[weights > 0].max(axis=0),
}


@pytest.mark.parametrize("largest", DEFINITIONS)
def test_the_head_precedes_pooling_and_weights_exclude_tokens(largest: bool, device: str) -> None:
    torch.manual_seed(1)
    network, head, ids = random_network(), torch.nn.Linear(32, 5), texts(LENGTHS)
    weights = ones(ids)
    weights[2][:40] = 0.0
    weights[3][:] = np.linspace(0, 1, 12)
    with torch.inference_mode():
        expected = [head(torch.from_numpy(alone(network, each))).numpy() for each in ids]
    output = PackedBatches(network, head, device, largest=largest).run(ids, weights, "pooled")
    oracle = [DEFINITIONS[largest](vectors, share) for vectors, share in zip(expected, weights, strict=True)]
    assert output.pooled == pytest.approx(np.array(oracle), abs=NEAR[device])
    assert list(output.vectors) == []


def test_several_batches_equal_one(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    runtime, ids = PackedBatches(random_network(), torch.nn.Identity(), device), texts(LENGTHS * 3)
    whole, start, batches = runtime.run(ids, ones(ids), "tokens"), runtime._start, []

    def counted(some: Sequence[Ints], *rest: Any) -> Any:
        batches.append(len(some))
        return start(some, *rest)

    monkeypatch.setattr(runtime, "_start", counted)
    monkeypatch.setattr(packed_batches, "MAX_TOKENS", 200)
    split = runtime.run(ids, ones(ids), "tokens")
    assert len(batches) > 3
    assert split.pooled == pytest.approx(whole.pooled, abs=NEAR[device])
    assert np.concatenate(split.vectors) == pytest.approx(np.concatenate(whole.vectors), abs=NEAR[device])


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_repeated_calls_with_others_in_between_are_identical(precision: Precision, device: str) -> None:
    runtime = PackedBatches(random_network(), torch.nn.Identity(), device, precision)
    batches = [texts(lengths) for lengths in ((7, 1), (150, 140, 90), (3,), (60,) * 30)]
    first = [runtime.run(ids, ones(ids), "tokens") for ids in batches]
    for ids, output in zip(reversed(batches), reversed(first), strict=True):
        again = runtime.run(ids, ones(ids), "tokens")
        np.testing.assert_array_equal(again.pooled, output.pooled)
        np.testing.assert_array_equal(np.concatenate(again.vectors), np.concatenate(output.vectors))


@pytest.mark.slow
def test_loading_another_model_concurrently_changes_nothing(device: str) -> None:
    def load() -> PackedBatches:
        return PackedBatches(random_network(), torch.nn.Identity(), device, "bfloat16")

    batches = [texts(range(1, most)) for most in range(3, 40, 9)]
    expected = [load().run(ids, ones(ids), "pooled").pooled for ids in batches]
    running = load()
    with ThreadPoolExecutor(1) as pool:
        loading = [pool.submit(load) for _ in range(3)]
        for ids, oracle in zip(batches, expected, strict=True):
            np.testing.assert_array_equal(running.run(ids, ones(ids), "pooled").pooled, oracle)
        for loaded in loading:
            np.testing.assert_array_equal(
                loaded.result().run(batches[2], ones(batches[2]), "pooled").pooled, expected[2]
            )


@pytest.mark.parametrize("graphs", [False, True])
def test_only_batches_for_graphs_are_padded_and_keep_vectors(
    network: Any, graphs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids, shapes = texts(LENGTHS), []
    runtime = PackedBatches(network, torch.nn.Identity())
    expected, forward = runtime.run(ids, ones(ids), "tokens"), runtime._forward

    def recorded(inputs: torch.Tensor, shape: BatchShape) -> DeviceOutput:
        shapes.append(shape)
        return forward(inputs, shape)

    monkeypatch.setattr(runtime, "_replay" if graphs else "_forward", recorded)
    output = runtime.run(ids, ones(ids), "tokens")
    sizes = sum(LENGTHS), len(LENGTHS), max(LENGTHS)
    assert shapes == [shape_bucket(*sizes) if graphs else BatchShape(*sizes)]
    assert output.pooled == pytest.approx(expected.pooled, abs=1e-5)
    assert np.concatenate(output.vectors) == pytest.approx(np.concatenate(expected.vectors), abs=1e-5)


def test_graphs_are_captured_only_in_bfloat16_on_cuda(device: str) -> None:
    kinds: list[tuple[Precision, bool]] = [("float32", False), ("bfloat16", device == "cuda")]
    for precision, captured in kinds:
        runtime = PackedBatches(random_network(), torch.nn.Identity(), device, precision)
        assert (runtime._replay is not None) == captured


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (RuntimeError("FlashAttention only supports Ampere GPUs or newer."), NotExportable),
        (torch.AcceleratorError("an illegal memory access was encountered"), DeviceLost),
        (torch.OutOfMemoryError("CUDA out of memory"), OutOfDeviceMemory),
    ],
)
def test_a_failing_kernel_is_rejected_and_the_network_unchanged(
    monkeypatch: pytest.MonkeyPatch, fault: Exception, raised: type[Exception]
) -> None:
    """Attention is selected as on CUDA: by the kernel, except in float32."""
    padded = packed_attention._padded_attention

    def by_type(parts: list[torch.Tensor], *rest: Any) -> Any:
        has_kernel = parts[0].dtype in packed_attention.KERNEL_TYPES
        return (packed_attention._flash_attention if has_kernel else padded)(parts, *rest)

    def fail(*_: Any, **__: Any) -> None:
        raise fault

    monkeypatch.setattr(packed_attention, "_padded_attention", by_type)
    monkeypatch.setattr(varlen, "varlen_attn", fail)
    monkeypatch.setattr(device_errors, "_responds", lambda _: False)
    network = random_network()
    before = alone(network, texts(LENGTHS)[0])
    PackedBatches(random_network(), torch.nn.Identity(), precision="float32")  # without the kernel
    with pytest.raises(raised, match=str(fault)):
        PackedBatches(network, torch.nn.Identity(), precision="bfloat16")
    if raised is NotExportable:
        np.testing.assert_array_equal(alone(network, texts(LENGTHS)[0]), before)


def test_bfloat16_keeps_norms_and_embeddings_in_float32() -> None:
    network = random_network()
    PackedBatches(network, torch.nn.Identity(), precision="bfloat16")
    leaves = [module for module in network.modules() if not list(module.children()) and list(module.parameters())]
    kinds = {type(module): next(module.parameters()).dtype for module in leaves}
    assert kinds == {
        torch.nn.Linear: torch.bfloat16,
        torch.nn.LayerNorm: torch.float32,
        torch.nn.Embedding: torch.float32,
    }


class Mixing(BertModel):  # type: ignore[no-untyped-call]
    """Adds to each token its predecessor in the sequence."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        out = super().forward(*args, **kwargs)
        out.last_hidden_state = out.last_hidden_state + out.last_hidden_state.roll(1, dims=1)
        return out


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: random_network("mpnet"), "a mpnet has attention of its own"),
        (lambda: with_real_spread(Mixing(BertConfig(**SIZES))), "outside its attention"),
    ],
)
def test_networks_that_cannot_be_packed_are_rejected_unchanged(make: Callable[[], Any], message: str) -> None:
    network = make()
    before = alone(network, texts(LENGTHS)[0])
    with pytest.raises(NotExportable, match=message):
        PackedBatches(network, torch.nn.Identity())
    np.testing.assert_array_equal(alone(network, texts(LENGTHS)[0]), before)


@given(st.lists(st.integers(1, 512), min_size=1, max_size=200))
def test_a_shape_bucket_fits_and_wastes_a_quarter_at_most(lengths: list[int]) -> None:
    tokens, longest = sum(lengths), max(lengths)
    shape = shape_bucket(tokens, len(lengths), longest)
    assert shape.tokens >= tokens
    assert shape.texts >= len(lengths)
    assert shape.longest >= longest
    assert shape.tokens <= max(128, 1.25 * tokens)
    assert shape_bucket(*shape) == shape


def test_few_shapes_serve_all_batches() -> None:
    longest = (1, 100, 300, 512)
    shapes = {shape_bucket(n, max(1, n // 16), most) for n in range(1, MAX_TOKENS + 1) for most in longest}
    assert len(shapes) <= 100


@pytest.mark.parametrize("largest", DEFINITIONS)
def test_pooling_ignores_empty_texts_and_padding(largest: bool) -> None:
    rng = np.random.default_rng(0)
    vectors, weights = rng.normal(size=(20, 4)).astype(np.float32), rng.random(20).astype(np.float32)
    vectors[14:] = np.nan
    offsets = np.array([0, 5, 6, 14, 14, 14], np.int32)
    tensors = [torch.from_numpy(each) for each in (vectors, weights, offsets)]
    output = pool(*tensors, largest=largest).numpy()
    for row, start, end in zip(output, (0, 5, 6), (5, 6, 14), strict=False):
        assert row == pytest.approx(DEFINITIONS[largest](vectors[start:end], weights[start:end]), abs=1e-6)
