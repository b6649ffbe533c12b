"""The warnings that responses may have, by their codes; docs/errors.md lists them."""

from __future__ import annotations

from collections.abc import Mapping

from semblance_client.vocabulary.responses import WarningCode

# code -> when
MEANINGS: Mapping[WarningCode, str] = {
    "empty_text": "A document to rerank has no visible character, or no token, so that it is ranked last",
    "filter_type_mismatch": "No document has a value of the condition's type in that field, such as a number",
    "incomplete_search": "The index on another server has too many stale passages: more documents may match",
    "unknown_filter_field": "No document of the collection has that field in its metadata",
    "unread_text": "The model cannot read at least half of a text's letters, or any sign of a text without letters",
}
