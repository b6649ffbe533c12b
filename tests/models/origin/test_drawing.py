"""Bundles are of the mixture, the same whoever draws them, and hold what they say."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.models.origin.errors import BadCorpus
from semblance.models.origin.harvest.sampling import Bundle, Drawing, Mixture
from tests.models.origin.field import Lines, SharedWords, small_corpus

CORPUS = small_corpus()


def drawing(corpus: Lines = CORPUS, seed: int = 0, mixture: Mixture | None = None) -> Drawing:
    readable = np.array([len(line) < 200 for line in corpus.lines])
    return Drawing(corpus, SharedWords(corpus), readable, mixture or Mixture(), seed)


def of_kind(bundle: Bundle, kind: str) -> list[int]:
    return [i for i, its in zip(bundle.sentences, bundle.kinds, strict=True) if its == kind]


def test_a_bundle_is_an_anchor_near_sentences_one_of_its_document_and_a_random_one() -> None:
    drawn = drawing()
    for number in range(len(drawn)):
        bundle = drawn.bundle(number)
        assert bundle.kinds == ("anchor", "near", "near", "near", "document", "random")
        assert len(set(bundle.sentences)) == 6
        anchor = bundle.sentences[0]
        assert all(CORPUS.document[i] == CORPUS.document[anchor] for i in of_kind(bundle, "document"))
        near = of_kind(bundle, "near")
        assert all(CORPUS.document[i] != CORPUS.document[anchor] for i in near)
        assert len({int(CORPUS.chunk[i]) for i in near}) == 3
    assert len(list(drawn.bundle(0).pairs())) == Mixture().pairs == 15


def test_near_sentences_are_the_most_alike_one_of_a_chunk() -> None:
    corpus = Lines(
        [
            ["The old dog sleeps in the sun.", "Nothing like it here.", "Nor is there anything here.", "Not at all."],
            ["A storm came up.", "The old dog barks in the sun.", "The old ship sinks.", "They left the sun."],
            ["Rain fell for days.", "A dog came by.", "Nobody saw it.", "It went away."],
            ["Some old dog sleeps in the rain.", "This has no such word.", "They went on.", "Old dog."],
        ]
    )
    drawn = drawing(corpus, mixture=Mixture(near=2))
    [bundle] = [each for each in map(drawn.bundle, range(len(drawn))) if each.sentences[0] == 0]
    assert of_kind(bundle, "near") == [5, 12]  # 5 of 7 words in common, then 5 of 8; 9 has 1 of 9


def test_every_sentence_is_an_anchor_once_and_bundles_do_not_depend_on_what_was_drawn_before() -> None:
    drawn = drawing()
    forth = [drawn.bundle(i) for i in range(len(drawn))]
    assert sorted(each.sentences[0] for each in forth) == list(range(len(CORPUS)))
    again = drawing()
    assert [again.bundle(i) for i in reversed(range(len(again)))] == forth[::-1]
    assert [drawing(seed=1).bundle(i) for i in range(5)] != forth[:5]


def test_sentences_of_one_word_and_those_that_the_teacher_reads_in_part_are_not_drawn() -> None:
    corpus = Lines([["Yes.", "...", "a " * 100, *document] for document in CORPUS.documents])
    drawn = drawing(corpus)
    assert len(drawn) == len(CORPUS)
    found = {corpus.text(i) for number in range(len(drawn)) for i in drawn.bundle(number).sentences}
    assert found == set(CORPUS.lines)


def test_han_characters_are_words_as_they_are_where_chunks_are_screened() -> None:
    lines = ["你好吗", "我很好。", "再见!", "谢谢_你", "don't", "a_b"]  # none has white space
    assert len(drawing(Lines([lines]))) == 6
    with pytest.raises(BadCorpus, match="has 5 sentences of 2 words or more"):
        drawing(Lines([[*lines[:-1], "你"]]))


def test_random_sentences_stand_in_where_there_are_no_near_ones() -> None:
    one_document = Lines([CORPUS.lines[:20]])
    kinds = {drawing(one_document).bundle(i).kinds for i in range(20)}
    assert kinds == {("anchor", "document", "random", "random", "random", "random")}
    alone = Lines([[line] for line in ("one two", "three four", "five six", "seven eight", "nine ten", "six seven")])
    assert [drawing(alone).bundle(i).kinds.count("random") for i in range(6)].count(4) == 2  # six and six are near


def test_a_corpus_that_is_too_small_is_refused() -> None:
    with pytest.raises(
        BadCorpus, match="has 5 sentences of 2 words or more that are read to their end, too few for bundles of 6"
    ):
        drawing(Lines([["One word more.", "Two words.", "Three words.", "Four words.", "Five words.", "Six"]]))
