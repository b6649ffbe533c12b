"""Where documents are: the routes stand there, and what decides before any route must know it."""

from __future__ import annotations

import re

DOCUMENTS = "/collections/{name}/documents"

_DOCUMENTS = re.compile(DOCUMENTS.replace("{name}", "[^/]+"))
_DOCUMENT = re.compile(_DOCUMENTS.pattern + "/.*", re.DOTALL)


def is_documents(path: str) -> bool:
    """Whether all documents of a collection stand there.

    >>> is_documents("/collections/faq/documents"), is_documents("/collections/faq/documents/1")
    (True, False)
    """
    return _DOCUMENTS.fullmatch(path) is not None


def is_document(path: str) -> bool:
    """Whether one document stands there.

    >>> is_document("/collections/faq/documents"), is_document("/collections/faq/documents/a/b")
    (False, True)
    """
    return _DOCUMENT.fullmatch(path) is not None
