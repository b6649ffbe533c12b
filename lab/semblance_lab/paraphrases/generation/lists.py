"""Lists of words, phrases and sentences in the text files beside this module."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files


def paragraphs(name: str) -> Sequence[Sequence[str]]:
    """Lines of each paragraph of a file; those that begin with # are left out.

    >>> paragraphs("opposites")[0]
    ['on', 'off']
    """
    text = (files("semblance_lab.paraphrases.generation") / f"{name}.txt").read_text("utf-8")
    read = ([line for line in part.splitlines() if not line.startswith("#")] for part in text.split("\n\n"))
    return [lines for lines in read if lines]
