"""The texts that evaluations ask for, in the form by which they are kept out of training."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from semblance.models.evaluation.tasks import ChunkAlignment, Rankings, Retrieval, Task, Triplets


class _Kept(dict[int, str]):
    """Character code -> the character, or a space in the place of punctuation and symbols; filled as it is asked."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kept = character if unicodedata.category(character)[0] in "LMN" else " "
        self[code] = kept
        return kept


_KEPT = _Kept()


def normal_form(text: str) -> str:
    """The text in lower case, with neither punctuation nor symbols, and one space between words.

    A letter with an accent is one character (NFC), in whichever way it is written.

    >>> normal_form("A man's  dog, running!")
    'a man s dog running'
    >>> normal_form("Cafe\N{COMBINING ACUTE ACCENT}") == normal_form("caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    True
    """
    small = unicodedata.normalize("NFC", text).translate(_KEPT).lower()
    return " ".join(unicodedata.normalize("NFC", small).split())  # again: there are accents on small letters only


def texts_of(task: Task) -> Iterator[str]:
    """Every text that an evaluation asks for."""
    match task:
        case ChunkAlignment():
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
