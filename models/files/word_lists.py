"""Word lists that belong to the code: text files whose first paragraph says what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files


def lines_of(package: str, file: str) -> Sequence[Sequence[str]]:
    """The words of each line."""
    return [line.split() for line in _content(package, file).splitlines() if line]


def words_by_language(package: str, file: str) -> Mapping[str, frozenset[str]]:
    """The words of each paragraph by the code of their language, with which it begins."""
    paragraphs = (paragraph.split(maxsplit=1) for paragraph in _content(package, file).split("\n\n"))
    return {code.rstrip(":"): frozenset(words.split()) for code, words in paragraphs}


def _content(package: str, file: str) -> str:
    return (files(package) / file).read_text("utf-8").partition("\n\n")[2]
