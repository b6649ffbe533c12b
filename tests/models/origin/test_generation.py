"""The generative models: likelihoods that do not depend on the batch, and that training raises."""

from __future__ import annotations

import math
import shutil
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
from semblance.models.origin.context_parts import PARTS, Part
from semblance.models.origin.corpus.corpus import Corpus
from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.networks.generation import Generation
from semblance.models.origin.networks.generation_inputs import Marks, by_length, inputs
from semblance.models.origin.networks.generation_network import (
    marks_of,
    new_network,
    open_network,
    parameters,
    save_network,
    started_network,
)
from semblance.models.origin.networks.generation_training import GenerationBatches
from semblance.models.origin.origin_folder import GENERATION, read_about
from semblance.models.origin.origin_settings import GenerationSettings
from tests.support.small_model import DIM, edit, make_small

RNG = np.random.default_rng(0)
PIECES, MOST = 60, 12
MARKS = Marks(pad=0, start=2, end=3)
SIZES = GenerationSettings(dim=16, layers=2, heads=2)


def rows(*lengths: int) -> list[np.ndarray]:
    return [RNG.integers(5, PIECES, size=length).astype(np.int32) for length in lengths]


def three(n: int) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    left, centre, right = (rows(*RNG.integers(1, MOST + 1, size=n)) for _ in range(3))
    return left, centre, right


def network(seed: int = 0) -> Any:
    """Random weights, ten times as large as a new network's, so that nothing is about equal."""
    made = new_network(SIZES.model_copy(update={"seed": seed}), PIECES, MOST, MARKS)
    with torch.no_grad():
        for weights in made.parameters():
            if weights.dim() == 2:
                weights.mul_(10)
    return made


def generation(made: Any, precision: Any = "float32") -> Generation:
    return Generation(dict.fromkeys(PARTS, made), precision)


def plainly(made: Any, part: Part, sentences: Sequence[np.ndarray]) -> float:
    """The likelihood by the network's own logits, one sentence alone, all of it written out."""
    at = PARTS.index(part)
    ids, types, places = [MARKS.start], [], [0]
    for position, row in enumerate(sentences):
        if position != at:
            ids += [*row.tolist(), MARKS.end]
            types += [position] * (len(row) + 1)
            places += range(1, len(row) + 2)
    x = sentences[at].tolist()
    output = made(
        input_ids=torch.tensor([ids]),
        token_type_ids=torch.tensor([[types[0], *types]]),
        position_ids=torch.tensor([places]),
        decoder_input_ids=torch.tensor([[MARKS.start, *x]]),
        decoder_token_type_ids=torch.tensor([[at] * (len(x) + 1)]),
        decoder_position_ids=torch.tensor([range(len(x) + 1)]),
    )
    log_p = torch.log_softmax(output.logits[0], dim=-1)
    return float(np.mean([float(log_p[t, token]) for t, token in enumerate([*x, MARKS.end])]))


@pytest.mark.parametrize("part", PARTS)
def test_likelihoods_are_those_of_a_plain_loop_over_the_network(part: Part) -> None:
    made, sentences = network(), three(40)
    with torch.inference_mode():
        expected = [plainly(made, part, each) for each in zip(*sentences, strict=True)]
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(generation(made).log_likelihoods(part, *sentences), expected, atol=1e-5)


def test_a_likelihood_is_the_same_alone_and_in_any_batch() -> None:
    made, sentences = network(), three(60)
    for precision, tolerance in (("float32", 1e-5), ("bfloat16", 0.02)):
        asked = generation(made, precision)
        together = asked.log_likelihoods("centre", *sentences)
        alone = [asked.log_likelihoods("centre", *([row] for row in each))[0] for each in zip(*sentences, strict=True)]
        np.testing.assert_allclose(together, alone, atol=tolerance)


def test_bfloat16_is_near_float32(trained: Path) -> None:
    tokens, contexts = TokenTable.open(trained / "tokens", "held_out"), Corpus.open(trained / "corpus", "held_out")
    sentences = [tokens.rows(contexts.contexts() + side) for side in (-1, 0, 1)]
    exact, near = (
        Generation.open(trained / GENERATION, asked=precision).log_likelihoods("left", *sentences)
        for precision in ("float32", "bfloat16")
    )
    np.testing.assert_allclose(near, exact, atol=0.02)


def test_of_as_likely_tokens_a_sentence_of_twice_the_length_is_as_likely() -> None:
    """The law of length normalisation: a network that gives every token the same probability."""
    made = network()
    with torch.no_grad():
        made.decoder.cls.predictions.transform.LayerNorm.weight.zero_()
        made.decoder.cls.predictions.transform.LayerNorm.bias.zero_()
    [row], given = rows(6), rows(4, 5)
    once, twice = generation(made).log_likelihoods(
        "left", [row, np.concatenate([row, row])], [given[0]] * 2, [given[1]] * 2
    )
    assert once == pytest.approx(twice, abs=1e-6)
    assert once == pytest.approx(-math.log(PIECES), abs=1e-5)


def test_sentences_of_one_token_and_of_a_thousand_are_read_and_written() -> None:
    asked = generation(network())
    left, centre, right = rows(1, 1_000, 1), rows(1_000, 1, 1), rows(3, 1_000, 1)
    for part in PARTS:
        found = asked.log_likelihoods(part, left, centre, right)
        assert found.shape == (3,)
        assert np.all(found < 0)
        cut = asked.log_likelihoods(part, *([row[:MOST] for row in each] for each in (left, centre, right)))
        np.testing.assert_array_equal(found, cut)
    assert asked.log_likelihoods("left", [], [], []).shape == (0,)


def test_each_part_is_told_apart_and_reads_both_others_in_their_places() -> None:
    asked = generation(network())
    left, centre, right = three(1)
    base = asked.log_likelihoods("centre", left, centre, right)[0]
    assert abs(asked.log_likelihoods("centre", right, centre, left)[0] - base) > 1e-3
    assert abs(asked.log_likelihoods("left", centre, left, right)[0] - base) > 1e-3


def test_perplexity_counts_every_token_alike() -> None:
    asked, sentences = generation(network()), three(30)
    likelihoods = asked.log_likelihoods("right", *sentences).astype(np.float64)
    tokens = np.array([len(row) + 1 for row in sentences[2]])
    assert asked.perplexity("right", *sentences) == pytest.approx(
        math.exp(-(likelihoods @ tokens) / tokens.sum()), rel=1e-5
    )


def test_a_batch_reads_and_writes_sentences_with_their_positions() -> None:
    left, centre, right = (np.array(each) for each in ([10, 11], [20], [30, 31, 32]))
    batch = inputs([(left, centre, right)] * 2, [1, 2], MARKS)
    assert batch.read.ids.tolist() == [[2, 10, 11, 3, 30, 31, 32, 3], [2, 10, 11, 3, 20, 3, 0, 0]]
    assert batch.read.types[0].tolist() == [0, 0, 0, 0, 2, 2, 2, 2]
    assert batch.read.types[1, :6].tolist() == [0, 0, 0, 0, 1, 1]
    assert batch.read.positions.tolist() == [[0, 1, 2, 3, 1, 2, 3, 4], [0, 1, 2, 3, 1, 2, 0, 0]]
    assert batch.given.ids.tolist() == [[2, 20, 0, 0], [2, 30, 31, 32]]
    assert batch.given.types[:, 0].tolist() == [1, 2]
    assert batch.targets.tolist() == [20, 3, 30, 31, 32, 3]
    assert batch.lengths.tolist() == [2, 4]


def test_batches_hold_every_sentence_once_and_keep_to_their_tokens() -> None:
    read, written = RNG.integers(5, 65, size=500), RNG.integers(2, 33, size=500)
    batches = list(by_length(read, written, 900))
    assert sorted(np.concatenate(batches)) == list(range(500))
    assert all(len(each) * (read[each].max() + written[each].max()) <= 900 for each in batches)
    assert [each.tolist() for each in by_length(np.array([2_000]), np.array([9]), 900)] == [[0]]
    assert list(by_length(np.zeros(0, np.int64), np.zeros(0, np.int64), 900)) == []


def test_a_pass_writes_every_part_of_every_context_once() -> None:
    lengths = RNG.integers(1, 30, size=200).astype(np.int32)
    sentences = GenerationBatches(np.arange(1, 199), [0, 2], lengths, 16, seed=0)
    for epoch in (0, 1):
        batches = sentences.batches(epoch)
        assert len(batches) == sentences.steps
        seen = Counter((int(c), int(p)) for contexts, parts in batches for c, p in zip(contexts, parts, strict=True))
        assert seen == Counter((c, p) for c in range(1, 199) for p in (0, 2))
    assert sentences.batches(0)[0][0].tolist() != sentences.batches(1)[0][0].tolist()


def test_training_brings_perplexity_under_that_of_single_tokens(trained: Path) -> None:
    """Under what the frequencies of tokens in the training text give, which know no context at all."""
    tokens, corpus = TokenTable.open(trained / "tokens"), Corpus.open(trained / "corpus", "held_out")
    held_out = TokenTable.open(trained / "tokens", "held_out")
    counts = Counter(token for row in tokens.rows(range(len(tokens))) for token in [*row.tolist(), -1])
    total = sum(counts.values())
    found = read_about(trained)[GENERATION]["held_out_perplexity"]
    for side, part in zip((-1, 0, 1), PARTS, strict=True):
        written = [token for row in held_out.rows(corpus.contexts() + side) for token in [*row.tolist(), -1]]
        unigram = math.exp(-np.mean([math.log((counts[token] + 1) / (total + 400)) for token in written]))
        assert 1 < found[part] < unigram / 3


def test_a_saved_network_is_the_same_and_shares_its_embeddings(tmp_path: Path) -> None:
    made, sentences = network(), three(5)
    save_network(made, tmp_path / "all")
    again: Any = open_network(tmp_path / "all", "cpu")
    assert again.decoder.cls.predictions.decoder.weight is again.encoder.embeddings.word_embeddings.weight
    assert again.decoder.bert.embeddings is again.encoder.embeddings
    assert parameters(again) == parameters(made)
    assert marks_of(again) == MARKS
    expected = generation(made).log_likelihoods("left", *sentences)
    np.testing.assert_allclose(
        Generation.open(tmp_path, asked="float32").log_likelihoods("left", *sentences), expected, atol=1e-6
    )


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_no_likelihood_is_above_zero_in_any_precision_also_of_what_is_certain(precision: Any) -> None:
    made: Any = network()
    head = made.decoder.cls.predictions.decoder
    with torch.no_grad():
        head.weight.zero_()
        head.bias.fill_(-30)
        head.bias[MARKS.end] = 10.07  # no number of bfloat16
    side = [np.full(3, 7, np.int32)]
    [found] = generation(made, precision).log_likelihoods("centre", side, [np.zeros(0, np.int32)], side)
    assert found <= 0
    assert found == pytest.approx(0, abs=1e-6)


def test_precision_is_told_by_name(trained: Path) -> None:
    fast = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    own = "bfloat16" if fast else "float32"
    assert Generation.open(trained / GENERATION).about() == {"device": "cpu", "precision": own}
    asked = Generation.open(trained / GENERATION, asked="bfloat16")
    assert asked.about() == {"device": "cpu", "precision": "bfloat16"}


def test_what_is_not_there_or_broken_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadOrigin, match="origin train"):
        Generation.open(tmp_path / "none")
    with pytest.raises(BadOrigin, match="origin train"):
        Generation.open(tmp_path)
    save_network(network(), tmp_path / "all")
    (tmp_path / "all" / "model.safetensors").write_bytes(b"broken")
    with pytest.raises(BadOrigin, match="cannot be read"):
        Generation.open(tmp_path)
    with pytest.raises(ValueError, match="3 does not divide 16"):
        GenerationSettings(dim=16, heads=3)


def test_a_network_starts_from_a_given_encoder(tmp_path: Path) -> None:
    folder = make_small(tmp_path / "bert")
    checkpoint = read_transformer(Source(folder))
    found: Any = started_network(checkpoint, 0, Marks(0, 101, 102))
    given: Any = AutoModel.from_pretrained(folder)
    assert isinstance(given, BertModel)
    for side in (found.encoder, found.decoder.bert):
        for name, weights in given.encoder.state_dict().items():
            torch.testing.assert_close(side.encoder.state_dict()[name], weights)
    words = found.encoder.embeddings.word_embeddings.weight
    torch.testing.assert_close(words, given.embeddings.word_embeddings.weight)
    assert found.decoder.cls.predictions.decoder.weight is words
    assert found.encoder.embeddings.token_type_embeddings.weight.shape == (3, DIM)
    assert BertConfig.from_pretrained(folder).type_vocab_size == 2


def test_what_is_no_bert_cannot_be_started_from(tmp_path: Path) -> None:
    folder = make_small(tmp_path / "other")
    shutil.copytree(folder, tmp_path / "roberta")
    edit(tmp_path / "roberta" / "config.json", model_type="roberta", architectures=["RobertaModel"])
    with pytest.raises(BadCheckpoint, match="no BERT but roberta"):
        started_network(read_transformer(Source(tmp_path / "roberta")), 0, MARKS)
