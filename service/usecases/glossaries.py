"""The glossary of a collection: replace it and show it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from semblance_client.vocabulary import glossary as vocabulary
from semblance_client.vocabulary.glossary import GlossaryGroup, GlossaryRequest

from semblance.models.tokenization.glossary import EQUAL, OPPOSITE, Glossary, Relation, equal, one_way, opposite
from semblance.models.tokenization.terms import atoms
from semblance.service.callers import current_permission
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.documents import Collection
from semblance.service.replication.access import CollectionAccess
from semblance.service.replication.limited_views import all_documents

_COMPILED = 64  # glossaries that are kept


@lru_cache(_COMPILED)
def _compiled(stored: str) -> Glossary:
    return _glossary(_parsed(stored))


def glossary_of(collection: Collection) -> Glossary:
    """The glossary of a collection; empty without one."""
    return _compiled(collection.glossary)


class Glossaries:
    """Replaces and shows glossaries."""

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def put(self, name: str, request: GlossaryRequest) -> vocabulary.Glossary:
        """Replace the glossary of a collection.

        Raises:
            UnknownCollection, StoreUnavailable: see semblance.service.errors.
            InvalidRequest: a term has no word, or has two meanings.
        """
        _require_sound(request)
        stored = request.model_dump_json(exclude_none=True) if request.groups or request.stems else ""
        return _response(await self._access.write(name, lambda store: store.set_glossary(name, stored)))

    async def show(self, name: str) -> vocabulary.Glossary:
        """Get the glossary of a collection. Raises UnknownCollection, Forbidden."""
        collection = await self._access.read(lambda store: store.collection(name))
        all_documents(current_permission())
        return _response(collection)


def _response(collection: Collection) -> vocabulary.Glossary:
    glossary = _parsed(collection.glossary)
    return vocabulary.Glossary(groups=glossary.groups, stems=glossary.stems, version=str(collection.version))


def _parsed(stored: str) -> GlossaryRequest:
    return GlossaryRequest.model_validate_json(stored) if stored else GlossaryRequest(groups=[])


def _glossary(request: GlossaryRequest) -> Glossary:
    ignored = [term for group in request.groups if group.kind == "ignored" for term in group.terms]
    relations = [relation for group in request.groups for relation in _relations(group)]
    return Glossary.of(relations, ignored, request.stems or "")


def _relations(group: GlossaryGroup) -> list[Relation]:
    match group.kind:
        case "equal":
            return [equal(group.terms)]
        case "one_way":
            return one_way(group.terms, group.to or [])
        case "opposite":
            return opposite(group.terms, group.to or [])
        case "ignored":
            return []


def _require_sound(request: GlossaryRequest) -> None:
    """Check that every term has a word, and one meaning. Raises InvalidRequest."""
    blank = [
        Problem(f"/groups/{i}/{side}/{j}", "invalid_value", f"{term!r} has no letter or digit: leave it out")
        for i, group in enumerate(request.groups)
        for side, terms in (("terms", group.terms), ("to", group.to or []))
        for j, term in enumerate(terms)
        if not atoms(term)
    ]
    if blank:
        raise InvalidRequest(blank)
    if contradictions := list(_contradictions(_glossary(request))):
        raise InvalidRequest(
            [Problem("/groups", "invalid_value", f"{each}: keep one of these groups") for each in contradictions]
        )


def _contradictions(glossary: Glossary) -> Iterator[str]:
    for number in _half_ignored(glossary):
        yield f"{_shown(glossary, number)} is ignored and in another group"
    for number in glossary.related:
        for other in sorted({number, *_like(glossary, number, EQUAL)} & _like(glossary, number, OPPOSITE)):
            yield f"{_shown(glossary, number)} is both like and unlike {_shown(glossary, other)}"


def _half_ignored(glossary: Glossary) -> list[int]:
    """The phrases that are ignored, and related to others."""
    found = {other for relations in glossary.related.values() for each in relations for other in each}
    return sorted(glossary.ignored & (glossary.related.keys() | found))


def _like(glossary: Glossary, number: int, similarity: float) -> set[int]:
    """The phrases that have a similarity to one."""
    return {other for each in glossary.related[number] for other, like in each.items() if like == similarity}


def _shown(glossary: Glossary, number: int) -> str:
    return repr(" ".join(glossary.phrases[number]))
