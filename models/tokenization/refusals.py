"""What makes a text impossible to encode, whatever the encoder."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from semblance.models.errors import BadTexts, TextProblem
from semblance.models.text import TokenizedText, Truncate

_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp")  # Unicode categories: controls, format characters, separators


def require_visible(texts: Sequence[str]) -> None:
    """Refuse texts before they are tokenised.

    Raises:
        BadTexts: naming every text that is `empty_text` or `ill_formed_text`.
    """
    _refuse([TextProblem(i, *found) for i, text in enumerate(texts) if (found := fault_of(text))])


def require_tokens(tokenized: Sequence[TokenizedText], truncate: Truncate) -> None:
    """Refuse texts after they were tokenised.

    Raises:
        BadTexts: naming every text that is `empty_text` (nothing of it is left) or `text_too_long`.
    """
    _refuse([TextProblem(i, *found) for i, text in enumerate(tokenized) if (found := _token_fault(text, truncate))])


def _refuse(problems: list[TextProblem]) -> None:
    if problems:
        raise BadTexts(problems)


def fault_of(text: str) -> tuple[str, str] | None:
    r"""A code and a sentence for people, if no encoder can take this text.

    >>> fault_of("a"), fault_of("\u200b")
    (None, ('empty_text', 'it has no visible character'))
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return "ill_formed_text", "it holds a lone surrogate, which is no character"
    if all(unicodedata.category(character) in _INVISIBLE for character in text):
        return "empty_text", "it has no visible character"
    return None


def _token_fault(text: TokenizedText, truncate: Truncate) -> tuple[str, str] | None:
    if text.special.all():
        return "empty_text", "nothing of it is left after tokenising"
    if text.truncated and truncate == "NONE":
        return "text_too_long", "it has more tokens than the model takes, and truncate is NONE"
    return None
