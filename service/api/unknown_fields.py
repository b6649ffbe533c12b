"""The field that an unknown one of a body may mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from semblance.service.names import did_you_mean

MESSAGE = "the schema has no such field"
# what other systems call a field -> what it may be called here
_ELSEWHERE: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("size", "top_k", "topk", "n_results", "num_results", "limit", "top_n", "n"), ("k", "limit", "top_n")
    ),
    **dict.fromkeys(("from", "skip", "from_"), ("offset",)),
    **dict.fromkeys(("aggs", "aggregations"), ("facets",)),
    **dict.fromkeys(("threshold", "score_threshold", "similarity_threshold"), ("min_score",)),
    **dict.fromkeys(("where", "filters", "query_filter", "post_filter"), ("filter",)),
    **dict.fromkeys(("_source", "stored_fields", "output_fields"), ("fields",)),
    **dict.fromkeys(("content", "body", "page_content", "page"), ("text",)),
    **dict.fromkeys(("index", "collection_name", "namespace"), ("collection",)),
    **dict.fromkeys(("_id", "doc_id", "document_id"), ("id",)),
    **dict.fromkeys(("collapse", "group"), ("group_by",)),
    **dict.fromkeys(("more_like_this", "recommend"), ("like",)),
    **dict.fromkeys(("fuzziness",), ("typos",)),
    **dict.fromkeys(("payload", "meta", "metadatas"), ("metadata",)),
}


def unknown_field(kind: object, place: Sequence[str | int]) -> str:
    """The message about an unknown field at a place of a body, with the field that may be meant.

    Args:
        kind: annotation of the body.
        place: path of the field.
    """
    models = list(_models(kind))
    for step in place[:-1]:  # places in lists, and tags of unions, lead to no other model
        models = [
            inner for each in models if step in each.model_fields for inner in _models_at(each, str(step))
        ] or models
    names = {name for each in models for name in each.model_fields}
    name = str(place[-1])
    habit = next((each for each in _ELSEWHERE.get(name.lower(), ()) if each in names), None)
    if habit is not None:
        return f"{MESSAGE}: did you mean `{habit}`?"
    rest = ": other fields of a document belong into `metadata`" if {"text", "metadata"} <= names else ""
    return MESSAGE + (did_you_mean(name, names) or rest)


def _models_at(model: type[BaseModel], field: str) -> Iterator[type[BaseModel]]:
    return _models(model.model_fields[field].annotation)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """All models in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)
