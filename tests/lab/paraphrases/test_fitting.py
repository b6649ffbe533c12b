"""Fitting the network: lower loss, the same bits for a seed, weights of sets, and tensors that suffice."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from semblance.models.paraphrases.classifier import ParaphraseClassifier
from semblance_lab.paraphrases.fitting import Fit, FitSettings, fit, log_odds_of, rows_without, weights_of
from semblance_lab.paraphrases.network import ParaphraseNetwork
from semblance_lab.paraphrases.pairs import CONTRAST, GENERATED, Pair
from tests.lab.paraphrases.drawn_pairs import DIM, clues_of, drawn_pairs, words_of

PAIRS = drawn_pairs(90)
SETTINGS = FitSettings(epochs=6, batch_size=30)


def fitted(settings: FitSettings = SETTINGS, rows: range = range(90)) -> Fit:
    return fit(PAIRS, clues_of(PAIRS), rows, settings, lambda *_: None)


@pytest.fixture(scope="module")
def trained() -> Fit:
    return fitted()


def test_training_lowers_the_loss(trained: Fit) -> None:
    assert len(trained.losses) == 6
    assert trained.losses[-1] < 0.5 * trained.losses[0]


def test_trained_networks_tell_pairs_that_hold(trained: Fit) -> None:
    unseen = drawn_pairs(60, seed=5)
    values = log_odds_of(trained.network, unseen, clues_of(unseen))
    assert ((values > 0) == [pair.holds for pair in unseen]).mean() > 0.9


def test_a_seed_gives_the_same_bits(trained: Fit) -> None:
    again, other = fitted(), fitted(FitSettings(epochs=6, batch_size=30, seed=1))
    assert all(torch.equal(a, b) for a, b in zip(trained.network.parameters(), again.network.parameters(), strict=True))
    assert not torch.equal(trained.network.word.weight, other.network.word.weight)


def test_only_chosen_pairs_are_trained_on() -> None:
    chosen = PAIRS[1::2]
    alone = fit(chosen, clues_of(chosen), range(len(chosen)), SETTINGS, lambda *_: None)
    assert torch.equal(fitted(rows=range(1, 90, 2)).network.word.weight, alone.network.word.weight)


def test_entailments_do_not_move_what_only_sameness_needs() -> None:
    network = fitted(rows=range(2, 90, 3)).network
    assert all(PAIRS[i].entails for i in range(2, 90, 3))
    assert (network.text.item(), network.base[0].item()) == (-1, 3)
    assert network.base[1].item() != 2


def test_progress_is_reported_by_step() -> None:
    steps = []
    fit(PAIRS, clues_of(PAIRS), range(70), FitSettings(epochs=2, batch_size=32), lambda *each: steps.append(each[:2]))
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_kinds_of_the_contrast_set_are_held_out() -> None:
    pairs = [Pair(source, kind, "a", "b", holds=True) for source in (CONTRAST, GENERATED) for kind in ("x", "y", "z")]
    assert rows_without(pairs, ["x", "z"]) == [1, 3, 4, 5]


def test_weights_give_sets_and_kinds_their_shares() -> None:
    parts = [
        (Pair("snli", "neutral", "a", "b", holds=False, entails=True), 7),
        (Pair("snli", "contradiction", "a", "b", holds=False, entails=True), 3),
        (Pair("snli", "entailment", "a", "b", holds=True, entails=True), 5),
        (Pair(GENERATED, "x", "a", "b", holds=True), 4),
        (Pair(GENERATED, "y", "a", "b", holds=True), 16),
        (Pair(CONTRAST, "x", "a", "b", holds=False), 2),
    ]
    pairs = [pair for pair, count in parts for _ in range(count)]
    weights = weights_of(pairs)
    neutral, contradiction, entailment, x, y, contrast = (
        sum(weight for weight, each in zip(weights, pairs, strict=True) if each == pair) for pair, _ in parts
    )
    assert weights.mean() == pytest.approx(1)
    assert neutral + contradiction == pytest.approx(entailment)
    assert neutral / contradiction == pytest.approx(7 / 3)
    assert y / x == pytest.approx(2)  # the root of 16 / 4
    assert ((x + y) / entailment, contrast / entailment) == pytest.approx((4, 2))


def test_tensors_have_the_documented_shapes() -> None:
    tensors = ParaphraseNetwork(DIM).tensors()
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == {
        "word.weight": (24, DIM),
        "word.bias": (24,),
        "pair.weight": (32, DIM),
        "hidden.weight": (64, 91),
        "hidden.bias": (64,),
        "out.weight": (64,),
        "out.bias": (),
        "crossed.weight": (25,),
        "crossed.bias": (),
        "base": (),
        "text": (),
        "margin": (),
        "mix": (),
    }
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float32}


def test_served_classifiers_give_the_same_log_odds(trained: Fit) -> None:
    texts = ("the fox saw 2 crow", "the crow saw 3 fox", "never the reed", "2 foxes not seen, 7 crow")
    pairs = [Pair("s", "k", a, b, holds=True) for a in texts for b in texts]
    for network in (trained.network, ParaphraseNetwork(DIM)):
        served = ParaphraseClassifier({name: tensor.numpy() for name, tensor in network.tensors().items()})
        expected = [served.classify(words_of(pair.a), words_of(pair.b)).log_odds for pair in pairs]
        np.testing.assert_allclose(log_odds_of(network, pairs, clues_of(pairs)), expected, atol=1e-4)
