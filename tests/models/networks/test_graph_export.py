"""Exported graphs: packed texts have the vectors of each text alone, for all batch shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import MPNetConfig, MPNetModel

from semblance.models.errors import NotExportable
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.networks.graph_export import ExportableNetwork, export_graph
from semblance.models.networks.shape_buckets import TEXTS, TOKENS, WIDTHS, graph_inputs, next_size
from semblance.models.networks.torch_network import first_position
from semblance.models.runtime import NetworkFacts
from tests.support.random_networks import SIZES, alone, random_network, texts

FACTS = NetworkFacts(dim=1, max_tokens=512, pad_id=0, first_position=0, tokenizer="")


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60))
def test_every_token_has_exactly_one_cell(lengths: list[int]) -> None:
    sample = texts(lengths)
    inputs, count = graph_inputs(sample, FACTS), sum(lengths)
    np.testing.assert_array_equal(inputs.ids[:count], np.concatenate(sample))
    np.testing.assert_array_equal(inputs.positions[:count], np.concatenate([np.arange(n) for n in lengths]))
    assert sorted(inputs.tokens.ravel()[inputs.places[:count]].tolist()) == list(range(count))
    for row, text in enumerate(sample):
        np.testing.assert_array_equal(inputs.ids[inputs.tokens[row][inputs.real[row]]], text)
    assert inputs.real.any(axis=1).all()
    assert len(inputs.ids) == next_size(count, TOKENS)
    assert inputs.tokens.shape == (next_size(len(lengths), TEXTS), next_size(max(lengths), WIDTHS))


@pytest.mark.parametrize(("sizes", "most", "distinct"), [(TOKENS, 8192, 48), (WIDTHS, 8192, 36), (TEXTS, 400, 27)])
def test_sizes_are_few_and_close_to_the_request(sizes: tuple[int, ...], most: int, distinct: int) -> None:
    rounded = [next_size(size, sizes) for size in range(1, most + 1)]
    assert len(set(rounded)) == distinct
    assert rounded == sorted(rounded)
    assert all(size <= padded < size + max(16, size / 2) for size, padded in enumerate(rounded, 1))
    assert all(padded <= 1.25 * size for size, padded in enumerate(rounded, 1) if size > sizes[-1])


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("lengths", [[1], [7, 1, 90, 12], [3] * 33, [130, 2]])
def test_packed_texts_have_the_vectors_of_each_text_alone(family: str, lengths: list[int]) -> None:
    whole: Any = torch.nn.Module()  # with the attributes of a `TorchNetwork`
    whole.network, whole.head = random_network(family), torch.nn.Linear(32, 8)
    facts = NetworkFacts(32, 128, 1, first_position(whole.network), "")
    with torch.inference_mode():
        sample = texts(lengths)
        expected = torch.cat([whole.head(torch.from_numpy(alone(whole.network, each))) for each in sample])
        packed = ExportableNetwork(whole)(*map(torch.from_numpy, graph_inputs(sample, facts)))
    np.testing.assert_allclose(packed[: sum(lengths)], expected, atol=2e-5)


def test_a_network_with_relative_positions_is_rejected(folder: Path) -> None:
    config = MPNetConfig(**SIZES | {"vocab_size": 30527, "pad_token_id": 0}, max_position_embeddings=514)
    torch.manual_seed(0)
    network = MPNetModel(config)
    torch.nn.init.normal_(network.encoder.relative_attention_bias.weight, std=3)
    network.save_pretrained(folder)
    with pytest.raises(NotExportable, match="a mpnet has attention of its own, which cannot be replaced"):
        export_graph(read_checkpoint(folder))


def test_the_graph_accepts_any_sizes(small: Path) -> None:
    graph, facts, _ = export_graph(read_checkpoint(small))
    module = graph.module()
    for lengths in ([2], [5, 9, 30], [200] * 3):
        sample = texts(lengths)
        out = module(*map(torch.from_numpy, graph_inputs(sample, facts)))
        assert out.shape == (next_size(sum(lengths), TOKENS), facts.dim)
