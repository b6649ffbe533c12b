"""Documents from the rows of a file: their ids, texts and metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from semblance.models.errors import BadDataSet
from semblance.models.files.tables import missing_columns
from semblance.service.files.column_types import Cast
from semblance.service.files.sources import RowProblem, SourceRow

IDS = ("id", "_id")  # the second as in BEIR
TITLE, TEXT, METADATA = "title", "text", "metadata"


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """Names of the fields of a row that make a document.

    The text is the fields `texts`, joined by spaces; by default `title`, if there is one, and `text`. The id is the
    field `id`; by default `id` or `_id`, and if a row has neither, FILE:NUMBER. An object `metadata` is the metadata,
    together with all other fields whose value is not null; in a CSV or TSV file, not empty.

    Attributes:
        file: name of the file, without its folder.
        id: the field with the id, if the user named it.
        texts: the fields of the text, if the user named them.
        casts: how to convert the strings of each column, None if values have types of their own.
        no_id: why a field that is named like an id was not guessed to be one, if so.
    """

    file: str
    id: str | None = None
    texts: Sequence[str] = ()
    casts: Mapping[str, Cast] | None = None
    no_id: str = ""

    def require(self, columns: Sequence[str]) -> None:
        """Check that a table has the columns. Raises BadDataSet."""
        if missing := [name for name in self._required() if name not in columns]:
            raise BadDataSet(f"{self.file}: {missing_columns(missing, columns)}; {self._remedy(missing[0])}")

    def column(self, pointer: str) -> str:
        """The field of a row for one of a document, such as `text` or `metadata/year`."""
        first, _, inner = pointer.partition("/")
        names = {"id": self.id or first, TEXT: "+".join(self.texts) or first, METADATA: inner or first}
        return names.get(first, pointer)

    def document(self, row: SourceRow) -> bytes | RowProblem:
        """A row as a line of NDJSON; the service rejects one that is not a JSON object."""
        if not isinstance(row.fields, Mapping):
            return row.fields
        values = row.fields
        if missing := [name for name in self._required() if name not in values]:
            problem = missing_columns(missing, list(values), "field")
            return RowProblem("missing_field", f"{problem}; {self._remedy(missing[0])}")
        texts = self.texts or ((TITLE, TEXT) if TITLE in values else (TEXT,))
        id_name = self._id_name(values)
        if no_text := [name for name in texts if not isinstance(values[name], str | None)]:
            return RowProblem("invalid_value", f"{no_text[0]}: it must be a string")
        identifier = f"{self.file}:{row.number}" if id_name is None else values[id_name]
        no_ids = [name for name in self._id_names if values.get(name) == ""]
        metadata = self._metadata(values, {*texts, *no_ids, id_name})
        if isinstance(metadata, RowProblem):
            return metadata
        text = " ".join(filter(None, (values[name] for name in texts)))
        return _json({"id": _plain_id(identifier), "text": text, "metadata": metadata})

    def given_id(self, row: SourceRow) -> str | None:
        """The id that a row has itself; None if it has none, or one that is not an id."""
        if not isinstance(row.fields, Mapping):
            return row.id
        name = self._id_name(row.fields)
        identifier = None if name is None else _plain_id(row.fields.get(name))
        return identifier if isinstance(identifier, str) else None

    def _id_name(self, values: Mapping[str, Any]) -> str | None:
        return next((name for name in self._id_names if values.get(name) not in (None, "")), None)

    @property
    def _id_names(self) -> Sequence[str]:
        return IDS if self.id is None else (self.id,)

    def _required(self) -> list[str]:
        return [*(self.texts or (TEXT,)), *(() if self.id is None else (self.id,))]

    def _remedy(self, missing: str) -> str:
        return f"name another ({'--id-field, id_field' if missing == self.id else '--text-field, text_fields'})"

    def _metadata(self, values: Mapping[str, Any], used: set[str | None]) -> dict[str, Any] | RowProblem:
        nested = values.get(METADATA)
        metadata = dict(nested) if isinstance(nested, dict) else {}
        for name, value in values.items():
            if name in used or value is None or (name == METADATA and isinstance(nested, dict)):
                continue
            if name in metadata:
                return RowProblem("invalid_value", f"{name}: it is both a field of the row and of its metadata")
            if self.casts is None:
                metadata[name] = value
            elif value.strip():
                metadata[name] = self.casts[name](value)
        return metadata


def _plain_id(value: object) -> object:
    """A whole number as a string; anything else as it is."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _json(document: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate, which the service will refuse
        return json.dumps(document).encode()
