"""The part of a text that a model read."""

from __future__ import annotations

import pytest

from semblance.models.encoders.transformer import Transformer
from semblance.models.explanation import ReadText
from semblance.models.text import Truncate

LONG = "  " + "the cat sat on a mat, " * 100 + " \n"  # each word is one token


@pytest.mark.parametrize("truncate", ["END", "START"])
def test_a_truncated_text_is_read_up_to_a_character(minilm: Transformer, truncate: Truncate) -> None:
    """The part that was read, sent alone, has the tokens of the whole text, and is read as a whole."""
    [cut] = minilm.tokenize([LONG], "query", truncate)
    read = ReadText.of(cut, truncate)
    assert read.truncated
    part = LONG[read.start : read.end]
    [alone] = minilm.tokenize([part], "query", "NONE")
    assert alone.ids.tolist() == cut.ids.tolist()
    assert (read.start == 0, read.end == len(LONG)) == ((True, False) if truncate == "END" else (False, True))
    assert ReadText.of(alone, "NONE") == ReadText(part, False, 0, len(part))


@pytest.mark.parametrize("truncate", ["END", "START", "NONE"])
def test_a_short_text_is_read_with_its_spaces(minilm: Transformer, truncate: Truncate) -> None:
    [tokens] = minilm.tokenize(["  two words \n"], "query", truncate)
    assert ReadText.of(tokens, truncate) == ReadText("  two words \n", False, 0, 13)
