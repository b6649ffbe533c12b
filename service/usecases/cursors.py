"""Cursors: places in a list of documents, as opaque text."""

from __future__ import annotations

import base64
import binascii
import json
from typing import NamedTuple

from semblance.service.errors import InvalidRequest, Problem


class Place(NamedTuple):
    """Where a page begins: after an id and, of those, after a number of documents."""

    after: str = ""
    offset: int = 0


def write_cursor(place: Place) -> str:
    """The cursor of a place.

    >>> read_cursor(write_cursor(Place("a/b", 3)))
    Place(after='a/b', offset=3)
    """
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


def read_cursor(cursor: str | None) -> Place:
    """The place of a cursor; the beginning for None. Raises InvalidRequest."""
    if not cursor:
        return Place()
    try:
        match json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True)):
            case [str(after), int(offset)] if offset >= 0:
                after.encode()
                return Place(after, offset)
    except (binascii.Error, ValueError, RecursionError):
        pass
    raise InvalidRequest([Problem("/cursor", "bad_cursor", "this is no cursor of an earlier page")])
