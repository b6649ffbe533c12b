"""Terms do not depend on how a text is encoded or laid out; whole words of a text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.tokenization.terms import document_terms, query_terms
from semblance.models.tokenization.words import WholeWords

WORDS = (
    "E-4711 no.12/3 don't cooperate naïve Élan ﬁne Ｅ－４７１１ ｶﾞｽﾞ ﾗｰﾒﾝ ガズ か゚ が 東京都 한국어 ภาษาไทย हिन्दी किताब "
    "كِتَاب كتاب سؤال שָׁלוֹם שלום ½ й ß İ ー ـ"
)
PARTS = [*WORDS.split(), *" -/。゙", "\u200b", "\u200d", "\u00ad", "\ufe0f", "\u0301"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=8).map("".join)
HYPHENS = "-\u2010\u2011\u2212\uff0d"
INVISIBLE = "\u00ad\u200c\u200d\u2060\ufeff"


def words(text: str) -> list[str]:
    return [term.text for term in document_terms(text)]


@given(text=TEXTS | st.text(max_size=12))
def test_the_span_of_a_term_has_the_term(text: str) -> None:
    for term in document_terms(text):
        assert 0 <= term.start < term.end <= len(text)
        assert term.text in words(text[term.start : term.end])


@given(text=TEXTS | st.text(max_size=12))
def test_terms_are_folded_and_not_empty(text: str) -> None:
    for term in {*words(text), *query_terms(text)}:
        assert term
        assert term == unicodedata.normalize("NFC", term)
        assert not any(unicodedata.category(character) == "Cf" for character in term)


@given(text=TEXTS)
def test_terms_do_not_depend_on_the_normal_form(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert words(unicodedata.normalize(form, text)) == words(text)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("ｶﾞｽ", "ガス"),
        ("ﾊﾟﾝ", "パン"),
        ("ﾗｰﾒﾝ", "ラーメン"),
        ("Ｅ－４７１１", "E-4711"),
        ("كِتَابٌ", "كتاب"),
        ("كتـــاب", "كتاب"),
        ("שָׁלוֹם", "שלום"),
        ("naïve", "NAI\u0308VE"),
        ("don’t", "don't"),
    ],
)
def test_texts_that_readers_hold_for_equal_have_equal_terms(text: str, other: str) -> None:
    assert words(text) == words(other)
    assert query_terms(text) == query_terms(other)


@pytest.mark.parametrize(
    ("text", "other"),
    [("か", "が"), ("カ", "ガ"), ("किताब", "कताब"), ("سؤال", "سوال"), ("ไม", "ไม่"), ("東\u200b京", "東京")],
)
def test_signs_that_make_another_word_are_kept(text: str, other: str) -> None:
    assert words(text) != words(other)


@given(hyphens=st.lists(st.sampled_from(HYPHENS), min_size=2, max_size=2))
def test_every_hyphen_joins_words(hyphens: list[str]) -> None:
    first, second = hyphens
    assert words(f"Über E{first}47{second}11") == ["uber", "e", "47", "11", "e-47-11"]
    assert query_terms(f"well{first}known") == ["well", "known"]


@given(word=st.sampled_from(["cooperate", "naïve", "E-4711", "ガズ", "東京都", "한국어", "كتاب"]), data=st.data())
def test_invisible_characters_split_no_word(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(word)).filter(lambda at: word[at : at + 1] != "-" and word[at - 1] != "-"))
    changed = word[:at] + data.draw(st.text(INVISIBLE, min_size=1, max_size=2)) + word[at:]
    assert words(changed) == words(word)
    assert query_terms(changed) == query_terms(word)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("The hat.", ["The", "hat", "."]),
        ('("hat")', ['"', "hat", '"']),
        ("Dr. Hat, U.S.A., hat...", ["Dr.", "Hat", "U.S.A.", "hat", "..."]),
        ("don't DON'T the hat's", ["do", "n't", "DO", "N'T", "the", "hat", "'s"]),
        ("mother-in-law's hat-of", ["mother-in-law", "'s", "hat", "of"]),
        ("hat🙂the 東京 the\u3000hat", ["hat", "the", "the", "hat"]),
        ("https://hat.example/the", ["hat", ".", "the"]),
    ],
)
def test_whole_words_precede_splits_at_punctuation_and_clitics(text: str, parts: list[str]) -> None:
    known = ["the", "hat", ".", '"', "dr.", "u.s.a.", "do", "n't", "'s", "mother-in-law", "of", "..."]
    rows = {word: row for row, word in enumerate(known)}
    [tokens] = WholeWords(rows)([text])
    found = [text[token.start : token.end] for token in tokens]
    assert found == parts
    assert [rows[part.lower()] for part in found] == [token.row for token in tokens]


def test_case_matters_only_if_the_vocabulary_has_it() -> None:
    [tokens] = WholeWords({"Apple": 0, "apple": 1, "pie": 2})(["Apple apple APPLE Pie"])
    assert [token.row for token in tokens] == [0, 1, 1, 2]
    [lower] = WholeWords({"apple": 0, "pie": 1})(["Apple PIE"])
    assert [token.row for token in lower] == [0, 1]
