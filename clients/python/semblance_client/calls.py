"""What the methods of both clients send, and how they read the answers.

Each function builds one `Call`; `Client` and `AsyncClient` have it as a method that returns the answer. Arguments that
are left out, or None, are not sent: their defaults are those of the service. `GET /docs` of a service has the details.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, TypeVar
from urllib.parse import quote, urlencode

from semblance_client import answers
from semblance_client.answer import Answer
from semblance_client.explanation import PairExplanation
from semblance_client.steps import Call, Request

T = TypeVar("T")
A = TypeVar("A", bound=Answer)
Truncate: TypeAlias = Literal["START", "END", "NONE"]
NewDocument: TypeAlias = answers.Document | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Spans:
    """Which spans of ranked documents to return.

    Args:
        threshold: least score of a span; 0.1 by default.
        max_spans: most spans of a document; all by default.
    """

    threshold: float | None = None
    max_spans: int | None = None


def similarity(
    pairs: Iterable[tuple[str, str]],
    *,
    measure: str | None = None,
    model: str | None = None,
    explain: bool = False,
    truncate: Truncate | None = None,
) -> Call[answers.Similarities]:
    """Score pairs of texts.

    Args:
        pairs: the texts to compare.
        measure: a name of `measures()`; cosine by default.
        model: a served model.
        explain: whether to return the words behind each score.
        truncate: the end at which a text that is too long is truncated; NONE refuses it.

    Example:
        >>> answer = client.similarity([("A cat sleeps.", "The kitten naps.")], measure="rcmd_words")
        >>> round(answer.scores[0], 3)
        0.696
    """
    body = _fields(measure=measure, model=model, explain=explain or None, truncate=truncate)
    body["pairs"] = [{"a": a, "b": b} for a, b in pairs]
    return _post("/similarity", body, answers.Similarities)


def similarity_matrix(
    left: Sequence[str],
    right: Sequence[str],
    *,
    measure: str | None = None,
    model: str | None = None,
    truncate: Truncate | None = None,
) -> Call[answers.SimilarityMatrix]:
    """Score each left with each right text; the arguments are those of `similarity`.

    Example:
        >>> answer = client.similarity_matrix(["A cat sleeps."], ["The kitten naps.", "A dog barks."])
        >>> [[round(score, 2) for score in row] for row in answer.scores]
        [[0.72, 0.27]]
    """
    body = _fields(left=list(left), right=list(right), measure=measure, model=model, truncate=truncate)
    return _post("/similarity", body, answers.SimilarityMatrix)


def search(  # noqa: PLR0913 - one parameter a field of the request
    query: str | Sequence[str],
    collection: str = "default",
    *,
    k: int | None = None,
    measure: str | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    explain: bool = False,
    candidates: int | None = None,
    min_score: float | None = None,
    min_probability: float | None = None,
    min_version: str | None = None,
    truncate: Truncate | None = None,
    passages: int | None = None,
    mode: Literal["vector", "lexical", "hybrid", "auto"] | None = None,
    highlight: bool | Mapping[str, int] | None = None,
) -> Call[answers.SearchResults]:
    """Find the documents of a collection that are most similar to one or more queries.

    Args:
        query: a text, or a list of texts.
        collection: where to search.
        k: number of hits; 10 by default.
        measure: the collection's own by default.
        filter: conditions on metadata, such as `{"category": "shipping"}`.
        explain: whether to return the words behind each score.
        candidates: nearest documents by vector that a measure other than cosine rescores; 100, or k, by default.
        min_score: least score of a hit.
        min_probability: least probability of a hit; the measure needs a calibration.
        min_version: answer from this version of the collection or a later one.
        truncate: the end at which a query that is too long is truncated; NONE refuses it.
        passages: most passages of a hit; 1 by default.
        mode: whether documents are found by vector (the default), by terms, by both, or by what suits the query.
        highlight: whether to return the snippet of each hit, or sizes such as `{"chars": 160, "marks": 3}`.

    Example:
        >>> answer = client.search("my parcel never came", k=1, filter={"category": "shipping"})
        >>> [(hit.id, round(hit.score, 2)) for hit in answer.hits]
        [('shipping-001', 0.55)]
    """
    body = _fields(
        collection=collection,
        k=k,
        measure=measure,
        filter=filter,
        explain=explain or None,
        candidates=candidates,
        min_score=min_score,
        min_probability=min_probability,
        min_version=min_version,
        truncate=truncate,
        passages=passages,
        mode=mode,
        highlight=highlight,
    )
    queries = {"query": query} if isinstance(query, str) else {"queries": list(query)}
    return _post("/search", body | queries, answers.SearchResults)


def explain(  # noqa: PLR0913 - one parameter a field of the request
    a: str,
    b: str | None = None,
    *,
    id: str | None = None,  # noqa: A002 - the name of the field
    collection: str | None = None,
    measure: str | None = None,
    model: str | None = None,
    granularity: Literal["word", "token"] | None = None,
    max_links: int | None = None,
    truncate: Truncate | None = None,
) -> Call[PairExplanation]:
    """Explain the score of two texts, or of a query and a stored document.

    Args:
        a: the first text.
        b: the second text.
        id: a stored document in its place.
        collection: the collection of that document.
        measure: the score to explain; `rcmd_words` by default, all of whose parts are links of words.
        model: a served model.
        granularity: whether links connect words, the default, or tokens.
        max_links: number of links to return; 200 by default.
        truncate: the end at which a text that is too long is truncated; NONE refuses it.

    Example:
        >>> why = client.explain("my parcel never came", id="shipping-001")  # of the collection `default`
        >>> [why.words(link) for link in why.links[:2]]
        [('parcel', 'parcel'), ('my', 'My')]
    """
    body = _fields(
        a=a,
        b=b,
        id=id,
        collection=collection,
        measure=measure,
        model=model,
        granularity=granularity,
        max_links=max_links,
        truncate=truncate,
        format="json",
    )
    return _post("/explain", body, PairExplanation)


def embed(
    texts: str | Sequence[str],
    model: str,
    *,
    dimensions: int | None = None,
    input_type: str | None = None,
    truncate: Truncate | None = None,
) -> Call[answers.Embeddings]:
    """Embed texts as vectors of unit length.

    Args:
        texts: a text, or a list of texts.
        model: a served model, by its name in `model_names()`.
        dimensions: keep only the first ones, scaled to unit length.
        input_type: `document` or `query`, for models that read them differently; query by default.
        truncate: the end at which a text that is too long is truncated; by default it is refused.

    Example:
        >>> [cat, kitten] = client.embed(["A cat sleeps.", "The kitten naps."], "minilm-words").vectors
        >>> len(cat), round(sum(x * y for x, y in zip(cat, kitten)), 2)
        (384, 0.72)
    """
    body = _fields(model=model, dimensions=dimensions, input_type=input_type, truncate=truncate)
    body["input"] = [texts] if isinstance(texts, str) else list(texts)
    return _post("/v1/embeddings", body, answers.Embeddings)


def rerank(  # noqa: PLR0913 - one parameter a field of the request
    query: str,
    documents: Sequence[str],
    *,
    model: str | None = None,
    measure: str | None = None,
    top_n: int | None = None,
    min_probability: float | None = None,
    relevant_spans: Spans | None = None,
    explain: bool = False,
) -> Call[answers.Ranking]:
    """Rank documents by their relevance to a query, best first.

    Args:
        query: the query.
        documents: texts; empty ones are ranked last.
        model: a served model, which may have a measure after `@`, such as `minilm@cosine`.
        measure: that of the model's name, or `rcmd1_words`, by default.
        top_n: most results; all by default.
        min_probability: least probability of a result; the measure needs a calibration.
        relevant_spans: `Spans()` returns the parts of each document that match the query.
        explain: whether to return the links between words.

    Example:
        >>> documents = ["Return shoes within 30 days.", "Track a shipment if it did not arrive."]
        >>> [best] = client.rerank("my parcel never came", documents, top_n=1, relevant_spans=Spans()).results
        >>> best.index, [best.document.text[span.start : span.end] for span in best.relevant_spans]
        (1, ['not arrive', 'a shipment'])
    """
    body = _fields(
        query=query,
        documents=list(documents),
        model=model,
        measure=measure,
        top_n=top_n,
        min_probability=min_probability,
    )
    if relevant_spans is not None:
        body["relevant_spans"] = {"mode": "enabled", **_fields(**asdict(relevant_spans))}
    if explain:
        body["explain"] = True
    return _post("/v2/rerank", body, answers.Ranking)


def create_collection(
    name: str,
    *,
    model: str | None = None,
    measure: str | None = None,
    index: str | None = None,
    tokens: Literal["none", "int8"] | None = None,
    passages: Mapping[str, int] | Literal["auto", "none"] | None = None,
) -> Call[answers.Collection]:
    """Create a collection; the same call again changes nothing.

    Args:
        name: its name, of a-z, 0-9, '.', '_' and '-'.
        model: a served model.
        measure: the measure of its searches; cosine by default.
        index: an index engine; by default the service chooses by the number of documents.
        tokens: `int8` keeps token vectors, so that `rcmd` need not encode documents again.
        passages: how documents are cut, such as `{"tokens": 128, "overlap": 1}`; by default as the model demands.

    Example:
        >>> client.create_collection("drafts", measure="rcmd", tokens="int8").count
        0
    """
    body = _fields(model=model, measure=measure, index=index, tokens=tokens, passages=passages)
    return Call(_request("PUT", _collection(name), body), answers.Collection.model_validate_json)


def collections() -> Call[list[answers.Collection]]:
    """List all collections, by name.

    Example:
        >>> "default" in [each.name for each in client.collections()]
        True
    """
    return _get("/collections", lambda body: answers.CollectionList.model_validate_json(body).collections)


def collection(name: str) -> Call[answers.Collection]:
    """Show a collection. Raises NotFound.

    Example:
        >>> client.collection("default").count
        200
    """
    return _get(_collection(name), answers.Collection.model_validate_json)


def delete_collection(name: str) -> Call[None]:
    """Delete a collection with its documents. Raises NotFound."""
    return Call(_request("DELETE", _collection(name)), _nothing, repeatable=False)


def add_documents(documents: Iterable[NewDocument], collection: str = "default") -> Call[answers.Stored]:
    """Store a few documents together, all or none; an id that exists is replaced.

    For many documents, see `upload`.

    Args:
        documents: `Document`s, or dictionaries with `id`, `text`, and optionally `metadata` and `if_version`.
        collection: where to store them.

    Example:
        >>> created = client.create_collection("notes")
        >>> client.add_documents([Document(id="1", text="The lamp flickers.")], "notes").upserted
        1
    """
    body = {"documents": [wire(each) for each in documents]}
    request = _request("POST", documents_path(collection), body)
    return Call(request, answers.Stored.model_validate_json, repeatable=False)


def documents(
    collection: str = "default", *, limit: int | None = None, cursor: str | None = None
) -> Call[answers.DocumentPage]:
    """List a page of documents, by id.

    Args:
        collection: their collection.
        limit: most documents of the page; 100 by default.
        cursor: that of the previous page.

    Example:
        >>> page = client.documents(limit=2)
        >>> len(page.documents), len(client.documents(limit=200, cursor=page.cursor).documents)
        (2, 198)
    """
    query = urlencode(_fields(limit=limit, cursor=cursor))
    return _get(f"{documents_path(collection)}?{query}", answers.DocumentPage.model_validate_json)


def document(id: str, collection: str = "default") -> Call[answers.ReadDocument]:  # noqa: A002 - the name of the field
    """Show a document. Raises NotFound.

    Example:
        >>> client.document("shipping-001").metadata["category"]
        'shipping'
    """
    return _get(_document(collection, id), answers.ReadDocument.model_validate_json)


def delete_document(
    id: str,  # noqa: A002 - the name of the field
    collection: str = "default",
    *,
    if_version: str | None = None,
) -> Call[answers.Deleted]:
    """Delete a document. Raises NotFound.

    Args:
        id: the document.
        collection: its collection.
        if_version: delete it only if it has not changed since this version, else raise Conflict.
    """
    query = f"?{urlencode({'if_version': if_version})}" if if_version else ""
    request = _request("DELETE", _document(collection, id) + query)
    return Call(request, answers.Deleted.model_validate_json, repeatable=False)


def count(
    collection: str = "default",
    *,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    facets: Mapping[str, int] | None = None,
    min_version: str | None = None,
) -> Call[answers.Counted]:
    """Count the documents that match a filter, and the most frequent values of metadata fields.

    Args:
        collection: where to count.
        filter: conditions on metadata, such as `{"category": "shipping"}`.
        facets: how many values to return, by field.
        min_version: count in this version of the collection or a later one.

    Example:
        >>> answer = client.count(filter={"category": {"prefix": "s"}}, facets={"category": 2})
        >>> answer.count == answer.values("category")["shipping"]
        True
    """
    fields = [{"field": field, "values": values} for field, values in (facets or {}).items()]
    body = _fields(filter=filter, facets=fields or None, min_version=min_version)
    return Call(_request("POST", f"{_collection(collection)}/count", body), answers.Counted.model_validate_json)


def models() -> Call[list[answers.Model]]:
    """List the served models.

    Example:
        >>> [model.name for model in client.models() if model.default]
        ['minilm-words']
    """
    return _get("/models", lambda body: answers.ModelList.model_validate_json(body).models)


def model_names() -> Call[list[str]]:
    """List the names that `model` may have: those of served models, and aliases.

    Example:
        >>> client.model_names()
        ['minilm-words', 'minilm-clrcmd', 'minilm']
    """
    return _get("/v1/models", lambda body: [each.id for each in answers.ModelNames.model_validate_json(body).data])


def measures() -> Call[list[answers.Measure]]:
    """List the measures that calls may name.

    Example:
        >>> [measure.bounds for measure in client.measures() if measure.name == "rcmd_words"]
        [(-1.0, 1.0)]
    """
    return _get("/models", lambda body: answers.ModelList.model_validate_json(body).measures)


def wire(document: NewDocument) -> Mapping[str, Any]:
    """A document as JSON has it.

    >>> wire(answers.StoredDocument(id="1", text="A text.", truncated=False))
    {'id': '1', 'text': 'A text.', 'metadata': {}}
    """
    return document if isinstance(document, Mapping) else document.model_dump(include={"id", "text", "metadata"})


def json_bytes(body: object) -> bytes:
    """A value as JSON."""
    try:
        return json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate, which the service will refuse
        return json.dumps(body).encode()


def documents_path(collection: str) -> str:
    """Path of the documents of a collection."""
    return f"{_collection(collection)}/documents"


def _fields(**fields: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def _request(method: str, path: str, body: object = None) -> Request:
    return Request(method, path, None if body is None else json_bytes(body))


def _collection(name: str) -> str:
    return f"/collections/{_segment(name)}"


def _document(collection: str, id_: str) -> str:
    return f"{documents_path(collection)}/{_segment(id_)}"


def _segment(name: str) -> str:
    """A name as a segment of a path.

    >>> _segment("a/b")
    'a%2Fb'

    Raises:
        ValueError: it is empty, or dots, which would lead to another path, such as that of the whole collection.
    """
    if name in ("", ".", ".."):
        raise ValueError(f"{name!r} cannot be part of an address: it would name another path")
    return quote(name, safe="")


def _get(path: str, parse: Callable[[bytes], T]) -> Call[T]:
    return Call(Request("GET", path), parse)


def _post(path: str, body: object, answer: type[A]) -> Call[A]:
    return Call(_request("POST", path, body), answer.model_validate_json)


def _nothing(body: bytes) -> None:
    """An answer without a body."""
    del body
