"""The coherence model: one vector a sentence, order learned where there is some, and every context ranked at once."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from semblance.models.origin.corpus.corpus import Corpus
from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.networks.coherence import Coherence
from semblance.models.origin.networks.coherence_ranking import CoherenceRanking, write_vectors
from semblance.models.origin.networks.coherence_training import (
    as_json,
    held_out_accuracies,
    knows_order,
    order_of,
    train_coherence,
)
from semblance.models.origin.networks.loop import Plan
from semblance.models.origin.origin_folder import COHERENCE, read_about
from semblance.models.origin.origin_settings import CoherenceSettings
from tests.models.origin.tiny_corpus import tiny_documents
from tests.models.origin.tiny_networks import SETTINGS, write_tiny_origin

RNG = np.random.default_rng(0)
PIECES = 50


def rows(*lengths: int) -> list[np.ndarray]:
    return [RNG.integers(PIECES, size=length) for length in lengths]


def network(**settings: object) -> Coherence:
    torch.manual_seed(0)
    given = {"embedding": 8, "hidden": 6, "rank": 5, **settings}
    return Coherence(PIECES, CoherenceSettings.model_validate(given)).eval()


@pytest.mark.parametrize("states", ["mean", "last"])
def test_a_sentence_alone_and_in_a_batch_of_other_lengths_has_the_same_vector(states: str) -> None:
    asked = rows(1, 1_000, 7, 32, 3, 7)
    model = network(states=states)
    with torch.inference_mode():
        together = model.vectors(asked)
        alone = torch.cat([model.vectors([row]) for row in asked])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-5)


def test_a_vector_is_the_mean_of_the_states() -> None:
    model, [row] = network(), rows(9)
    with torch.inference_mode():
        outputs, _ = model._lstm(model._embeddings(torch.from_numpy(row)))
        torch.testing.assert_close(model.vectors([row])[0], outputs.mean(dim=0))


def test_a_vector_is_the_final_state_of_either_direction_where_that_is_asked() -> None:
    model, [row] = network(states="last"), rows(9)
    with torch.inference_mode():
        embedded = model._embeddings(torch.from_numpy(row))
        outputs, _ = model._lstm(embedded)
        vector = model.vectors([row])[0]
    hidden = model.settings.hidden
    torch.testing.assert_close(vector[:hidden], outputs[-1, :hidden])  # forwards it ends at the last token
    torch.testing.assert_close(vector[hidden:], outputs[0, hidden:])  # backwards at the first


@pytest.mark.parametrize("interaction", ["bilinear", "none"])
def test_log_odds_are_those_of_the_formula(interaction: str) -> None:
    model = network(interaction=interaction)
    with torch.inference_mode():
        left, centre, right = (model.vectors(rows(*RNG.integers(1, 9, size=4))) for _ in range(3))
        weights = torch.cat([each.weight[0] for each in (model._left, model._centre, model._right)])
        expected = torch.cat([left, centre, right], dim=1) @ weights + model._centre.bias
        if interaction == "bilinear":
            before, after = model._of_centre.weight.split(model.rank)  # type: ignore[union-attr]
            a, b = model._of_context[0].weight.T @ before, after.T @ model._of_context[1].weight
            expected += torch.einsum("nd,de,ne->n", left, a, centre) + torch.einsum("nd,de,ne->n", centre, b, right)
        torch.testing.assert_close(model.logits(left, centre, right), expected, atol=1e-5, rtol=1e-5)


def test_without_interaction_every_sentence_puts_the_contexts_in_one_order() -> None:
    def orders(model: Coherence) -> set[tuple[int, ...]]:
        with torch.inference_mode():
            left, right = (model.vectors(rows(*range(1, 9))) for _ in range(2))
            sentences = model.vectors(rows(2, 4, 6, 8))
            logits = [model.logits(left, each.expand_as(left), right) for each in sentences]
        return {tuple(each.argsort().tolist()) for each in logits}

    assert len(orders(network(interaction="none"))) == 1
    assert len(orders(network())) > 1


@pytest.mark.parametrize("interaction", ["bilinear", "none"])
def test_the_ranking_is_what_the_network_says_of_every_context(
    corpus_only: Path, tmp_path: Path, interaction: str
) -> None:
    corpus, tokens = Corpus.open(corpus_only / "corpus"), TokenTable.open(corpus_only / "tokens")
    settings = SETTINGS.coherence.model_copy(update={"interaction": interaction})
    torch.manual_seed(1)
    model = Coherence(SETTINGS.vocabulary.size, settings).eval()
    model.save(tmp_path)
    assert sum(write_vectors(model, tokens, corpus.contexts(), tmp_path)) == len(corpus)
    asked = tokens.rows([5, 70, 11])
    found = CoherenceRanking.open(tmp_path, corpus).log_probabilities(asked)
    assert found.shape == (3, len(corpus.contexts()))
    with torch.inference_mode():
        for row, sentence in zip(found, asked, strict=True):
            for at, context in enumerate(corpus.contexts()):
                left, right = (model.vectors(tokens.rows([context + side])) for side in (-1, 1))
                expected = torch.sigmoid(model.logits(left, model.vectors([sentence]), right)).log()
                assert row[at] == pytest.approx(float(expected), abs=2e-3)  # the keys are kept in float16


def test_the_nearest_sentences_are_those_of_highest_cosine(trained: Path) -> None:
    corpus, tokens = Corpus.open(trained / "corpus"), TokenTable.open(trained / "tokens")
    ranking, model = CoherenceRanking.open(trained / COHERENCE, corpus), Coherence.open(trained / COHERENCE)
    nearest = ranking.nearest(tokens.rows([17, 3]), 4)
    assert nearest[:, 0].tolist() == [17, 3]
    with torch.inference_mode():
        every = model.vectors(tokens.rows(range(len(tokens))))
        cosines = torch.cosine_similarity(every[17], every).numpy()
    best = np.sort(cosines)[::-1][:4]
    np.testing.assert_allclose(cosines[nearest[0]], best, atol=2e-3)
    assert ranking.nearest(tokens.rows([0]), 10**6).shape == (1, len(corpus))


def test_vectors_of_another_corpus_are_refused(trained: Path) -> None:
    with pytest.raises(BadOrigin, match="another corpus"):
        CoherenceRanking.open(trained / COHERENCE, Corpus.open(trained / "corpus", "held_out"))
    with pytest.raises(BadOrigin, match="origin train"):
        Coherence.open(trained / "corpus")


def test_tokens_start_from_vectors_of_the_corpus_as_long_as_chance_would_draw_them() -> None:
    model = network()
    given = np.eye(PIECES, 8)
    model.start_from(given)
    with torch.inference_mode():
        found = model._embeddings.weight.numpy()
    np.testing.assert_allclose(found, given * np.sqrt(8), rtol=1e-6)


def test_every_context_comes_once_a_pass_and_with_others_of_its_document(corpus_only: Path) -> None:
    corpus = Corpus.open(corpus_only / "corpus")
    order = order_of(corpus, SETTINGS.coherence)
    for epoch in (0, 1):
        batches = order.batches(epoch)
        assert len(batches) == order.steps
        np.testing.assert_array_equal(np.sort(np.concatenate(batches)), corpus.contexts())
    batch = order.batches(0)[0]
    documents = corpus.document[batch]
    assert np.mean([np.sum(documents == each) > 1 for each in documents]) > 0.9
    assert batch.tolist() != order.batches(1)[0].tolist()


def accuracies(folder: Path, interaction: str, work: Path) -> dict[str, dict[str, float]]:
    corpus, tokens = Corpus.open(folder / "corpus"), TokenTable.open(folder / "tokens")
    settings = SETTINGS.coherence.model_copy(update={"interaction": interaction})
    torch.manual_seed(0)
    model = Coherence(SETTINGS.vocabulary.size, settings)
    plan = Plan(90, settings.learning_rate, "test", work / "checkpoint")
    train_coherence(corpus, tokens, model, plan, lambda _: None)
    held_out = Corpus.open(folder / "corpus", "held_out"), TokenTable.open(folder / "tokens", "held_out")
    return as_json(held_out_accuracies(model, *held_out, seed=0))


def test_order_is_learned_with_the_bilinear_terms_and_not_without(
    trained: Path, corpus_only: Path, tmp_path: Path
) -> None:
    learned = read_about(trained)[COHERENCE]["held_out_accuracy"]
    assert set(learned) == {"same document", "anywhere", "both"}
    assert all(each["low"] > 0.6 for each in learned.values())
    additive = accuracies(corpus_only, "none", tmp_path)
    assert all(each["low"] <= 0.5 <= each["high"] for each in additive.values())
    assert knows_order(learned)
    assert not knows_order(additive)


def test_of_shuffled_sentences_no_order_is_learned(tmp_path: Path) -> None:
    sentences = [sentence for _, its in tiny_documents() for sentence in its]
    random.Random(0).shuffle(sentences)
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(0, len(sentences), 10):
        (texts / f"{number}.txt").write_text("\n".join(sentences[number : number + 10]), "utf-8")
    assert not knows_order(accuracies(write_tiny_origin(tmp_path / "origin", texts), "bilinear", tmp_path))
