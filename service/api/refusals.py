"""Documentation of the refusals that a route may answer, by their codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from semblance.service.api.error_shapes import Shape, status_in
from semblance.service.api.errors import MEDIA_TYPE, OTHER_CODES, STATUS

STATUS_OF: Mapping[str, int] = {
    **{leaf.code: status for leaf, status in STATUS.items()},
    **{code: status for code, (status, _) in OTHER_CODES.items()},
}

# of any request; of one that may have a body; of one that needs a body; of one that needs a key
EDGE = ("malformed_http", "host_not_allowed", "headers_too_large", "internal_error", "not_ready")
ANY_BODY = ("body_too_large", "unsupported_content_encoding", "unsupported_media_type")
READ_BODY = ("malformed_json", "body_timeout")
KEY = ("unauthorized", "forbidden")

# what several routes share
FIELDS = ("invalid_request", "invalid_value", "missing_field", "out_of_range", "unknown_field")
TEXTS = ("empty_text", "ill_formed_text", "text_too_long")
MODEL = ("unknown_model", "model_loading", "model_unavailable")
ENCODING = ("model_failed", "model_loading", "model_unavailable", "overloaded", "too_many_tokens")
READ = ("overloaded", "store_damaged", "store_failed", "store_unavailable", "version_not_reached")
WRITE = (*READ, "store_full")
INDEX = ("index_unavailable", "not_with_remote_index")


def responses(*codes: str, also: Shape | None = None) -> dict[int | str, dict[str, Any]]:
    """Document problems with these codes, by their statuses; `also` in another shape."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    if also is not None:
        content["application/json"] = {"schema": {"$ref": f"#/components/schemas/{also.__name__}"}}
    return {
        status: {"description": _listed(each), "content": content}
        for status, each in _by_status({code: STATUS_OF[code] for code in codes}).items()
    }


def responses_in(shapes: Sequence[Shape], *codes: str) -> dict[int | str, dict[str, Any]]:
    """Document refusals in the shapes of other APIs, with their statuses."""
    documented: dict[int | str, dict[str, Any]] = {}
    for shape in shapes:
        for status, each in _by_status({code: status_in(shape, STATUS_OF[code]) for code in codes}).items():
            model = documented[status]["model"] | shape if status in documented else shape
            documented[status] = {"description": _listed(each), "model": model}
    return documented


def merge(documented: dict[str, Any], added: Mapping[int | str, Mapping[str, Any]]) -> None:
    """Add answers to those that an operation documents, each code once."""
    for status, answer in added.items():
        own = documented.setdefault(str(status), {"description": "", "content": {}})
        known = own["description"].split(", ") if own["description"] else []
        own["description"] = ", ".join(dict.fromkeys([*known, *answer["description"].split(", ")]))
        own["content"] = {**answer["content"], **own.get("content", {})}  # a route may have more shapes than its path


def _by_status(statuses: Mapping[str, int]) -> dict[int, list[str]]:
    """Codes by status, both in order."""
    found: dict[int, list[str]] = {}
    for code in sorted(statuses, key=lambda code: (statuses[code], code)):
        found.setdefault(statuses[code], []).append(code)
    return found


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(f"`{code}`" for code in codes)
