"""Read JSON files that must contain an object or an array."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from semblance.models.errors import BadCheckpoint

T = TypeVar("T")


def read_json(file: Path, kind: type[T]) -> T:
    """Read a JSON file whose content must be of `kind`: a dict or a list.

    Raises:
        BadCheckpoint: the file cannot be read, or its content is of another kind.
    """
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadCheckpoint(f"cannot read {file}: {error}") from error
    if not isinstance(content, kind):
        raise BadCheckpoint(f"{file} is not a JSON {'object' if kind is dict else 'array'}")
    return content


def read_optional(file: Path) -> Mapping[str, Any]:
    """The object in a JSON file; empty without the file. Raises BadCheckpoint."""
    return read_json(file, dict) if file.exists() else {}
