"""The built-in model for many languages reads and explains texts of any script."""

from __future__ import annotations

import numpy as np
import pytest

from semblance import explain
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadTexts
from semblance.models.measures.cosine import Cosine
from semblance.models.measures.rcmd_words import RcmdWords
from semblance.models.text import TokenizedText

pytestmark = pytest.mark.xdist_group("multilingual")

MARKS = "e" + "\N{COMBINING ACUTE ACCENT}" * 300
MIXED = "abc \u202eשלום\u202c def \u2066مرحبا\u2069 \u061c!"


def read(encoder: Transformer, text: str) -> TokenizedText:
    return encoder.tokenize([text], "query", "END")[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我的包裹在哪里？", ["我的", "包裹", "在哪里", "？"]),
        ("ฉันหิวข้าว", ["ฉัน", "หิว", "ข้าว"]),
        ("एक कुत्ता सो रहा है।", ["एक", "कुत्ता", "सो", "रहा", "है", "।"]),
        ("أين الطرد؟", ["أين", "الطرد", "؟"]),
        ("Wo ist mein Paket?", ["Wo", "ist", "mein", "Paket", "?"]),
    ],
)
def test_words_have_no_space_and_no_punctuation(multilingual: Transformer, text: str, words: list[str]) -> None:
    explained = explain(text, text, measure="rcmd_words", model=multilingual)
    assert [each.text for each in explained.a.tokens] == words


def encode(encoder: Transformer, *texts: str) -> list[TokenEmbeddings]:
    return encoder.encode(encoder.tokenize(texts, "query", "END"), "tokens")


def test_the_prompt_is_part_of_special_and_of_no_word(multilingual: Transformer) -> None:
    """Special and prompt tokens have the rest of a pooled score, and nothing of `rcmd_words`."""
    a, b = encode(multilingual, "Where is my parcel?", "我的包裹在哪里？")
    pooled = Cosine().explain(a, b)
    rows = a.vectors @ b.vectors.T / np.linalg.norm(a.vectors.sum(axis=0)) / np.linalg.norm(b.vectors.sum(axis=0))
    assert a.text is not None
    assert b.text is not None
    own = rows[np.ix_(~a.text.special, ~b.text.special)].sum()
    assert pooled.special == pytest.approx(rows.sum() - own, abs=1e-5)
    assert 0.4 < pooled.special < pooled.score
    assert RcmdWords().explain(a, b).special == 0


def test_explanations_join_words_across_languages(multilingual: Transformer) -> None:
    texts = "A dog sleeps on the sofa.", "Der Hund schläft auf dem Sofa."
    explained = explain(*texts, measure="rcmd_words", model=multilingual)
    joined = {explained.words(link) for link in explained.links}
    assert {("dog", "Hund"), ("sleeps", "schläft"), ("sofa", "Sofa")} <= joined


@pytest.mark.parametrize(
    "text", ["我的包裹", "أين الطرد؟", "मेरा पार्सल", "ฉันหิวข้าว", "Доброе утро", "καλημέρα σας", "!", "½"]
)
def test_texts_of_known_scripts_have_no_warning(multilingual: Transformer, text: str) -> None:
    assert read(multilingual, text).unread == 0


def test_texts_of_unknown_scripts_are_unread(multilingual: Transformer) -> None:
    assert [read(multilingual, text).unread for text in ("ⴰⵣⵓⵍ ⴰⵎⴰⴹⴰⵍ", "Ꭳꮟᏺ ꮳꮝ")] == [1, 1]


@pytest.mark.parametrize("text", [MARKS, MIXED, "a" * 1_000_000, "我" * 300_000, "👩‍👩‍👧‍👦" * 10_000], ids=range(5))
def test_unusual_texts_are_read_in_order(multilingual: Transformer, text: str) -> None:
    tokens = read(multilingual, text)
    starts = tokens.spans[~tokens.special, 0]
    assert (np.diff(starts) >= 0).all()
    assert set(np.diff(tokens.words[~tokens.special])) <= {0, 1}
    assert tokens.unread == 0


@pytest.mark.parametrize("text", ["\ud800abc", "\x00\x01", "\u200b\u200b", "\u2066\u2069"], ids=range(4))
def test_texts_without_visible_characters_are_refused(multilingual: Transformer, text: str) -> None:
    with pytest.raises(BadTexts, match=r"lone surrogate|no visible character"):
        read(multilingual, text)
