"""The generative models: likelihoods, inputs, batches, saving and loading."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, BertConfig, BertModel

from semblance.models.errors import BadCheckpoint
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.source import Source
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.networks.generation import Generation
from semblance_lab.origin.networks.generation_network import (
    SpecialIds,
    batches_by_length,
    network_from_encoder,
    new_network,
    open_network,
    parameter_count,
    save_network,
    special_ids,
)
from semblance_lab.origin.networks.network_training import GenerationBatches
from semblance_lab.origin.origin_settings import GenerationSettings
from semblance_lab.origin.scoring.scoring import CONTEXT_PARTS, ContextPart
from tests.support.small_model import DIM, edit

RNG = np.random.default_rng(0)
PIECES, MOST = 60, 12
SPECIAL = SpecialIds(pad=0, start=2, end=3)
SIZES = GenerationSettings(dim=16, layers=2, heads=2)


def rows(*lengths: int) -> list[np.ndarray]:
    return [RNG.integers(5, PIECES, size=length).astype(np.int32) for length in lengths]


def three(n: int) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    left, center, right = (rows(*RNG.integers(1, MOST + 1, size=n)) for _ in range(3))
    return left, center, right


def network(seed: int = 0) -> Any:
    """A network of random weights, ten times as large as usual, so that outputs differ clearly."""
    net = new_network(SIZES.model_copy(update={"seed": seed}), PIECES, MOST, SPECIAL)
    with torch.no_grad():
        for weights in net.parameters():
            if weights.dim() == 2:
                weights.mul_(10)
    return net


def generation(net: Any, precision: Any = "float32") -> Generation:
    return Generation(dict.fromkeys(CONTEXT_PARTS, net), precision)


def plainly(net: Any, part: ContextPart, sentences: Sequence[np.ndarray]) -> float:
    """Oracle: the likelihood of one sentence by the network's own logits."""
    at = CONTEXT_PARTS.index(part)
    ids, types, places = [SPECIAL.start], [], [0]
    for position, row in enumerate(sentences):
        if position != at:
            ids += [*row.tolist(), SPECIAL.end]
            types += [position] * (len(row) + 1)
            places += range(1, len(row) + 2)
    x = sentences[at].tolist()
    output = net(
        input_ids=torch.tensor([ids]),
        token_type_ids=torch.tensor([[types[0], *types]]),
        position_ids=torch.tensor([places]),
        decoder_input_ids=torch.tensor([[SPECIAL.start, *x]]),
        decoder_token_type_ids=torch.tensor([[at] * (len(x) + 1)]),
        decoder_position_ids=torch.tensor([range(len(x) + 1)]),
    )
    log_p = torch.log_softmax(output.logits[0], dim=-1)
    return float(np.mean([float(log_p[t, token]) for t, token in enumerate([*x, SPECIAL.end])]))


@pytest.mark.parametrize("part", CONTEXT_PARTS)
def test_likelihoods_match_a_plain_loop_over_the_network(part: ContextPart) -> None:
    net, sentences = network(), three(40)
    with torch.inference_mode():
        expected = [plainly(net, part, each) for each in zip(*sentences, strict=True)]
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(generation(net).log_likelihoods(part, *sentences), expected, atol=1e-5)


def test_a_bfloat16_likelihood_hardly_depends_on_its_batch() -> None:
    model, sentences = generation(network(), "bfloat16"), three(30)
    together = model.log_likelihoods("centre", *sentences)
    alone = [model.log_likelihoods("centre", *([row] for row in each))[0] for each in zip(*sentences, strict=True)]
    np.testing.assert_allclose(together, alone, atol=0.02)


def test_sentences_of_any_length_are_read_and_written() -> None:
    model = generation(network())
    left, center, right = rows(1, 1_000, 1), rows(1_000, 1, 1), rows(3, 1_000, 1)
    for part in CONTEXT_PARTS:
        found = model.log_likelihoods(part, left, center, right)
        assert found.shape == (3,)
        assert np.all(found < 0)
        cut = model.log_likelihoods(part, *([row[:MOST] for row in each] for each in (left, center, right)))
        np.testing.assert_array_equal(found, cut)
    assert model.log_likelihoods("left", [], [], []).shape == (0,)


def test_perplexity_counts_every_token_alike() -> None:
    model, sentences = generation(network()), three(30)
    likelihoods = model.log_likelihoods("right", *sentences).astype(np.float64)
    tokens = np.array([len(row) + 1 for row in sentences[2]])
    assert model.perplexity("right", *sentences) == pytest.approx(
        math.exp(-(likelihoods @ tokens) / tokens.sum()), rel=1e-5
    )


def test_batches_have_every_sentence_once_within_the_limit() -> None:
    read, written = RNG.integers(5, 65, size=500), RNG.integers(2, 33, size=500)
    batches = list(batches_by_length(read, written, 900))
    assert sorted(np.concatenate(batches)) == list(range(500))
    assert all(len(each) * (read[each].max() + written[each].max()) <= 900 for each in batches)
    assert [each.tolist() for each in batches_by_length(np.array([2_000]), np.array([9]), 900)] == [[0]]
    assert list(batches_by_length(np.zeros(0, np.int64), np.zeros(0, np.int64), 900)) == []


def test_an_epoch_writes_every_part_of_every_context_once() -> None:
    lengths = RNG.integers(1, 30, size=200).astype(np.int32)
    sentences = GenerationBatches(np.arange(1, 199), [0, 2], lengths, 16, seed=0)
    for epoch in (0, 1):
        batches = sentences.batches(epoch)
        assert len(batches) == sentences.steps
        seen = Counter((int(c), int(p)) for contexts, parts in batches for c, p in zip(contexts, parts, strict=True))
        assert seen == Counter((c, p) for c in range(1, 199) for p in (0, 2))
    assert sentences.batches(0)[0][0].tolist() != sentences.batches(1)[0][0].tolist()


def test_a_saved_network_is_restored_with_shared_embeddings(tmp_path: Path) -> None:
    net, sentences = network(), three(5)
    save_network(net, tmp_path / "all")
    again: Any = open_network(tmp_path / "all", "cpu")
    assert again.decoder.cls.predictions.decoder.weight is again.encoder.embeddings.word_embeddings.weight
    assert again.decoder.bert.embeddings is again.encoder.embeddings
    assert parameter_count(again) == parameter_count(net)
    assert special_ids(again) == SPECIAL
    expected = generation(net).log_likelihoods("left", *sentences)
    np.testing.assert_allclose(
        Generation.open(tmp_path, precision="float32").log_likelihoods("left", *sentences), expected, atol=1e-6
    )


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_no_likelihood_is_above_zero_in_any_precision(precision: Any) -> None:
    net: Any = network()
    head = net.decoder.cls.predictions.decoder
    with torch.no_grad():
        head.weight.zero_()
        head.bias.fill_(-30)
        head.bias[SPECIAL.end] = 10.07  # not representable in bfloat16
    side = [np.full(3, 7, np.int32)]
    [found] = generation(net, precision).log_likelihoods("centre", side, [np.zeros(0, np.int32)], side)
    assert found <= 0
    assert found == pytest.approx(0, abs=1e-6)


def test_the_precision_is_reported() -> None:
    fast = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    own = "bfloat16" if fast else "float32"
    net = network()
    assert generation(net, "auto").about() == {"device": "cpu", "precision": own}
    assert generation(net, "bfloat16").about() == {"device": "cpu", "precision": "bfloat16"}


def test_missing_and_broken_networks_are_refused(tmp_path: Path) -> None:
    for folder in (tmp_path / "none", tmp_path):
        with pytest.raises(BadOrigin, match="origin train"):
            Generation.open(folder)
    save_network(network(), tmp_path / "all")
    (tmp_path / "all" / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(BadOrigin, match="cannot be read"):
        Generation.open(tmp_path)
    with pytest.raises(ValueError, match="3 does not divide 16"):
        GenerationSettings(dim=16, heads=3)


def test_a_network_starts_from_an_encoder(small: Path) -> None:
    found: Any = network_from_encoder(read_transformer(Source(small)), 0, SpecialIds(0, 101, 102))
    bert: Any = AutoModel.from_pretrained(small)
    assert isinstance(bert, BertModel)
    for side in (found.encoder, found.decoder.bert):
        for name, weights in bert.encoder.state_dict().items():
            torch.testing.assert_close(side.encoder.state_dict()[name], weights)
    words = found.encoder.embeddings.word_embeddings.weight
    torch.testing.assert_close(words, bert.embeddings.word_embeddings.weight)
    assert found.decoder.cls.predictions.decoder.weight is words
    assert found.encoder.embeddings.token_type_embeddings.weight.shape == (3, DIM)
    assert BertConfig.from_pretrained(small).type_vocab_size == 2


def test_only_a_bert_can_initialize_a_network(folder: Path) -> None:
    edit(folder / "config.json", model_type="roberta", architectures=["RobertaModel"])
    with pytest.raises(BadCheckpoint, match="is a roberta, but"):
        network_from_encoder(read_transformer(Source(folder)), 0, SPECIAL)
