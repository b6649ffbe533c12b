"""Suggest how a query that is being typed may go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from semblance_client.vocabulary.suggest import Suggestion, Suggestions, SuggestRequest

from semblance.models.tokenization.terms import Term, places, query_terms
from semblance.service.ports.document_store import DocumentReader
from semblance.service.ports.documents import CutDocuments
from semblance.service.ports.indexes import WordInDocument
from semblance.service.replication.access import CollectionAccess
from semblance.service.usecases.request_fields import requested_filter, requested_version


class Suggest:
    """Suggests values of a metadata field, such as titles, and words of the documents."""

    def __init__(self, access: CollectionAccess) -> None:
        self._access = access

    async def suggest(self, request: SuggestRequest) -> Suggestions:
        """Suggest queries that begin as one does: values of the field first, and then words.

        Raises:
            UnknownCollection, InvalidRequest, VersionMismatch, VersionNotReached, NotWithRemoteIndex: see
                semblance.service.errors.
        """
        where, query = requested_filter(request.filter), request.query
        name = await self._access.resolve(request.collection)
        _, index = await self._access.current(name, requested_version(request.min_version))
        last = max(query_terms(query), key=lambda term: term.end, default=None)

        def look_up(store: DocumentReader) -> list[Suggestion]:
            found: list[Suggestion] = []
            if request.field is not None:
                values = index.values_beginning(request.field, _spellings(query), where, request.k)
                found = [Suggestion(text=value, field=request.field) for value in values]
            if last is None or last.end < len(query) or last.kind != "word":
                return found
            words = index.words_beginning(last.text, where, request.k - len(found))
            read = store.get_cut(name, [word.document for word in words])
            return found + [Suggestion(text=query[: last.start] + word) for word in _as_written(words, read)]

        return Suggestions(suggestions=await self._access.search(look_up), version=str(index.version))


def _spellings(query: str) -> list[str]:
    """The beginning of a value, with and without capitals."""
    return list(dict.fromkeys([query, query[:1].upper() + query[1:], query.lower(), query.title(), query.upper()]))


def _as_written(words: Sequence[WordInDocument], read: CutDocuments) -> list[str]:
    """Words as their documents write them most often, without those of deleted documents."""
    spelled: list[str] = []
    for word, doc_id in words:
        text = read.searched(doc_id).whole if doc_id in read.documents else ""
        [spans] = places(text, [Term(word, 0, 0)]).values()
        forms = Counter(text[start:end] for start, end in spans)
        spelled += [form for form, _ in forms.most_common(1)]
    return list(dict.fromkeys(spelled))
