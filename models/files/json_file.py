"""JSON files whose content must be an object or an array."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from semblance.models.errors import BadCheckpoint

T = TypeVar("T")


def read_json(file: Path, kind: type[T]) -> T:
    """What a JSON file holds: a dict or a list, as `kind` says.

    Raises:
        BadCheckpoint: it cannot be read, or holds something else.
    """
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadCheckpoint(f"cannot read {file}: {error}") from error
    if not isinstance(found, kind):
        raise BadCheckpoint(f"{file} holds no JSON {'object' if kind is dict else 'array'}")
    return found
