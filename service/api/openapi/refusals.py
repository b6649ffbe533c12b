"""The errors of each operation, in one table for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from semblance.service.api.error_shapes import Shape, shapes_of, status_in
from semblance.service.api.errors import MEDIA_TYPE, OTHER_CODES, STATUS

STATUS_OF: Mapping[str, int] = {
    **{leaf.code: status for leaf, status in STATUS.items()},
    **{code: status for code, (status, _) in OTHER_CODES.items()},
}

UNREAD = ("malformed_http", "headers_too_large")  # sent before a request is read, always as a problem
# of any request; of one that may have a body; of one that needs a body; of one that needs a key
EDGE = (*UNREAD, "host_not_allowed", "internal_error", "not_ready")
ANY_BODY = ("body_too_large", "unsupported_content_encoding", "unsupported_media_type")
READ_BODY = ("malformed_json", "body_timeout")
KEY = ("unauthorized", "forbidden")

_QUERY = ("unknown_field",)
_FIELDS = ("invalid_request", "invalid_value", "missing_field", "out_of_range", *_QUERY)
_TEXTS = ("empty_text", "ill_formed_text", "text_too_long")
_MODEL = ("unknown_model", "model_loading", "model_unavailable")
_ENCODING = ("model_failed", "model_loading", "model_unavailable", "overloaded", "too_many_tokens")
_READ = ("overloaded", "store_damaged", "store_failed", "store_unavailable", "version_not_reached")
_WRITE = (*_READ, "store_full")
_INDEX = ("index_unavailable", "not_with_remote_index")
_COMPARED = (*_FIELDS, *_TEXTS, *_MODEL, *_ENCODING)
_TOKENS = "token_arrays_not_supported"
_MATCHING = (*_FIELDS, *_INDEX, "bad_filter", "bad_version", "ill_formed_text", "not_finite", "unknown_collection",
             "version_mismatch")  # fmt: skip
_EXPLAINED = (*_FIELDS, *_TEXTS, *_ENCODING, *_READ, *_INDEX, "not_acceptable", "not_explainable", "space_mismatch",
              "unknown_collection", "unknown_document", "unknown_measure", "write_conflict")  # fmt: skip
_RANKED = (*_COMPARED, "not_calibrated", "not_explainable", "not_finite", "unknown_measure")
_METADATA = ("bad_version", "document_changed", "duplicate_id", "metadata_too_deep", "metadata_too_large", "not_finite",
             "unknown_collection", "version_mismatch", "write_conflict")  # fmt: skip

# id of an operation -> codes of its own
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "compare_texts": (*_COMPARED, "unknown_measure", "not_explainable"),
    "search": (*_MATCHING, *_TEXTS, *_ENCODING, *_READ, "not_calibrated", "not_explainable", "space_mismatch",
               "unknown_document", "unknown_measure", "unknown_model", "write_conflict"),
    "suggest": (*_MATCHING, *_READ),
    "prune_documents": _COMPARED,
    "judge_texts": (*_MATCHING, *_TEXTS, *_MODEL, *_ENCODING, *_READ, "no_classifier", "space_mismatch"),
    "look_up_answer": (*_MATCHING, *_TEXTS, *_ENCODING, *_READ, "no_classifier", "space_mismatch"),
    "store_answer": (*_FIELDS, *_TEXTS, *_ENCODING, *_WRITE, *_INDEX, "bad_version", "forbidden", "metadata_too_deep",
                     "metadata_too_large", "not_finite", "reserved_field", "space_mismatch", "unknown_collection",
                     "write_conflict"),
    "explain": (*_EXPLAINED, *_MODEL),
    "explain_long_texts": (*_EXPLAINED, *_MODEL),
    "explain_difference": _EXPLAINED,
    "explain_long_difference": _EXPLAINED,
    "set_alias": (*_FIELDS, *_WRITE, "alias_conflict", "bad_name", "ill_formed_text", "unknown_collection"),
    "list_aliases": (*_READ, *_QUERY),
    "delete_alias": (*_WRITE, *_QUERY, "unknown_alias"),
    "create_collection": (*_FIELDS, *_MODEL, *_WRITE, "alias_conflict", "bad_name", "collection_differs",
                          "ill_formed_text", "unknown_index", "unknown_measure"),
    "list_collections": (*_READ, *_QUERY),
    "get_collection": (*_READ, *_QUERY, "unknown_collection"),
    "set_glossary": (*_FIELDS, *_WRITE, "ill_formed_text", "unknown_collection"),
    "get_glossary": (*_READ, *_QUERY, "unknown_collection"),
    "delete_collection": (*_WRITE, *_QUERY, "alias_conflict", "unknown_collection"),
    "begin_reembedding": (*_FIELDS, *_MODEL, *_WRITE, "ill_formed_text", "reembedding_differs", "unknown_collection",
                          "write_conflict"),
    "step_reembedding": (*_TEXTS, *_ENCODING, *_WRITE, *_QUERY, "invalid_request", "no_reembedding", "space_mismatch",
                         "unknown_collection", "write_conflict"),
    "switch_reembedding": (*_WRITE, *_QUERY, "index_unavailable", "model_loading", "model_unavailable",
                           "no_reembedding", "reembedding_unfinished", "space_mismatch", "unknown_collection"),
    "cancel_reembedding": (*_WRITE, *_QUERY, "unknown_collection"),
    "store_documents": (*_FIELDS, *_TEXTS, *_ENCODING, *_WRITE, *_METADATA, "bad_id", "embedding_mismatch",
                        "space_mismatch"),
    "change_metadata": (*_FIELDS, *_WRITE, *_METADATA, "ill_formed_text", "text_field", "unknown_document"),
    "list_documents": (*_READ, *_QUERY, "bad_cursor", "invalid_request", "invalid_value", "out_of_range",
                       "unknown_collection"),
    "get_document": (*_READ, *_QUERY, "unknown_collection", "unknown_document"),
    "delete_document": (*_WRITE, *_QUERY, "bad_version", "document_changed", "unknown_collection", "unknown_document",
                        "version_mismatch"),
    "count_documents": (*_MATCHING, *_READ),
    "list_matching": (*_MATCHING, *_READ, "bad_cursor"),
    "map_documents": (*_MATCHING, *_READ),
    "delete_matching": (*_MATCHING, *_WRITE, "write_conflict"),
    "find_duplicates": (*_MATCHING, *_ENCODING, *_READ, "bad_cursor", "not_acceptable", "not_explainable",
                        "space_mismatch", "unknown_measure", "write_conflict"),
    "read_files": (*_FIELDS, "ill_formed_text", "overloaded"),
    "list_models": _QUERY,
    "list_model_names": _QUERY,
    "show_model_name": (*_QUERY, "unknown_model"),
    "embed_texts": (*_COMPARED, _TOKENS),
    "rerank_texts": _RANKED,
    "rerank_as_jina": _RANKED,
    "rerank_as_cohere": _RANKED,
    "score_pairs": (*_COMPARED, "unknown_measure"),
    "score_under_version": (*_COMPARED, "unknown_measure"),
    "pool_texts": (*_COMPARED, _TOKENS),
    "embed_as_tei": (*_COMPARED, _TOKENS),
    "embed_tokens": (*_COMPARED, _TOKENS),
    "tokenize_texts": (*_FIELDS, *_TEXTS, *_MODEL, _TOKENS),
    "decode_tokens": (*_FIELDS, *_MODEL),
    "embed_as_azure": (*_COMPARED, _TOKENS),
    "embed_as_ollama": (*_COMPARED, _TOKENS),
    "embed_prompt": _COMPARED,
    "show_as_ollama": (*_FIELDS, *_MODEL, "ill_formed_text"),
    "list_tags": (*_QUERY, "overloaded"),
    "get_version": _QUERY,
    "embed_under_version": (*_COMPARED, _TOKENS),
    "embed_as_cohere": (*_COMPARED, _TOKENS),
    "tokenize_as_cohere": (*_FIELDS, *_TEXTS, *_MODEL),
    "get_info": _QUERY,
    "get_health": _QUERY,
}  # fmt: skip


def documented(path: str, operation: str, edge: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The responses to errors of an operation and of the edge, by status."""
    shapes: dict[str, Sequence[Shape | None]] = {code: shapes_of(path)[:1] for code in edge}  # no body is read
    shapes |= dict.fromkeys(UNREAD, (None,))
    shapes |= dict.fromkeys(OPERATIONS.get(operation, ()), shapes_of(path))
    by_status: dict[int, dict[str, set[str]]] = {}
    for code, own in shapes.items():
        for shape in own:
            status = by_status.setdefault(status_in(shape, STATUS_OF[code]), {})
            status.setdefault(_schema(shape), set()).add(code)
    return {str(status): _response(by_schema) for status, by_schema in by_status.items()}


def _schema(shape: Shape | None) -> str:
    return "ProblemDetails" if shape is None else shape.__name__


def _response(codes: Mapping[str, set[str]]) -> dict[str, Any]:
    """A response in some schemas, described by its codes."""
    content: dict[str, Any] = {}
    for schema in sorted(codes):
        reference = {"$ref": f"#/components/schemas/{schema}"}
        media_type = MEDIA_TYPE if schema == "ProblemDetails" else "application/json"
        known = content.setdefault(media_type, {"schema": reference})["schema"]
        if known != reference:
            content[media_type]["schema"] = {"anyOf": [*known.get("anyOf", [known]), reference]}
    listed = sorted(set().union(*codes.values()), key=lambda code: (STATUS_OF[code], code))
    return {"description": ", ".join(f"`{code}`" for code in listed), "content": content}
