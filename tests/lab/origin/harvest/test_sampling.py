"""Bundles have the composition of the mixture, and depend on seed and number only."""

from __future__ import annotations

import numpy as np
import pytest

from semblance_lab.origin.corpus.documents import words
from semblance_lab.origin.errors import BadCorpus
from semblance_lab.origin.harvest.sampling import Bundle, BundleSampler, Mixture
from tests.lab.origin.lines import Lines, SharedParts
from tests.lab.origin.small_harvest import small_corpus

CORPUS = small_corpus()


def sampler(corpus: Lines = CORPUS, seed: int = 0, mixture: Mixture | None = None) -> BundleSampler:
    readable = np.array([len(line) < 200 for line in corpus.lines])
    return BundleSampler(corpus, SharedParts(corpus, words), readable, mixture or Mixture(), seed)


def of_kind(bundle: Bundle, kind: str) -> list[int]:
    return [i for i, each in zip(bundle.sentences, bundle.kinds, strict=True) if each == kind]


def test_a_bundle_has_the_composition_of_the_mixture() -> None:
    bundles = sampler()
    for number in range(len(bundles)):
        bundle = bundles.bundle(number)
        assert bundle.kinds == ("anchor", "near", "near", "near", "document", "random")
        assert len(set(bundle.sentences)) == 6
        anchor = bundle.sentences[0]
        assert all(CORPUS.document[i] == CORPUS.document[anchor] for i in of_kind(bundle, "document"))
        near = of_kind(bundle, "near")
        assert all(CORPUS.document[i] != CORPUS.document[anchor] for i in near)
        assert len({int(CORPUS.chunk[i]) for i in near}) == 3
    assert len(list(bundles.bundle(0).pairs())) == Mixture().pairs == 15


def test_near_sentences_are_the_most_similar_one_per_chunk() -> None:
    corpus = Lines(
        [
            ["The old dog sleeps in the sun.", "Nothing like it here.", "Nor is there anything here.", "Not at all."],
            ["A storm came up.", "The old dog barks in the sun.", "The old ship sinks.", "They left the sun."],
            ["Rain fell for days.", "A dog came by.", "No one saw it.", "It went away."],
            ["Some old dog sleeps in the rain.", "This has no such word.", "They went on.", "Old dog."],
        ]
    )
    bundles = sampler(corpus, mixture=Mixture(near=2))
    [bundle] = [each for each in map(bundles.bundle, range(len(bundles))) if each.sentences[0] == 0]
    assert of_kind(bundle, "near") == [5, 12]  # 5 of 7 shared words, then 5 of 8; 9 has 1 of 9


def test_every_sentence_anchors_one_bundle_in_any_order() -> None:
    bundles = sampler()
    forth = [bundles.bundle(i) for i in range(len(bundles))]
    assert sorted(each.sentences[0] for each in forth) == list(range(len(CORPUS)))
    again = sampler()
    assert [again.bundle(i) for i in reversed(range(len(again)))] == forth[::-1]
    assert [sampler(seed=1).bundle(i) for i in range(5)] != forth[:5]


def test_single_words_and_truncated_sentences_are_not_sampled() -> None:
    corpus = Lines([["Yes.", "...", "a " * 100, *document] for document in CORPUS.documents])
    bundles = sampler(corpus)
    assert len(bundles) == len(CORPUS)
    found = {corpus.text(i) for number in range(len(bundles)) for i in bundles.bundle(number).sentences}
    assert found == set(CORPUS.lines)


def test_han_characters_count_as_words() -> None:
    lines = ["你好吗", "我很好。", "再见!", "谢谢_你", "don't", "a_b"]  # none has white space
    assert len(sampler(Lines([lines]))) == 6
    with pytest.raises(BadCorpus, match=r"has 5 sentences of 2 words or more .* too few for bundles of 6"):
        sampler(Lines([[*lines[:-1], "你"]]))


def test_random_sentences_replace_missing_near_ones() -> None:
    one_document = Lines([CORPUS.lines[:20]])
    kinds = {sampler(one_document).bundle(i).kinds for i in range(20)}
    assert kinds == {("anchor", "document", "random", "random", "random", "random")}
    alone = Lines([[line] for line in ("one two", "three four", "five six", "seven eight", "nine ten", "six seven")])
    assert [sampler(alone).bundle(i).kinds.count("random") for i in range(6)].count(4) == 2  # six and six are near
