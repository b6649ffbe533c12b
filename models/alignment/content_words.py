"""Content words: tokens of a text by how much their words say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semblance.models.alignment.token_matches import words_only
from semblance.models.embeddings import Floats, TokenEmbeddings
from semblance.models.text import TokenizedText
from semblance.models.tokenization.function_words import say_much

FUNCTION_MASS = 0.1  # of each token of a function word or sign of punctuation, beside 1 of any other


def content_words(embeddings: TokenEmbeddings) -> TokenEmbeddings:
    """`words_only`, with the mass of each token as its weight.

    Raises:
        ValueError: the embeddings have no text, or no token vectors.
    """
    words, text = words_only(embeddings), embeddings.text
    if text is None or text.is_blank:
        return words
    return replace(words, weights=content_mass(text))


def content_mass(text: TokenizedText) -> Floats:
    """(n,) float32, the mass of each token that is not special; all have that of their word."""
    words, starts = text.units().by_word()
    masses = np.where(say_much(words.texts), np.float32(1), np.float32(FUNCTION_MASS))
    sizes = np.diff(starts, append=len(text) - int(text.special.sum()))
    mass: Floats = np.repeat(masses, sizes)
    return mass
