"""Laws of passages: nothing is lost, each fits, and they are cut where sentences end."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import sentencex
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadTexts
from semblance.models.text import TokenizedText
from semblance.models.tokenization.passages import BLOCK_CHARS, Cut, Tokenize, cut_passages, fits, sentences

SENTENCES = [
    "The parcel is late. ",
    "Où est mon colis ? ",
    "荷物はどこですか。",
    "It costs 3.50 euros, Mr. Smith! ",
    "พัสดุอยู่ที่ไหน ",
]
ANY = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=300)
TEXTS = st.lists(
    st.sampled_from([*SENTENCES, "\n\n", "  ", "🙂", "e\u0301", "x" * 90]) | ANY, min_size=1, max_size=30
).map("".join)
CUTS = st.builds(Cut, st.integers(16, 60), st.integers(0, 3))


@pytest.fixture(scope="module")
def tokenize(minilm: Transformer) -> Tokenize:
    return partial(minilm.tokenize, role="document", truncate="END")


@given(text=TEXTS, cut=CUTS)
def test_passages_fit_and_lose_no_token(tokenize: Tokenize, text: str, cut: Cut) -> None:
    try:
        tokenize([text])
    except BadTexts:
        return
    spans = cut_passages(text, cut, tokenize)
    assert spans == sorted(spans)
    covered = set[int]()
    for start, end in spans:
        [tokens] = tokenize([text[start:end]])
        assert fits(tokens, cut) or end - start == 1, text[start:end]
        covered.update(range(start, end))
    lost = "".join(character for at, character in enumerate(text) if at not in covered)
    assert not _tokens_of(tokenize, lost), "a word is in no passage"


def test_passages_end_where_sentences_do(tokenize: Tokenize) -> None:
    text = "".join(SENTENCES * 10)
    spans = cut_passages(text, Cut(60, 0), tokenize)
    assert len(spans) > 5
    starts = {at for sentence in SENTENCES for at in _places(text, sentence.strip())}
    assert {start for start, _ in spans} <= starts
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


@pytest.mark.parametrize("overlap", [1, 2])
def test_a_passage_begins_with_the_last_sentences(tokenize: Tokenize, overlap: int) -> None:
    sentences = [f"This is number {i} of them. " for i in range(40)]
    text = "".join(sentences)
    spans = cut_passages(text, Cut(50, overlap), tokenize)
    for before, after in pairwise(spans):
        shared = text[after[0] : before[1]]
        assert shared.count("number") == overlap
        assert shared.startswith("This is")


def test_a_text_without_spaces_is_cut_in_the_middle(tokenize: Tokenize) -> None:
    text = "荷物" * 500
    spans = cut_passages(text, Cut(32, 1), tokenize)
    assert len(spans) > 20
    assert "".join(text[start:end] for start, end in spans) == text


def test_a_long_text_is_split_into_sentences_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """sentencex takes quadratic time over quotes that nothing closes."""
    lengths: list[int] = []
    boundaries = sentencex.get_sentence_boundaries

    def counted(language: str, text: str) -> object:
        lengths.append(len(text))
        return boundaries(language, text)

    monkeypatch.setattr(sentencex, "get_sentence_boundaries", counted)
    assert sum(end - start for start, end in sentences("“" * 30_000)) == 30_000
    assert max(lengths) <= BLOCK_CHARS
    text = "One sentence. " * 2000
    assert [text[start:end] for start, end in sentences(text)] == ["One sentence."] * 2000


def test_signs_without_tokens_join_the_passage_before(tokenize: Tokenize) -> None:
    text = "Hello there.\n\n" + "\ufffd\n\n" * 3000 + "The end of the text."
    [(start, end)] = cut_passages(text, Cut(32, 1), tokenize)
    assert text[start:end] == text.strip()


def test_a_table_of_words_needs_no_special_tokens() -> None:
    def tokenize(texts: Sequence[str]) -> Sequence[TokenizedText]:
        return [_words(text) for text in texts]

    text = "one two three. four five. six seven eight nine. " * 9
    spans = cut_passages(text, Cut(16, 0), tokenize)
    assert all(len(text[start:end].split()) <= 16 for start, end in spans)
    assert " ".join(text[start:end] for start, end in spans) == text.strip()


def _words(text: str) -> TokenizedText:
    count = len(text.split())
    numbers = np.arange(count, dtype=np.int32)
    return TokenizedText(text, numbers, np.zeros((count, 2), np.int32), numbers)


def _tokens_of(tokenize: Tokenize, text: str) -> bool:
    try:
        return bool((~tokenize([text])[0].special).any())
    except BadTexts:
        return False


def _places(text: str, part: str) -> set[int]:
    return {at for at in range(len(text)) if text.startswith(part, at)}
