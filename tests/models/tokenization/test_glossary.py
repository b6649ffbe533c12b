"""Glossaries override similarities of tokens and extend terms; texts that they do not touch stay equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models import catalogue
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.nearest_passages import explain_passages, score_passages
from semblance.models.protocols import Explainable
from semblance.models.text import TokenizedText
from semblance.models.tokenization.glossary import NO_GLOSSARY, Glossary, equal, one_way, opposite
from semblance.models.tokenization.terms import places

WORDS = ["heart", "attack", "mi", "open", "closed", "please", "pump", "shoes"]
GLOSSARY = Glossary.of(
    [equal(["heart attack", "MI"]), *opposite(["open"], ["closed"]), *one_way(["shoes"], ["pump"])], ["please"]
)
RELATED = [({"heart attack", "mi"}, {"heart attack", "mi"}), ({"open"}, {"closed"}), ({"closed"}, {"open"})]
RELATED += [({"shoes"}, {"shoes", "pump"})]
ALIGNING = [
    name
    for name in catalogue.measures()
    if catalogue.similarity(name).needs != "pooled" and isinstance(catalogue.similarity(name), Explainable)
]
words = st.lists(st.sampled_from([*WORDS, "valve", "red", "lamp"]), min_size=1, max_size=6)
seeds = st.integers(0, 1000)


def text(words: Sequence[str], seed: int) -> TokenEmbeddings:
    """Two tokens a word, of random vectors, between two special tokens."""
    random = np.random.default_rng(seed)
    starts = np.cumsum([0, *(len(word) + 1 for word in words)])[:-1]
    spans, numbers = [(0, 0)], [-1]
    for number, (start, word) in enumerate(zip(starts.tolist(), words, strict=True)):
        spans += [(start, start + 1), (start + 1, start + len(word))]
        numbers += [number, number]
    tokens = TokenizedText(
        " ".join(words),
        np.arange(len(spans) + 1, dtype=np.int32),
        np.array([*spans, (0, 0)], np.int32),
        np.array([*numbers, -1], np.int32),
    )
    vectors = random.normal(size=(len(tokens), 5)).astype(np.float32)
    return TokenEmbeddings(vectors, np.ones(len(tokens), np.float32), tokens).finalized("tokens", normalize=True)


def has(phrase: str, words: Sequence[str]) -> bool:
    return f" {phrase} " in f" {' '.join(words)} "


def touched(query: Sequence[str], document: Sequence[str]) -> bool:
    if "please" in [*query, *document]:
        return True
    return any(has(one, query) and has(other, document) for asked, found in RELATED for one in asked for other in found)


@given(words, words, seeds)
def test_explanations_sum_to_scores_and_say_what_the_glossary_adds(a: list[str], b: list[str], seed: int) -> None:
    query, document = text(a, seed), text(b, seed + 1)
    for name in ALIGNING:
        measure = catalogue.explainable(name)
        explanation = explain_passages(measure, query, document, GLOSSARY)
        total = explanation.contribution.sum() + explanation.special
        [score] = score_passages(measure, query, [document], GLOSSARY)
        assert total == pytest.approx(explanation.score, abs=1e-6)
        assert score == pytest.approx(explanation.score, abs=1e-6)
        assert explanation.by_glossary == pytest.approx(score - measure.score(query, document), abs=1e-6)
        words = explanation.by_word()
        assert words.contribution.sum() + words.special == pytest.approx(score, abs=1e-6)


@given(words, st.lists(words, min_size=1, max_size=8), seeds)
def test_pairs_without_related_phrases_keep_every_bit(a: list[str], others: list[list[str]], seed: int) -> None:
    query, documents = text(a, seed), [text(each, seed + i) for i, each in enumerate(others, 1)]
    kept = [i for i, each in enumerate(others) if not touched(a, each)]
    for name in ALIGNING:
        measure = catalogue.similarity(name)
        before = score_passages(measure, query, documents)
        after = score_passages(measure, query, documents, GLOSSARY)
        assert before[kept].tolist() == after[kept].tolist()


@given(words, words, seeds)
def test_relaxed_transport_agrees_with_an_overridden_matrix(a: list[str], b: list[str], seed: int) -> None:
    """By the phrases of words that are written apart here, one by one."""
    query, document = text(a, seed), text(b, seed + 1)
    rows, columns = ([word for word in each for _ in "ab"] for each in (a, b))
    keep = [[i for i, word in enumerate(each) if word != "please"] or range(len(each)) for each in (rows, columns)]
    x, y = (each.vectors[1:-1].astype(np.float64) for each in (query, document))
    cosines = (x / np.linalg.norm(x, axis=1)[:, None]) @ (y / np.linalg.norm(y, axis=1)[:, None]).T
    for i, left in enumerate(in_phrases(a)):
        for j, right in enumerate(in_phrases(b)):
            if any(left in asked and right in found for asked, found in RELATED):
                cosines[i, j] = -1.0 if {left, right} == {"open", "closed"} else 1.0
    cosines = cosines[np.ix_(*keep)]
    expected = (cosines.max(axis=1).mean() + cosines.max(axis=0).mean()) / 2
    [score] = score_passages(catalogue.similarity("rcmd_words"), query, [document], GLOSSARY)
    assert score == pytest.approx(expected, abs=1e-6)


def in_phrases(words: Sequence[str]) -> list[str]:
    """The phrase of each of two tokens of each word."""
    found: list[str] = []
    for i, word in enumerate(words):
        attack = word == "attack" and i > 0 and words[i - 1] == "heart"
        heart = word == "heart" and words[i + 1 : i + 2] == ["attack"]
        found += ["heart attack" if attack or heart else word] * 2
    return found


def test_pooled_measures_and_an_empty_glossary_change_nothing() -> None:
    query, document = text(["mi"], 1), text(["heart", "attack"], 2)
    for name in ("cosine", *ALIGNING):
        measure = catalogue.explainable(name)
        assert explain_passages(measure, query, document).by_glossary is None
        plain = score_passages(measure, query, [document], NO_GLOSSARY)
        assert plain.tolist() == score_passages(measure, query, [document]).tolist()
    assert explain_passages(catalogue.explainable("cosine"), query, document, GLOSSARY).by_glossary is None
    equal_words = explain_passages(catalogue.explainable("rcmd_words"), query, document, GLOSSARY)
    assert equal_words.score == pytest.approx(1.0)


def test_the_longest_phrase_is_found_in_any_spelling() -> None:
    glossary = Glossary.of([equal(["New York", "NYC"]), equal(["York", "Eboracum"]), equal(["東京", "Tokio"])])
    text = "new-YORK, york; Ｎ Y C nyc 大東京都 tokyo TÓKIO"
    found = [(text[each.start : each.end], " ".join(glossary.phrases[each.phrase])) for each in glossary.find(text)]
    assert found == [("new-YORK", "new york"), ("york", "york"), ("nyc", "nyc"), ("東京", "東 京"), ("TÓKIO", "tokio")]


def test_terms_of_a_phrase_find_its_equals() -> None:
    alternatives = {term.text: term.alternatives for term in GLOSSARY.query_terms("please open heart attack shoes")}
    assert alternatives == {
        "open": (),
        "heart": (("mi",),),
        "attack": (("mi",),),
        "shoes": (("pump",),),
    }
    assert [term.alternatives for term in GLOSSARY.query_terms("a pump")] == [(), ()]


def test_words_of_one_stem_are_one_term_of_a_query() -> None:
    glossary = Glossary.of([equal(["parcels", "RMA"])], stems="en")
    terms = {term.text: (term.stems, term.alternatives) for term in glossary.query_terms("Parcels, parcel E-117 東京")}
    assert terms == {
        "parcels": ("en", (("rma",),)),
        **dict.fromkeys(("e", "117", "e-117", "東京"), ("", ())),
    }
    asked = Glossary.of(stems="de").query_terms("Häuser")
    found = places("Haus Hauses Maus Häusern", asked)
    assert found == {"hauser": [(0, 4), (5, 11), (17, 24)]}


def test_relations_do_not_chain() -> None:
    glossary = Glossary.of([equal(["a", "b"]), equal(["b", "c"])])
    assert glossary.query_terms("a")[0].alternatives == (("b",),)
    assert glossary.query_terms("b")[0].alternatives == (("a",), ("c",))


def test_a_text_of_ignored_phrases_only_keeps_its_tokens() -> None:
    only = text(["please", "please"], 3)
    assert GLOSSARY.read(only) is only
    assert len(GLOSSARY.read(text(["please", "pump"], 3))) == 4
    with pytest.raises(ValueError, match="have none"):
        GLOSSARY.read(TokenEmbeddings(only.vectors, only.weights))
