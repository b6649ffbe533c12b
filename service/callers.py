"""The caller of the current request and its permissions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from semblance.service.filters import All, Filter, OneOf, matches

ANY_REST = "*"  # at the end of a prefix of names


@dataclass(frozen=True, slots=True)
class Permission:
    """Limits of a key: which collections it reaches, and which of their documents.

    Attributes:
        collections: names, and prefixes of names that end in '*'; without any, all collections.
        conditions: each of which the metadata of a document must meet; without any, all documents.
        id_prefix: of the documents that it may write; empty for all.
    """

    collections: tuple[str, ...] = ()
    conditions: tuple[OneOf, ...] = ()
    id_prefix: str = ""

    @property
    def is_limited(self) -> bool:
        """Whether there is anything that it does not reach."""
        return bool(self.collections or self.limits_documents)

    @property
    def limits_documents(self) -> bool:
        """Whether there is a document in its collections that it may not read, or not write."""
        return bool(self.conditions or self.id_prefix)

    @property
    def where(self) -> Filter | None:
        """The filter that documents must match; None for all documents."""
        return All(self.conditions) if self.conditions else None

    def reaches(self, name: str) -> bool:
        """Whether it reaches a collection, by name.

        >>> limits = Permission(collections=("faq", "hr-*"))
        >>> limits.reaches("faq"), limits.reaches("faq2"), limits.reaches("hr-2025")
        (True, False, True)
        """
        return not self.collections or any(
            name.startswith(collection.removesuffix(ANY_REST)) if collection.endswith(ANY_REST) else name == collection
            for collection in self.collections
        )

    def sees(self, metadata: Mapping[str, Any]) -> bool:
        """Whether it reaches a document with this metadata."""
        return all(matches(condition, metadata) for condition in self.conditions)

    def owns(self, doc_id: str, metadata: Mapping[str, Any]) -> bool:
        """Whether it may write a document: no key with another value sees it.

        >>> limits = Permission(conditions=(OneOf("tenant", ("acme",)),), id_prefix="acme-")
        >>> limits.owns("acme-1", {"tenant": "acme"}), limits.owns("acme-1", {"tenant": ["acme", "globex"]})
        (True, False)
        >>> limits.owns("1", {"tenant": "acme"})
        False
        """
        several = any(isinstance(metadata.get(condition.field), list) for condition in self.conditions)
        return not several and self.sees(metadata) and doc_id.startswith(self.id_prefix)


UNLIMITED = Permission()

_caller: ContextVar[str] = ContextVar("caller", default="")  # the service itself, as for its first encoding
_permission: ContextVar[Permission] = ContextVar("permission", default=UNLIMITED)


def set_caller(name: str, permission: Permission = UNLIMITED) -> None:
    """Set the caller of this task's request, and what it may reach.

    Args:
        name: of its key, or the address of its client.
        permission: of its key.
    """
    _caller.set(name)
    _permission.set(permission)


def narrow_to(collection: str) -> None:
    """Let the rest of a request reach the collection that its alias leads to, and no other."""
    permission = _permission.get()
    if permission.collections:
        _permission.set(replace(permission, collections=(collection,)))


@contextmanager
def without_limits() -> Iterator[None]:
    """Let the block reach everything, for work of the service itself without an answer."""
    token = _permission.set(UNLIMITED)
    try:
        yield
    finally:
        _permission.reset(token)


def current_caller() -> str:
    """The caller of this task's request; empty outside of requests."""
    return _caller.get()


def current_permission() -> Permission:
    """The permission of the current request; everything outside of requests.

    Threads of a pool do not inherit it: read it before going there.
    """
    return _permission.get()
