"""The share of a text that a model cannot read."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from semblance.models.text import TokenizedText
from semblance.models.tokenization.readability import Readability
from semblance.models.tokenization.subwords import FastTokenizer, serialize_tokenizer
from semblance.models.tokenization.words import word_piece_tokenizer
from tests.support.small_model import BUILT_IN_FOLDER

UNKNOWN = 7
LATIN_WORDS = ["".join(letters) for letters in product("abcde", repeat=3)]
READABILITY = Readability(LATIN_WORDS, UNKNOWN)


@st.composite
def tokenized(draw: st.DrawFn) -> TokenizedText:
    """Any text, with special tokens around tokens in reading order, some unknown, with gaps between them."""
    text = draw(st.text("abZ é йО語ん9-", min_size=1, max_size=40))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=20)))
    if len(cuts) < 2:
        cuts = [0, len(text)]
    kept = [span for span in pairwise(cuts) if draw(st.booleans())] or [(cuts[0], cuts[1])]
    words = np.cumsum([draw(st.integers(0, 1)) for _ in kept])
    ids = [draw(st.sampled_from([1, 2, UNKNOWN])) for _ in kept]
    return TokenizedText(
        text,
        np.array([0, *ids, 0], np.int32),
        np.array([(0, 0), *kept, (0, 0)], np.int32),
        np.array([-1, *words, -1], np.int32),
    )


def plain_share(text: TokenizedText) -> float:
    """The definition, letter by letter."""
    units = [
        (int(i), int(word), range(int(start), int(end)))
        for i, word, (start, end) in zip(text.ids, text.words, text.spans, strict=True)
        if word >= 0
    ]
    letters = [i for i in range(units[0][2].start, units[-1][2].stop) if text.text[i].isalpha()]
    by_word: dict[int, list[int]] = {}
    for _, word, span in units:
        by_word.setdefault(word, []).append(sum(i in letters for i in span))
    with_letters = {word: [count for count in counts if count] for word, counts in by_word.items() if any(counts)}
    unread = set()
    for i in letters:
        inside = [unit for unit in units if i in unit[2]]
        script = unicodedata.name(text.text[i]).split()[0]
        if script != "LATIN" or not inside or inside[0][0] == UNKNOWN:
            unread.add(i)
            continue
        pieces = with_letters[inside[0][1]]
        first = text.text[inside[0][2].start]
        latin = text.text.isascii() or unicodedata.name(first, "").startswith("LATIN ")
        if len(with_letters) >= 5 and len(pieces) > 1 and sum(pieces) < 3 * len(pieces) and latin:
            unread.add(i)
    if not letters:
        return float(all(number == UNKNOWN for number, _, _ in units))
    return len(unread) / len(letters)


@given(st.lists(tokenized(), min_size=1, max_size=4))
def test_shares_are_those_of_the_definition(texts: Sequence[TokenizedText]) -> None:
    assessed = READABILITY.assess(texts)
    assert [each.unread for each in assessed] == pytest.approx([plain_share(text) for text in texts])
    assert all(after.ids is before.ids for after, before in zip(assessed, texts, strict=True))


@cache
def english(max_tokens: int = 64) -> FastTokenizer:
    """Tokenizer of the built-in model."""
    return FastTokenizer(
        serialize_tokenizer(Tokenizer.from_file(str(BUILT_IN_FOLDER / "tokenizer.json")), False), max_tokens
    )


def unread(text: str, tokenizer: FastTokenizer | None = None) -> float:
    [tokens] = (tokenizer or english()).tokenize([text], "", "END")
    return tokens.unread


@pytest.mark.parametrize(
    "text",
    [
        "Кошка спит на диване.",
        "猫在沙发上睡觉。",
        "बिल्ली सोफे पर सो रही है",
        "แมวกำลังนอนหลับ",
        "Kissa nukkuu pehmeällä sohvalla koko päivän.",
        "Kot śpi na kanapie przez cały długi dzień.",
    ],
)
def test_other_languages_are_unread_by_an_english_model(text: str) -> None:
    assert unread(text) >= 0.5


@pytest.mark.parametrize(
    "text",
    [
        "The cat sleeps on the sofa all day long.",
        "omg I'm sooo late 😂😂 see u later lol",
        "for i in range(len(items)): total += items[i].price",
        "+49 30 901820",
        "café, naïve, résumé, jalapeño, Zürich",
        "See you 🙂👍",
        "...!?",
        "He said “привет” and left without another word.",
    ],
)
def test_english_names_code_and_numbers_are_read(text: str) -> None:
    assert unread(text) < 0.5


def test_a_truncated_text_is_judged_by_what_is_read() -> None:
    mixed = "The cat sleeps on the sofa. " * 3 + "Кошка спит на диване. " * 20
    [start] = english().tokenize([mixed], "", "START")
    [end] = english(16).tokenize([mixed], "", "END")
    assert (start.truncated, end.truncated) == (True, True)
    assert start.unread == 1.0
    assert end.unread == 0.0


def test_prompts_are_not_judged_and_unknown_signs_are_unread() -> None:
    [prompted] = english().tokenize(["Кошка спит"], "search query: ", "END")
    assert prompted.unread == unread("😀") == unread("🎉🎉 😂") == 1.0


def test_a_vocabulary_of_characters_judges_nothing() -> None:
    characters = word_piece_tokenizer({"[UNK]": 0, **{chr(97 + i): 1 + i for i in range(26)}})
    assert unread("кошка", FastTokenizer(characters.to_str(), 16)) == 0.0
