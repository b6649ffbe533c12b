"""Calls about collections and their documents; see semblance_client.calls.texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlencode

from semblance_client.calls import wire
from semblance_client.calls.wire import FacetCounts, NewDocument
from semblance_client.steps import Call, Pages
from semblance_client.vocabulary.aliases import Alias, AliasList
from semblance_client.vocabulary.collections import Collection, CollectionList
from semblance_client.vocabulary.documents import (
    Changed,
    Deleted,
    DocumentPage,
    ReadDocument,
    Stored,
    StoredDocument,
)
from semblance_client.vocabulary.glossary import Glossary, GlossaryGroup, StemLanguage
from semblance_client.vocabulary.matching import MAX_PAGE, Counted


def create_collection(  # noqa: PLR0913 - one argument a setting
    name: str,
    *,
    model: str | None = None,
    measure: str | None = None,
    index: str | None = None,
    tokens: Literal["none", "int8"] | None = None,
    passages: Mapping[str, int] | Literal["auto", "none"] | None = None,
    text_fields: Sequence[str] = (),
) -> Call[Collection]:
    """Create a collection; the same call again changes nothing.

    Args:
        name: its name, of a-z, 0-9, '.', '_' and '-'.
        model: a served model.
        measure: the measure of its searches; cosine by default.
        index: an index engine; by default the service chooses by the number of documents.
        tokens: `int8` keeps token vectors, so that `rcmd` need not encode documents again.
        passages: how documents are cut, such as `{"tokens": 128, "overlap": 1}`; by default as the model demands.
        text_fields: metadata fields whose strings are searched beside the text, such as `["title"]`.

    Example:
        >>> client.create_collection("drafts", measure="rcmd", tokens="int8").count
        0
    """
    settings = {"model": model, "measure": measure, "index": index, "tokens": tokens, "passages": passages}
    body = wire.fields(**settings, text_fields=list(text_fields) or None)
    return Call(wire.request("PUT", wire.collection_path(name), body), Collection.model_validate_json)


def collections() -> Call[list[Collection]]:
    """List all collections, by name.

    Example:
        >>> "default" in [each.name for each in client.collections()]
        True
    """
    return wire.get("/collections", lambda body: CollectionList.model_validate_json(body).collections)


def collection(name: str) -> Call[Collection]:
    """Show a collection. Raises NotFound.

    Example:
        >>> client.collection("default").count
        200
    """
    return wire.get(wire.collection_path(name), Collection.model_validate_json)


def set_glossary(
    name: str, groups: Iterable[GlossaryGroup | Mapping[str, Any]], *, stems: StemLanguage | None = None
) -> Call[Glossary]:
    """Replace the glossary of a collection: phrases that are equal, opposite or ignored.

    Args:
        name: of the collection.
        groups: each with `kind` (equal, one_way, opposite, ignored), `terms`, and `to` where it has two sides.
        stems: a language, such as `en`, in which words also find others of their stem.

    Example:
        >>> created = client.create_collection("returns")
        >>> saved = client.set_glossary("returns", [{"kind": "equal", "terms": ["RMA", "return authorization"]}])
        >>> client.glossary("returns").groups == saved.groups
        True
    """
    sent = [each if isinstance(each, Mapping) else each.model_dump(exclude_none=True) for each in groups]
    body = {"groups": sent, **wire.fields(stems=stems)}
    return Call(wire.request("PUT", f"{wire.collection_path(name)}/glossary", body), Glossary.model_validate_json)


def glossary(name: str) -> Call[Glossary]:
    """Show the glossary of a collection. Raises NotFound."""
    return wire.get(f"{wire.collection_path(name)}/glossary", Glossary.model_validate_json)


def delete_collection(name: str) -> Call[None]:
    """Delete a collection with documents and aliases. Raises NotFound; Conflict for an alias."""
    return Call(wire.request("DELETE", wire.collection_path(name)), wire.nothing, repeatable=False)


def set_alias(name: str, collection: str) -> Call[Alias]:
    """Create an alias, or switch it to another collection at once. Raises NotFound, Conflict.

    Args:
        name: of the alias; it serves wherever the name of a collection does, except to delete that.
        collection: to which it leads from now on.

    Example:
        >>> client.set_alias("help", "default").collection
        'default'
        >>> client.collection("help").name
        'default'
    """
    request = wire.request("PUT", wire.alias_path(name), {"collection": collection})
    return Call(request, Alias.model_validate_json, repeatable=False)


def aliases() -> Call[list[Alias]]:
    """List all aliases, by name."""
    return wire.get("/aliases", lambda body: AliasList.model_validate_json(body).aliases)


def delete_alias(name: str) -> Call[None]:
    """Delete an alias, and leave its collection. Raises NotFound."""
    return Call(wire.request("DELETE", wire.alias_path(name)), wire.nothing, repeatable=False)


def add_documents(
    documents: Iterable[NewDocument], collection: str = "default", *, similar_from: float | None = None
) -> Call[Stored]:
    """Store a few documents together, all or none; an id that exists is replaced.

    For many documents, see `upload`.

    Args:
        documents: `Document`s, or dictionaries with `id`, `text`, and optionally `metadata` and `if_version`.
        collection: where to store them.
        similar_from: report stored documents with a cosine of this or more; none is left out for it.

    Example:
        >>> created = client.create_collection("notes")
        >>> client.add_documents([Document(id="1", text="The lamp flickers.")], "notes").upserted
        1
    """
    body: dict[str, Any] = {"documents": [wire.as_json(each) for each in documents]}
    if similar_from is not None:
        body["if_similar"] = {"min_score": similar_from}
    request = wire.request("POST", wire.documents_path(collection), body)
    return Call(request, Stored.model_validate_json, repeatable=False)


def documents(  # noqa: PLR0913 - one parameter a field of the request
    collection: str = "default",
    *,
    limit: int | None = None,
    cursor: str | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    sort: str | None = None,
    descending: bool = False,
    offset: int | None = None,
    min_version: str | None = None,
) -> Call[DocumentPage]:
    """List a page of documents.

    Args:
        collection: their collection.
        limit: most documents of the page; 100 by default.
        cursor: that of the previous page.
        filter: conditions on metadata, such as `{"category": "shipping"}`.
        sort: a metadata field; by id by default.
        descending: whether the largest value comes first.
        offset: documents to leave out first, in place of a cursor.
        min_version: list this version of the collection or a later one.

    Example:
        >>> page = client.documents(filter={"category": "shipping"}, limit=2)
        >>> rest = client.documents(filter={"category": "shipping"}, cursor=page.cursor)
        >>> [each.id for each in page.documents], len(rest.documents)
        (['shipping-001', 'shipping-002'], 18)
    """
    order = wire.sort(sort, descending=descending)
    body = wire.fields(limit=limit, cursor=cursor, filter=filter, sort=order, offset=offset, min_version=min_version)
    return wire.post(f"{wire.collection_path(collection)}/list", body, DocumentPage)


def all_documents(
    collection: str = "default",
    *,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    sort: str | None = None,
    descending: bool = False,
    min_version: str | None = None,
) -> Pages[StoredDocument]:
    """Iterate over all documents; a page of them is asked for when it is reached.

    Args:
        collection: their collection.
        filter: conditions on metadata, such as `{"category": "shipping"}`.
        sort: a metadata field; by id by default.
        descending: whether the largest value comes first.
        min_version: list this version of the collection or a later one.

    Example:
        >>> from collections import Counter
        >>> counts = Counter(each.metadata["category"] for each in client.all_documents())
        >>> counts["shipping"], counts.total()
        (20, 200)
        >>> records = [each.record() for each in client.all_documents(filter={"category": "shipping"})]
        >>> sorted(records[0])  # the columns of pandas.DataFrame(records)
        ['category', 'id', 'question', 'tags', 'text', 'updated', 'views']
    """

    def page(cursor: str | None) -> Call[tuple[list[StoredDocument], str | None]]:
        call = documents(
            collection,
            limit=MAX_PAGE,
            cursor=cursor,
            filter=filter,
            sort=sort,
            descending=descending,
            min_version=min_version,
        )
        return Call(call.request, lambda body: _entries(call.parse(body)))

    return Pages(page)


def _entries(page: DocumentPage) -> tuple[list[StoredDocument], str | None]:
    return page.documents, page.cursor


def document(id: str, collection: str = "default") -> Call[ReadDocument]:  # noqa: A002 - the name of the field
    """Show a document. Raises NotFound.

    Example:
        >>> client.document("shipping-001").metadata["category"]
        'shipping'
    """
    return wire.get(wire.document_path(collection, id), ReadDocument.model_validate_json)


def delete_document(
    id: str,  # noqa: A002 - the name of the field
    collection: str = "default",
    *,
    if_version: str | None = None,
) -> Call[Deleted]:
    """Delete a document. Raises NotFound.

    Args:
        id: the document.
        collection: its collection.
        if_version: delete it only if it has not changed since this version, else raise Conflict.
    """
    query = f"?{urlencode({'if_version': if_version})}" if if_version else ""
    request = wire.request("DELETE", wire.document_path(collection, id) + query)
    return Call(request, Deleted.model_validate_json, repeatable=False)


def delete_documents(
    ids: Iterable[str] | None = None,
    collection: str = "default",
    *,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    min_version: str | None = None,
) -> Call[Deleted]:
    """Delete documents by their ids, or those that match a filter.

    Args:
        ids: the documents; missing ones are left out.
        collection: their collection.
        filter: conditions on metadata, in place of ids.
        min_version: filter this version of the collection or a later one.

    Example:
        >>> client.delete_documents(filter={"category": "none"}).deleted
        0
    """
    body = wire.fields(ids=None if ids is None else list(ids), filter=filter, min_version=min_version)
    request = wire.request("POST", f"{wire.collection_path(collection)}/delete", body)
    return Call(request, Deleted.model_validate_json, repeatable=False)


def change_metadata(changes: Iterable[Mapping[str, Any]], collection: str = "default") -> Call[Changed]:
    """Set and remove metadata of documents, all or none, without their texts.

    Args:
        changes: dictionaries with `id`, `metadata` to set, fields to `remove`, and optionally `if_version`.
        collection: their collection.

    Example:
        >>> created = client.create_collection("tickets")
        >>> stored = client.add_documents([{"id": "1", "text": "The lamp flickers."}], "tickets")
        >>> changed = client.change_metadata([{"id": "1", "metadata": {"state": "closed"}}], "tickets")
        >>> client.document("1", "tickets").metadata
        {'state': 'closed'}
    """
    request = wire.request(
        "PATCH", wire.documents_path(collection), {"documents": [dict(change) for change in changes]}
    )
    return Call(request, Changed.model_validate_json, repeatable=False)


def count(
    collection: str = "default",
    *,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    facets: Mapping[str, FacetCounts] | None = None,
    min_version: str | None = None,
) -> Call[Counted]:
    """Count the documents that match a filter, and the most frequent values of metadata fields.

    Args:
        collection: where to count.
        filter: conditions on metadata, such as `{"category": "shipping"}`.
        facets: how many values to return, by field, or ranges of values, such as `[{"lt": 10}, {"gte": 10}]`.
        min_version: count in this version of the collection or a later one.

    Example:
        >>> response = client.count(filter={"category": {"prefix": "s"}}, facets={"category": 2})
        >>> response.count == response.values("category")["shipping"]
        True
    """
    body = wire.fields(filter=filter, facets=wire.facets(facets), min_version=min_version)
    return wire.post(f"{wire.collection_path(collection)}/count", body, Counted)
