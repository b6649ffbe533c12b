"""Texts of evaluation sets, and the normal form for comparing training texts with them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from semblance_lab.evaluation.tasks import ChunkAlignment, Rankings, Retrieval, Task, Triplets, WordAlignment

MIN_WORDS = 4  # shorter texts, such as "A man.", are equal by chance


class _WordCharacters(dict[int, str]):
    """Character code -> the character, or a space for punctuation and symbols; a lazy cache."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = character if unicodedata.category(character)[0] in "LMN" else " "
        return self[code]


_WORD_CHARACTERS = _WordCharacters()


def normal_form(text: str) -> str:
    """The text in lower case, without punctuation and symbols, with single spaces between words.

    A letter with an accent is one character (NFC), however it is encoded.

    >>> normal_form("A man's  dog, running!")
    'a man s dog running'
    >>> normal_form("Cafe\N{COMBINING ACUTE ACCENT}") == normal_form("caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    True
    """
    small = unicodedata.normalize("NFC", text).translate(_WORD_CHARACTERS).lower()
    return " ".join(
        unicodedata.normalize("NFC", small).split()
    )  # again: some accented letters exist in lower case only


def held_out_forms(texts: Iterable[tuple[str, str]]) -> Mapping[str, set[str]]:
    """Normal form of each text of at least four words -> the names of the sets that use it.

    Args:
        texts: name of a set, and a text of it.

    >>> held_out_forms([("stsb", "A dog runs fast."), ("stsb", "a DOG runs fast"), ("sickr", "A dog runs.")])
    {'a dog runs fast': {'stsb'}}
    """
    forms: dict[str, set[str]] = {}
    for name, text in texts:
        form = normal_form(text)
        if len(form.split()) >= MIN_WORDS:
            forms.setdefault(form, set()).add(name)
    return forms


def texts_of(task: Task) -> Iterator[str]:
    """Every text of an evaluation task."""
    match task:
        case ChunkAlignment() | WordAlignment():
            yield from (" ".join(words) for pair in task.pairs for words in (pair.left, pair.right))
        case Triplets():
            yield from (*task.anchors, *task.positives, *task.negatives)
        case Rankings():
            yield from task.queries
            yield from (text for candidates in task.candidates for text in candidates)
        case Retrieval():
            yield from (*task.corpus.values(), *task.queries.values())
        case _:
            yield from (*task.left, *task.right)
