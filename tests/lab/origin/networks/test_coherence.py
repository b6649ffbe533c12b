"""The coherence model: sentence vectors, log-odds, the ranking of contexts, and batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.tokens import TokenTable
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.networks.coherence import Coherence, CoherenceRanking, write_vectors
from semblance_lab.origin.networks.network_training import batch_order
from semblance_lab.origin.origin_folder import COHERENCE
from semblance_lab.origin.origin_settings import CoherenceSettings
from tests.lab.origin.tiny_networks import SETTINGS

RNG = np.random.default_rng(0)
PIECES = 50


def rows(*lengths: int) -> list[np.ndarray]:
    return [RNG.integers(PIECES, size=length) for length in lengths]


def network(**settings: object) -> Coherence:
    torch.manual_seed(0)
    sizes = {"embedding": 8, "hidden": 6, "rank": 5, **settings}
    return Coherence(PIECES, CoherenceSettings.model_validate(sizes)).eval()


@pytest.mark.parametrize("states", ["mean", "last"])
def test_a_sentence_vector_does_not_depend_on_its_batch(states: str) -> None:
    sentences = rows(1, 1_000, 7, 32, 3, 7)
    model = network(states=states)
    with torch.inference_mode():
        together = model.vectors(sentences)
        alone = torch.cat([model.vectors([row]) for row in sentences])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("states", ["mean", "last"])
def test_a_vector_is_the_mean_or_last_state(states: str) -> None:
    model, [row] = network(states=states), rows(9)
    with torch.inference_mode():
        outputs, _ = model._lstm(model._embeddings(torch.from_numpy(row)))
        forwards, backwards = outputs.split(model.settings.hidden, dim=1)
        expected = outputs.mean(dim=0) if states == "mean" else torch.cat([forwards[-1], backwards[0]])
        torch.testing.assert_close(model.vectors([row])[0], expected)


@pytest.mark.parametrize("interaction", ["bilinear", "none"])
def test_log_odds_match_the_formula(interaction: str) -> None:
    model = network(interaction=interaction)
    with torch.inference_mode():
        left, center, right = (model.vectors(rows(*RNG.integers(1, 9, size=4))) for _ in range(3))
        weights = torch.cat([each.weight[0] for each in (model._left, model._centre, model._right)])
        expected = torch.cat([left, center, right], dim=1) @ weights + model._centre.bias
        if interaction == "bilinear":
            before, after = model._of_centre.weight.split(model.rank)  # type: ignore[union-attr]
            a, b = model._of_context[0].weight.T @ before, after.T @ model._of_context[1].weight
            expected += torch.einsum("nd,de,ne->n", left, a, center) + torch.einsum("nd,de,ne->n", center, b, right)
        torch.testing.assert_close(model.logits(left, center, right), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("interaction", ["bilinear", "none"])
def test_the_ranking_matches_the_network_in_every_context(untrained: Path, tmp_path: Path, interaction: str) -> None:
    corpus, tokens = Corpus.open(untrained / "corpus"), TokenTable.open(untrained / "tokens")
    settings = SETTINGS.coherence.model_copy(update={"interaction": interaction})
    torch.manual_seed(1)
    model = Coherence(SETTINGS.vocabulary.size, settings).eval()
    model.save(tmp_path)
    assert sum(write_vectors(model, tokens, corpus.contexts(), tmp_path)) == len(corpus)
    sentences = tokens.rows([5, 70, 11])
    found = CoherenceRanking.open(tmp_path, corpus).log_probabilities(sentences)
    assert found.shape == (3, len(corpus.contexts()))
    with torch.inference_mode():
        for row, sentence in zip(found, sentences, strict=True):
            for at, context in enumerate(corpus.contexts()):
                left, right = (model.vectors(tokens.rows([context + side])) for side in (-1, 1))
                expected = torch.sigmoid(model.logits(left, model.vectors([sentence]), right)).log()
                assert row[at] == pytest.approx(float(expected), abs=2e-3)  # the keys are stored in float16


def test_the_nearest_sentences_have_the_highest_cosines(untrained: Path) -> None:
    corpus, tokens = Corpus.open(untrained / "corpus"), TokenTable.open(untrained / "tokens")
    ranking, model = CoherenceRanking.open(untrained / COHERENCE, corpus), Coherence.open(untrained / COHERENCE)
    nearest = ranking.nearest(tokens.rows([17, 3]), 4)
    assert nearest[:, 0].tolist() == [17, 3]
    with torch.inference_mode():
        every = model.vectors(tokens.rows(range(len(tokens))))
        cosines = torch.cosine_similarity(every[17], every).numpy()
    best = np.sort(cosines)[::-1][:4]
    np.testing.assert_allclose(cosines[nearest[0]], best, atol=2e-3)
    assert ranking.nearest(tokens.rows([0]), 10**6).shape == (1, len(corpus))


def test_vectors_of_another_corpus_are_refused(untrained: Path) -> None:
    with pytest.raises(BadOrigin, match="another corpus"):
        CoherenceRanking.open(untrained / COHERENCE, Corpus.open(untrained / "corpus", "held_out"))
    with pytest.raises(BadOrigin, match="origin train"):
        Coherence.open(untrained / "corpus")


def test_initial_token_vectors_have_the_norm_of_random_ones() -> None:
    model = network()
    vectors = np.eye(PIECES, 8)
    model.init_embeddings(vectors)
    with torch.inference_mode():
        found = model._embeddings.weight.numpy()
    np.testing.assert_allclose(found, vectors * np.sqrt(8), rtol=1e-6)


def test_an_epoch_has_every_context_once_grouped_by_document(untrained: Path) -> None:
    corpus = Corpus.open(untrained / "corpus")
    order = batch_order(corpus, SETTINGS.coherence)
    for epoch in (0, 1):
        batches = order.batches(epoch)
        assert len(batches) == order.steps
        np.testing.assert_array_equal(np.sort(np.concatenate(batches)), corpus.contexts())
    batch = order.batches(0)[0]
    documents = corpus.document[batch]
    assert np.mean([np.sum(documents == each) > 1 for each in documents]) > 0.9
    assert batch.tolist() != order.batches(1)[0].tolist()
