"""Attention within each text, by padded rows and by the GPU kernel, against a plain loop."""

from __future__ import annotations

import inspect
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import varlen

from semblance.models.networks import packed_attention
from semblance.models.networks.packed_attention import TextSpans
from semblance.models.networks.packed_batches import PackedBatches
from tests.support.random_networks import alone, ones, random_network, texts

OFFSETS = (0, 5, 5, 6, 30, 30)
SPANS = TextSpans(torch.tensor(OFFSETS, dtype=torch.int32), longest=26)
TOKENS, HEADS, DIM = 33, 4, 8  # the last three tokens belong to no text


@pytest.fixture
def parts() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(TOKENS, HEADS, DIM, generator=generator) for _ in range(3)]


def plain(parts: list[Tensor], scaling: float | None, window: int | None) -> Tensor:
    """The definition, token by token."""
    q, k, v = (part.double() for part in parts)
    out = torch.zeros(OFFSETS[-1], HEADS, DIM, dtype=torch.float64)
    for start, end in pairwise(OFFSETS):
        for i in range(start, end):
            near = [j for j in range(start, end) if window is None or abs(i - j) < window]
            for head in range(HEADS):
                products = torch.stack([q[i, head] @ k[j, head] for j in near])
                shares = torch.softmax(products * (DIM**-0.5 if scaling is None else scaling), dim=0)
                out[i, head] = shares @ v[near, head]
    return out


def documented_kernel(
    query: Tensor, key: Tensor, value: Tensor, starts: Tensor, _: Tensor, longest: int, __: int, **named: Any
) -> Tensor:
    """`varlen_attn` as documented: a window reaches to the left and right, -1 is unbounded."""
    left, right = named["window_size"]
    out = torch.full_like(query, torch.nan)
    for start, end in pairwise(starts.tolist()):
        assert end - start <= longest
        for i in range(start, end):
            near = slice(start if left < 0 else max(start, i - left), end if right < 0 else min(end, i + right + 1))
            scale = DIM**-0.5 if named["scale"] is None else named["scale"]
            shares = torch.softmax(torch.einsum("hd,nhd->hn", query[i], key[near]) * scale, dim=1)
            out[i] = torch.einsum("hn,nhd->hd", shares, value[near])
    return out


@pytest.mark.parametrize(("scaling", "window"), [(None, None), (0.7, 1), (None, 4)])
def test_both_implementations_equal_the_definition(
    parts: list[Tensor], scaling: float | None, window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(varlen, "varlen_attn", documented_kernel)
    expected = plain(parts, scaling, window)
    for attention in (packed_attention._padded_attention, packed_attention._flash_attention):
        output = attention(parts, SPANS, scaling, window)[: OFFSETS[-1]]
        assert torch.allclose(output.double(), expected, atol=1e-5)


def test_torch_has_the_kernel_with_these_arguments(parts: list[Tensor]) -> None:
    """No kernel runs on meta tensors, but torch checks the call and derives shape and type."""
    half = [part.bfloat16().to("meta") for part in parts]
    spans = TextSpans(torch.tensor(OFFSETS, dtype=torch.int32, device="meta"), longest=26)
    out = packed_attention._flash_attention(half, spans, 0.7, 4)
    assert (out.shape, out.dtype) == ((TOKENS, HEADS, DIM), torch.bfloat16)
    assert {"scale", "window_size"} <= set(inspect.signature(varlen.varlen_attn).parameters)


def test_the_output_has_the_layout_of_transformers(parts: list[Tensor]) -> None:
    q, k, v = (part.transpose(0, 1)[None] for part in parts)
    out, weights = packed_attention.packed_attention(torch.nn.Identity(), q, k, v, None, packed=SPANS)
    assert weights is None
    assert torch.equal(out[0], packed_attention._padded_attention(parts, SPANS, None, None))


def test_kernel_output_behind_the_last_text_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel writes nothing there, so that memory may hold anything; here NaN."""
    monkeypatch.setattr(varlen, "varlen_attn", documented_kernel)
    monkeypatch.setattr(packed_attention, "_padded_attention", packed_attention._flash_attention)
    network, ids = random_network(), texts((7, 30, 2))
    oracles = [alone(network, each) for each in ids]
    runtime = PackedBatches(network, torch.nn.Identity())
    runtime._replay = runtime._forward  # so that batches are padded
    output = runtime.run(ids, ones(ids), "tokens")
    for vectors, pooled, oracle in zip(output.vectors, output.pooled, oracles, strict=True):
        assert vectors == pytest.approx(oracle, abs=1e-5)
        assert pooled == pytest.approx(oracle.mean(axis=0), abs=1e-5)
