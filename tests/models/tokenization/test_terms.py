"""Terms do not depend on how a text is encoded or laid out; whole words of a text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.tokenization.terms import document_terms, places, query_terms
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


def queried(text: str) -> list[str]:
    return [term.text for term in query_terms(text)]


@given(text=TEXTS | st.text(max_size=12))
def test_the_span_of_a_term_has_the_term(text: str) -> None:
    for term in document_terms(text):
        assert 0 <= term.start < term.end <= len(text)
        assert term.text in words(text[term.start : term.end])


@given(text=TEXTS | st.text(max_size=12))
def test_terms_are_folded_and_not_empty(text: str) -> None:
    for term in {*words(text), *queried(text)}:
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
    assert queried(text) == queried(other)


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
    assert queried(f"well{first}known") == ["well", "known"]


@given(word=st.sampled_from(["cooperate", "naïve", "E-4711", "ガズ", "東京都", "한국어", "كتاب"]), data=st.data())
def test_invisible_characters_split_no_word(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(word)).filter(lambda at: word[at : at + 1] != "-" and word[at - 1] != "-"))
    changed = word[:at] + data.draw(st.text(INVISIBLE, min_size=1, max_size=2)) + word[at:]
    assert words(changed) == words(word)
    assert queried(changed) == queried(word)


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


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("E-117 fails", {"e": "part", "117": "part", "e-117": "code", "fails": "word"}),
        ("order 76577 of 1998", {"order": "word", "76577": "code", "of": "word", "1998": "word"}),
        ("B2B in the 1990s, 27th", {"b2b": "code", "in": "word", "the": "word", "1990s": "word", "27th": "word"}),
        ("2024-05-01", {"2024": "part", "05": "part", "01": "part", "2024-05-01": "code"}),
        ("don't 東京", {"don": "word", "t": "word", "東": "unspaced", "京": "unspaced", "東京": "unspaced"}),
    ],
)
def test_terms_with_digits_beside_something_else_are_codes(text: str, kinds: dict[str, str]) -> None:
    assert {term.text: term.kind for term in document_terms(text)} == kinds


def test_a_part_of_a_code_finds_no_part_of_another() -> None:
    text = "E-117, e 4711, E-4711"
    part, *_ = query_terms("E-4711")
    word, *_ = query_terms("e")
    assert places(text, [part]) == {"e": [(7, 8)]}
    assert places(text, [word]) == {"e": [(0, 1), (7, 8), (15, 16)]}
    assert places(text, query_terms("E-4711 e"))["e"] == places(text, [word])["e"]
