"""Origin's networks learn from a tiny corpus: order and likelihoods, on held-out documents."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.tokens import TokenTable
from semblance_lab.origin.networks.coherence import Coherence
from semblance_lab.origin.networks.generation import Generation
from semblance_lab.origin.networks.loop import TrainingPlan
from semblance_lab.origin.networks.network_training import (
    better_than_chance,
    held_out_accuracies,
    train_coherence,
)
from semblance_lab.origin.networks.training import Training, train_networks
from semblance_lab.origin.origin_folder import COHERENCE, GENERATION, read_about
from semblance_lab.origin.scoring.scoring import CONTEXT_PARTS
from tests.lab.origin.tiny_corpus import tiny_documents
from tests.lab.origin.tiny_networks import SETTINGS, write_tiny_origin


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny origin folder with both kinds of networks, trained; read-only."""
    folder = write_tiny_origin(tmp_path_factory.mktemp("origin") / "trained")
    train_networks(Training(folder, SETTINGS), lambda *_: None)
    return folder


def accuracies(folder: Path, interaction: str, work: Path) -> dict[str, dict[str, float]]:
    corpus, tokens = Corpus.open(folder / "corpus"), TokenTable.open(folder / "tokens")
    settings = SETTINGS.coherence.model_copy(update={"interaction": interaction})
    torch.manual_seed(0)
    model = Coherence(SETTINGS.vocabulary.size, settings)
    plan = TrainingPlan(90, settings.learning_rate, "test", work / "checkpoint")
    train_coherence(corpus, tokens, model, plan, lambda _: None)
    held_out = Corpus.open(folder / "corpus", "held_out"), TokenTable.open(folder / "tokens", "held_out")
    return {kind: asdict(each) for kind, each in held_out_accuracies(model, *held_out, seed=0).items()}


@pytest.mark.nightly
def test_order_is_learned_only_with_the_bilinear_terms(trained: Path, tmp_path: Path) -> None:
    learned = read_about(trained)[COHERENCE]["held_out_accuracy"]
    assert set(learned) == {"same document", "anywhere", "both"}
    assert all(each["low"] > 0.6 for each in learned.values())
    additive = accuracies(trained, "none", tmp_path)
    assert all(each["low"] <= 0.5 <= each["high"] for each in additive.values())
    assert better_than_chance(learned)
    assert not better_than_chance(additive)


def test_no_order_is_learned_from_shuffled_sentences(tmp_path: Path) -> None:
    sentences = [sentence for _, document in tiny_documents() for sentence in document]
    random.Random(0).shuffle(sentences)
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(0, len(sentences), 10):
        (texts / f"{number}.txt").write_text("\n".join(sentences[number : number + 10]), "utf-8")
    assert not better_than_chance(accuracies(write_tiny_origin(tmp_path / "origin", texts), "bilinear", tmp_path))


@pytest.mark.nightly
def test_training_lowers_perplexity_below_that_of_unigrams(trained: Path) -> None:
    """Below a third of the perplexity by token frequencies of the training text."""
    tokens, corpus = TokenTable.open(trained / "tokens"), Corpus.open(trained / "corpus", "held_out")
    held_out = TokenTable.open(trained / "tokens", "held_out")
    counts = Counter(token for row in tokens.rows(range(len(tokens))) for token in [*row.tolist(), -1])
    total = sum(counts.values())
    found = read_about(trained)[GENERATION]["held_out_perplexity"]
    for side, part in zip((-1, 0, 1), CONTEXT_PARTS, strict=True):
        written = [token for row in held_out.rows(corpus.contexts() + side) for token in [*row.tolist(), -1]]
        unigram = math.exp(-np.mean([math.log((counts[token] + 1) / (total + 400)) for token in written]))
        assert 1 < found[part] < unigram / 3


def test_bfloat16_is_near_float32(tmp_path: Path) -> None:
    """After one epoch of training, which moves all weights."""
    brief = SETTINGS.model_copy(
        update={
            "coherence": SETTINGS.coherence.model_copy(update={"epochs": 1}),
            "generation": SETTINGS.generation.model_copy(update={"epochs": 1}),
        }
    )
    trained = write_tiny_origin(tmp_path / "trained", settings=brief)
    train_networks(Training(trained, brief), lambda *_: None)
    tokens, contexts = TokenTable.open(trained / "tokens", "held_out"), Corpus.open(trained / "corpus", "held_out")
    sentences = [tokens.rows(contexts.contexts() + side) for side in (-1, 0, 1)]
    exact, near = (
        Generation.open(trained / GENERATION, precision=precision).log_likelihoods("left", *sentences)
        for precision in ("float32", "bfloat16")
    )
    np.testing.assert_allclose(near, exact, atol=0.02)
