"""Packed texts attend as each does alone, however they are laid out, and a graph is made of nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel, RobertaConfig, RobertaModel

from semblance.models.errors import NotExportable
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.networks.export_attention import GatheredNetwork
from semblance.models.networks.graph_export import gathered_export
from semblance.models.networks.shape_buckets import TEXTS, TOKENS, WIDTHS, at_least, laid_out
from semblance.models.networks.torch_network import first_position
from semblance.models.runtime import NetworkFacts
from semblance.models.text import Ints
from tests.support.small_model import BUILT_IN_FOLDER, make_small

SIZES: dict[str, Any] = {
    "vocab_size": 200,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "pad_token_id": 1,
}
FACTS = NetworkFacts(dim=1, max_tokens=512, pad_id=0, first_position=0, tokenizer="")


class Whole(torch.nn.Module):
    """What a `TorchNetwork` has, of any network."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network, self.head = network.eval(), torch.nn.Linear(32, 8)


def texts(lengths: list[int], seed: int = 0) -> list[Ints]:
    rng = np.random.default_rng(seed)
    return [rng.integers(5, 200, n).astype(np.int32) for n in lengths]


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60))
def test_every_token_has_its_place_and_no_other(lengths: list[int]) -> None:
    given_texts = texts(lengths)
    laid, count = laid_out(given_texts, FACTS), sum(lengths)
    np.testing.assert_array_equal(laid.ids[:count], np.concatenate(given_texts))
    np.testing.assert_array_equal(laid.positions[:count], np.concatenate([np.arange(n) for n in lengths]))
    assert sorted(laid.tokens.ravel()[laid.places[:count]].tolist()) == list(range(count))
    for row, text in enumerate(given_texts):
        np.testing.assert_array_equal(laid.ids[laid.tokens[row][laid.real[row]]], text)
    assert laid.real.any(axis=1).all()
    assert len(laid.ids) == at_least(count, TOKENS)
    assert laid.tokens.shape == (at_least(len(lengths), TEXTS), at_least(max(lengths), WIDTHS))


@pytest.mark.parametrize(("sizes", "most", "distinct"), [(TOKENS, 8192, 48), (WIDTHS, 8192, 40), (TEXTS, 400, 27)])
def test_sizes_are_few_and_near_what_is_needed(sizes: tuple[int, ...], most: int, distinct: int) -> None:
    found = [at_least(size, sizes) for size in range(1, most + 1)]
    assert len(set(found)) == distinct
    assert found == sorted(found)
    assert all(size <= enough < size + max(8, size / 2) for size, enough in enumerate(found, 1))
    assert all(enough <= 1.25 * size for size, enough in enumerate(found, 1) if size > sizes[-1])


def test_a_pass_of_many_short_texts_has_one_of_few_shapes() -> None:
    shapes = {laid_out(texts([3] * count), FACTS).tokens.shape for count in range(1, 400)}
    assert len(shapes) == len({rows for rows, _ in shapes}) == 27


@pytest.mark.parametrize(("kind", "config"), [(BertModel, BertConfig), (RobertaModel, RobertaConfig)])
@pytest.mark.parametrize("lengths", [[1], [7, 1, 90, 12], [3] * 33, [130, 2]])
def test_packed_texts_have_the_vectors_of_each_alone(kind: Any, config: Any, lengths: list[int]) -> None:
    torch.manual_seed(0)
    whole = Whole(kind(config(**SIZES)))
    facts = NetworkFacts(32, 128, 1, first_position(whole.network), "")
    with torch.inference_mode():
        given_texts = texts(lengths)
        alone = [
            whole.head(whole.network(torch.from_numpy(each).long()[None]).last_hidden_state[0]) for each in given_texts
        ]
        together = GatheredNetwork(whole)(*map(torch.from_numpy, laid_out(given_texts, facts)))
    np.testing.assert_allclose(together[: sum(lengths)], torch.cat(alone), atol=2e-5)


def test_a_network_that_looks_at_distances_of_tokens_is_refused(tmp_path: Path) -> None:
    folder = make_small(tmp_path / "mpnet")
    config = MPNetConfig(**SIZES | {"vocab_size": 30527, "pad_token_id": 0}, max_position_embeddings=514)
    torch.manual_seed(0)
    network = MPNetModel(config)
    torch.nn.init.normal_(network.encoder.relative_attention_bias.weight, std=3)
    network.save_pretrained(folder)
    with pytest.raises(NotExportable, match=r"cannot be exported: .* over packed texts has cosine .*: run it by torch"):
        gathered_export(read_checkpoint(folder))


def test_the_graph_takes_any_sizes() -> None:
    graph, facts, _ = gathered_export(read_checkpoint(BUILT_IN_FOLDER))
    module = graph.module()
    for lengths in ([2], [5, 9, 30], [200] * 3):
        given_texts = texts(lengths)
        out = module(*map(torch.from_numpy, laid_out(given_texts, facts)))
        assert out.shape == (at_least(sum(lengths), TOKENS), facts.dim)
