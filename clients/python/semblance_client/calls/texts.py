"""Calls about texts, searches and models: their requests, and parsers of their responses.

Each function builds a `Call`, or a `ListCall` that may be sent in parts; `Client` and `AsyncClient` have it as a method
that returns the response. Arguments that are left out, or None, are not sent: their defaults are those of the service.
`GET /docs` has the details.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from semblance_client.calls import wire
from semblance_client.calls.parts import joined
from semblance_client.calls.wire import FacetCounts
from semblance_client.steps import Call, ListCall
from semblance_client.vocabulary.difference import ScoreDifference
from semblance_client.vocabulary.explanation import PairExplanation
from semblance_client.vocabulary.fields import Truncate
from semblance_client.vocabulary.models import Measure, Model, ModelCards, ModelList
from semblance_client.vocabulary.other_apis import Embeddings, Ranking
from semblance_client.vocabulary.search import SearchResults
from semblance_client.vocabulary.similarity import Similarities, SimilarityMatrix
from semblance_client.vocabulary.suggest import Suggestions


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
    pairs: str | Iterable[tuple[str, str]],
    b: str | None = None,
    *,
    measure: str | None = None,
    model: str | None = None,
    explain: bool = False,
    truncate: Truncate | None = None,
) -> ListCall[Similarities]:
    """Score pairs of texts, in parts where they are too many for one request.

    Args:
        pairs: the texts to compare, such as `zip(left, right)` of two columns; or a text, to compare with `b`.
        b: the other text, if `pairs` is one.
        measure: a name of `measures()`; cosine by default.
        model: a served model.
        explain: whether to return the words behind each score.
        truncate: for texts that are longer than the model reads: PASSAGES, START, END or NONE.

    Example:
        >>> response = client.similarity([("A cat sleeps.", "The kitten naps.")], measure="rcmd_words")
        >>> round(response.scores[0], 3)
        0.671
        >>> client.similarity("A cat sleeps.", "The kitten naps.", measure="rcmd_words").scores == response.scores
        True
    """
    body = wire.fields(measure=measure, model=model, explain=explain or None, truncate=truncate)
    return ListCall(
        "pairs",
        wire.pairs(pairs, b),
        lambda part: wire.post("/similarity", {**body, "pairs": part}, Similarities),
        partial(joined, "pairs"),
    )


def similarity_matrix(
    left: Sequence[str],
    right: Sequence[str],
    *,
    measure: str | None = None,
    model: str | None = None,
    truncate: Truncate | None = None,
) -> Call[SimilarityMatrix]:
    """Score each left with each right text; the arguments are those of `similarity`.

    Example:
        >>> response = client.similarity_matrix(["A cat sleeps."], ["The kitten naps.", "A dog barks."])
        >>> [[round(score, 2) for score in row] for row in response.scores]
        [[0.69, 0.25]]
    """
    body = wire.fields(left=list(left), right=list(right), measure=measure, model=model, truncate=truncate)
    return wire.post("/similarity", body, SimilarityMatrix)


def search(  # noqa: PLR0913 - one parameter a field of the request
    query: str | Sequence[str] | None = None,
    collection: str = "default",
    *,
    k: int | None = None,
    measure: str | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    explain: bool = False,
    candidates: int | None = None,
    rerank_model: str | None = None,
    min_score: float | None = None,
    min_probability: float | None = None,
    min_version: str | None = None,
    truncate: Truncate | None = None,
    passages: int | None = None,
    mode: Literal["vector", "lexical", "hybrid", "auto"] | None = None,
    highlight: bool | Mapping[str, int] | None = None,
    keep: Mapping[str, float] | None = None,
    like: str | None = None,
    facets: Mapping[str, FacetCounts] | None = None,
    group_by: str | None = None,
    group_size: int | None = None,
    diversity: float | None = None,
    offset: int | None = None,
    typos: bool | None = None,
    autocomplete: bool | None = None,
    sort: str | None = None,
    descending: bool = False,
    fields: Sequence[str] | None = None,
    boosts: Sequence[Mapping[str, Any]] | None = None,
    field_weights: Mapping[str, float] | None = None,
) -> Call[SearchResults]:
    """Find the documents of a collection that are most similar to one or more queries.

    Args:
        query: a text, or a list of texts; None with `like`.
        collection: where to search.
        k: number of hits; 10 by default.
        measure: the collection's own by default.
        filter: conditions on metadata, such as `{"category": "shipping"}`.
        explain: whether to return the words behind each score.
        candidates: documents that `rerank_model` or a measure other than cosine rescores; 100, or k, by default.
        rerank_model: a served rerank model, which orders hits by their `rerank_score`; all else is as without it.
        min_score: least score of a hit.
        min_probability: least probability of a hit; the measure needs a calibration.
        min_version: search this version of the collection or a later one.
        truncate: for queries that are longer than the model reads: PASSAGES, START, END or NONE.
        passages: most passages of a hit; 1 by default.
        mode: whether documents are found by vector, by terms (lexical), by both (hybrid), or by what suits the query
            (auto); hybrid by default, or vector with `like`.
        highlight: whether to return the snippet of each hit, or sizes such as `{"chars": 160, "marks": 3}`.
        keep: which sentences of the hits to keep, such as `{"share": 0.98}` of the score or `{"tokens": 300}`.
        like: the id of a document in place of a query.
        facets: how many values of metadata fields to return, by field, or ranges such as `[{"lt": 10}]`, over what
            passes filter and threshold.
        group_by: a metadata field, of which k values are returned, each with its best hits.
        group_size: most hits of a value; 1 by default.
        diversity: from 0 for the best hits to 1 for those least alike.
        offset: number of hits, or of groups, to leave out first.
        typos: whether words with typos are read as words of the documents, except in mode "vector"; True by default.
        autocomplete: whether the last word may be the beginning of one; False by default.
        sort: a metadata field that orders the candidates, in place of their scores.
        descending: whether the largest value of `sort` comes first.
        fields: metadata fields to return; all by default.
        boosts: what dates and numbers add to the order, such as `[{"field": "views", "full_at": 1000, "weight": 0.1}]`.
        field_weights: factors of the collection's text fields, and of `text`, such as `{"title": 1.5}`.

    Example:
        >>> response = client.search("my parcel never came", k=1, filter={"category": "shipping"})
        >>> [(hit.id, round(hit.score, 2)) for hit in response.hits]
        [('shipping-001', 0.54)]
        >>> client.search(like="shipping-001", k=2, facets={"category": 3}).results[0].facets.count
        200
    """
    body = wire.fields(
        collection=collection,
        k=k,
        measure=measure,
        filter=filter,
        explain=explain or None,
        candidates=candidates,
        rerank_model=rerank_model,
        min_score=min_score,
        min_probability=min_probability,
        min_version=min_version,
        truncate=truncate,
        passages=passages,
        mode=mode,
        highlight=highlight,
        keep=keep,
        like=like,
        facets=wire.facets(facets),
        group_by=group_by,
        group_size=group_size,
        diversity=diversity,
        offset=offset,
        typos=typos,
        autocomplete=autocomplete,
        sort=wire.sort(sort, descending=descending),
        fields=None if fields is None else list(fields),
        boosts=None if boosts is None else list(boosts),
        field_weights=field_weights,
    )
    if query is not None:
        body |= {"query": query} if isinstance(query, str) else {"queries": list(query)}
    return wire.post("/search", body, SearchResults)


def suggest(
    query: str,
    collection: str = "default",
    k: int | None = None,
    field: str | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    min_version: str | None = None,
) -> Call[list[str]]:
    """Suggest how a query that is being typed may go on.

    Args:
        query: its beginning.
        collection: whose documents have the words.
        k: most suggestions; 5 by default.
        field: a metadata field, such as a title, whose values are suggested first.
        filter: only of documents that match, such as `{"category": "shipping"}`.
        min_version: suggest from this version of the collection or a later one.

    Example:
        >>> client.suggest("lost par", k=2)
        ['lost parcel', 'lost part']
    """
    body = wire.fields(query=query, collection=collection, k=k, field=field, filter=filter, min_version=min_version)
    request = wire.request("POST", "/suggest", body)
    return Call(request, lambda body: [each.text for each in Suggestions.model_validate_json(body).suggestions])


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
        truncate: for texts that are longer than the model reads: PASSAGES, START, END or NONE.

    Example:
        >>> why = client.explain("my parcel never came", id="shipping-001")  # of the collection `default`
        >>> [why.words(link) for link in why.links[:2]]
        [('parcel', 'parcel'), ('my', 'My')]
    """
    body = wire.fields(
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
    return wire.post("/explain", body, PairExplanation)


def explain_difference(  # noqa: PLR0913 - one parameter a field of the request
    query: str,
    a: str,
    b: str,
    *,
    collection: str | None = None,
    measure: str | None = None,
    mode: Literal["vector", "hybrid"] | None = None,
    truncate: Truncate | None = None,
) -> Call[ScoreDifference]:
    """Explain why one document stands above another for a query.

    Args:
        query: the query.
        a: id of a document.
        b: id of another one.
        collection: the collection of both; `default` by default.
        measure: the score to explain; `rcmd_words` by default.
        mode: `hybrid` adds the bonus of terms, by which hybrid searches order documents; `vector` by default.
        truncate: for queries that are longer than the model reads: PASSAGES, START, END or NONE.

    Example:
        >>> why = client.explain_difference("my parcel never came", "shipping-001", "shipping-002")
        >>> [(part.text, round(part.difference, 2)) for part in why.parts[:2]]
        [('my', 0.09), ('parcel', 0.07)]
        >>> abs(sum(part.difference for part in why.parts) - (why.a.score - why.b.score)) < 1e-9
        True
    """
    body = wire.fields(
        query=query, a=a, b=b, collection=collection, measure=measure, mode=mode, truncate=truncate, format="json"
    )
    return wire.post("/explain/difference", body, ScoreDifference)


def embed(
    texts: str | Sequence[str],
    model: str | None = None,
    *,
    dimensions: int | None = None,
    input_type: str | None = None,
    truncate: Truncate | None = None,
) -> ListCall[Embeddings]:
    """Embed texts as vectors of unit length, in parts where they are too many for one request.

    Args:
        texts: a text, or a list of texts.
        model: a served model, by its name in `model_names()`; the default model by default.
        dimensions: keep only the first ones, scaled to unit length.
        input_type: `document` or `query`, for models that read them differently; query by default.
        truncate: for texts that are longer than the model reads: PASSAGES, START, END or NONE.

    Example:
        >>> [cat, kitten] = client.embed(["A cat sleeps.", "The kitten naps."]).vectors
        >>> len(cat), round(sum(x * y for x, y in zip(cat, kitten)), 2)
        (384, 0.69)
    """
    body = wire.fields(model=model, dimensions=dimensions, input_type=input_type, truncate=truncate)
    entries = [texts] if isinstance(texts, str) else list(texts)
    return ListCall(
        "input",
        entries,
        lambda part: wire.post("/v1/embeddings", {**body, "input": part}, Embeddings),
        partial(joined, "input"),
    )


def rerank(  # noqa: PLR0913 - one parameter a field of the request
    query: str,
    documents: Sequence[str],
    *,
    model: str | None = None,
    rerank_model: str | None = None,
    measure: str | None = None,
    top_n: int | None = None,
    min_probability: float | None = None,
    relevant_spans: Spans | None = None,
    keep: Mapping[str, float] | None = None,
    explain: bool = False,
) -> Call[Ranking]:
    """Rank documents by their relevance to a query, best first.

    Args:
        query: the query.
        documents: texts; empty ones are ranked last.
        model: a served model, which may have a measure after `@`, such as `minilm@cosine`.
        rerank_model: a served rerank model, which orders documents by their `rerank_score`; all else is as without it.
        measure: that of the model's name, or `rcmd1_words`, by default.
        top_n: most results; all by default.
        min_probability: least probability of a result; the measure needs a calibration.
        relevant_spans: `Spans()` returns the parts of each document that match the query.
        keep: which sentences of the results to keep, such as `{"share": 0.98}` of the score or `{"tokens": 300}`.
        explain: whether to return the links between words.

    Example:
        >>> documents = ["Return shoes within 30 days.", "Track a shipment if it did not arrive."]
        >>> [best] = client.rerank("my parcel never came", documents, top_n=1, relevant_spans=Spans()).results
        >>> best.index, [best.document.text[span.start : span.end] for span in best.relevant_spans]
        (1, ['not arrive', 'a shipment'])
    """
    body = wire.fields(
        query=query,
        documents=list(documents),
        model=model,
        rerank_model=rerank_model,
        measure=measure,
        top_n=top_n,
        min_probability=min_probability,
        keep=keep,
    )
    if relevant_spans is not None:
        body["relevant_spans"] = {"mode": "enabled", **wire.fields(**asdict(relevant_spans))}
    if explain:
        body["explain"] = True
    return wire.post("/v2/rerank", body, Ranking)


def models() -> Call[list[Model]]:
    """List the served models.

    Example:
        >>> [model.name for model in client.models() if model.default]
        ['minilm-graded']
    """
    return wire.get("/models", lambda body: ModelList.model_validate_json(body).models)


def model_names() -> Call[list[str]]:
    """List the names that `model` may have: those of served models, and aliases.

    Example:
        >>> client.model_names()
        ['minilm-graded', 'minilm-words', 'minilm-clrcmd', 'minilm']
    """
    return wire.get("/v1/models", lambda body: [each.id for each in ModelCards.model_validate_json(body).data])


def measures() -> Call[list[Measure]]:
    """List the measures that calls may name.

    Example:
        >>> [measure.bounds for measure in client.measures() if measure.name == "rcmd_words"]
        [(-1.0, 1.0)]
    """
    return wire.get("/models", lambda body: ModelList.model_validate_json(body).measures)
