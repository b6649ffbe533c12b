"""Corpora of documents that a test makes up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from semblance.models.origin.corpus.corpus_builder import Counts, build_corpus
from semblance.models.origin.corpus.documents import Document
from semblance.models.origin.origin_settings import CorpusSettings


def build(
    folder: Path,
    documents: Iterable[tuple[str, Sequence[str]]],
    evaluated: Collection[str] = (),
    **settings: float,
) -> Counts:
    """A corpus in that folder, which is made, of names and sentences."""
    folder.mkdir()
    scratch = folder.with_name(f"{folder.name}-scratch")
    scratch.mkdir()
    found = (Document(name, [tuple(sentences)]) for name, sentences in documents)
    return build_corpus(found, evaluated, CorpusSettings.model_validate(settings), folder, scratch)
