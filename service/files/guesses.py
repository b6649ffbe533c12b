"""Guess of the fields of text and id, where a file has no field `text`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from semblance.models.errors import BadDataSet
from semblance.service.files.fields import TEXT, DocumentFields
from semblance.service.files.sources import RowSource, SourceRow

ROWS = 10_000  # at the beginning of a file, that the guess of the text looks at
MIN_WORDS = 2.5  # of a field with text, on average
MIN_HEADING_WORDS = 1.2  # of one that its name tells to be a heading
MAX_ID_CHARS = 64

_HEADINGS = {
    "headline", "heading", "name", "question", "subject", "summary", "title", "topic",
    "asunto", "betreff", "frage", "oggetto", "objet", "sujet", "titel", "titolo", "titre", "titulo", "título",
}  # fmt: skip
_ID = re.compile(
    r"(?:^|[\W_])(?:id|no|nr|num|number|key|code|uuid|guid|sku|isbn|doi|url|ref|reference)$", re.IGNORECASE
)
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(slots=True)
class _Field:
    """Counts of the values of a field."""

    rows: int = 0
    texts: int = 0
    words: int = 0
    chars: int = 0

    def add(self, value: object) -> None:
        self.rows += 1
        if isinstance(value, str) and (text := value.strip()):
            self.texts += 1
            self.words += len(text.split())
            self.chars += len(text)

    def has_words(self, least: float) -> bool:
        return self.texts > 0 and self.words >= least * self.texts


def guessed_fields(source: RowSource, fields: DocumentFields) -> DocumentFields:
    """The fields; those of text and id are guessed where the user and the file name no text.

    The text is the field with most characters, after a heading if one stands beside it. The id is a field that is named
    like one, such as `order_no`, and whose values are unique.

    Raises:
        BadDataSet: the file cannot be read, or none of its fields looks like a text.
    """
    if fields.texts or _has_text(source):
        return fields
    known: dict[str, _Field] = {}
    for row in islice(source.rows(), ROWS):
        for name, value in _values(row).items():
            known.setdefault(name, _Field()).add(value)
    if not known:
        return fields  # without rows, or with none that is an object: each will be rejected with its reason
    texts = _texts(fields.file, known)
    id_field, no_id = _id(source, known) if fields.id is None else (fields.id, "")
    return DocumentFields(fields.file, id_field, texts, fields.casts, no_id)


def _has_text(source: RowSource) -> bool:
    if source.columns is not None:
        return TEXT in source.columns
    return any(TEXT in _values(row) for row in islice(source.rows(), ROWS))


def _values(row: SourceRow) -> Mapping[str, object]:
    return row.fields if isinstance(row.fields, Mapping) else {}


def _texts(file: str, known: Mapping[str, _Field]) -> tuple[str, ...]:
    with_words = [name for name, each in known.items() if each.has_words(MIN_WORDS)]
    body = max(with_words, key=lambda name: known[name].chars, default=None)
    if body is None:
        raise BadDataSet(
            f"{file}: no field is named text, and none looks like one; the fields are {', '.join(known)}: "
            "name one (--text-field, text_fields)"
        )
    heading = next(
        (
            name
            for name, each in known.items()
            if name != body and name.strip().lower() in _HEADINGS and each.has_words(MIN_HEADING_WORDS)
        ),
        None,
    )
    return (body,) if heading is None else (heading, body)


def _id(source: RowSource, known: Iterable[str]) -> tuple[str | None, str]:
    """A field that is named like an id and has unique values in all rows; else why one is not."""
    reasons: list[str] = []
    seen: dict[str, set[int]] = {name: set() for name in known if _ID.search(_CAMEL_CASE.sub("_", name.strip()))}
    for row in source.rows() if seen else ():
        values = _values(row)
        for name in list(seen):
            value = values.get(name)
            text = value.strip() if isinstance(value, str) else str(value) if isinstance(value, int) else ""
            if not text:
                reasons.append(f"{name} is empty in {source.unit} {row.number}")
            elif hash(text) in seen[name]:
                reasons.append(f"{name} repeats ({text})")
            elif len(text) <= MAX_ID_CHARS and " " not in text:
                seen[name].add(hash(text))
                continue
            del seen[name]
    return next(iter(seen), None), next(iter(reasons), "")
