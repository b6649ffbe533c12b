"""Which key a request needs: the scope of each route, and the check of its key."""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from semblance.service.api.edge.key_entries import Key, KeyRing, KeyScope, digest_of
from semblance.service.errors import Forbidden, Unauthorized

DOCUMENTS = "/collections/{name}/documents"
METRICS = "/metrics"

_DOCUMENTS = re.compile(DOCUMENTS.replace("{name}", "[^/]+"))
_DOCUMENT = re.compile(_DOCUMENTS.pattern + "/.*", re.DOTALL)
_DELETE = re.compile(r"/collections/[^/]+/delete")
_OPEN = re.compile(r"/|/playground/.*|/live|/ready|/health|/docs|/docs/assets/.*|/openapi\.json")
_READ_BY_POST = re.compile(  # queries too long for a URL
    r"/|/similarity|/search|/explain(/difference)?|/rerank|/score|/pooling|/embed|/embed_all|/tokenize|/decode"
    r"|/api/embed|/v1/(embeddings|rerank|score)|/v2/rerank|/collections/[^/]+/(count|list|duplicates|map)"
)


def is_documents(path: str) -> bool:
    """Whether a path is that of all documents of a collection.

    >>> is_documents("/collections/faq/documents"), is_documents("/collections/faq/documents/1")
    (True, False)
    """
    return _DOCUMENTS.fullmatch(path) is not None


def scope_of(method: str, path: str) -> KeyScope:
    """The scope that a request requires; `admin` unless less is known to suffice.

    >>> scope_of("POST", "/search"), scope_of("POST", "/collections/faq/documents"), scope_of("PUT", "/collections/faq")
    ('read', 'write', 'admin')
    >>> scope_of("DELETE", "/collections/faq/documents/a/b")
    'write'
    """
    if method in ("GET", "HEAD") or (method == "POST" and _READ_BY_POST.fullmatch(path)):
        return "read"
    if method in ("POST", "PATCH", "DELETE") and (is_documents(path) or _DOCUMENT.fullmatch(path)):
        return "write"
    if method == "POST" and _DELETE.fullmatch(path):
        return "write"
    return "admin"


@dataclass(frozen=True, slots=True)
class Guard:
    """Checks the key of a request. Without keys, every request is admitted.

    Args:
        ring: known keys.
        metrics_open: whether GET /metrics is open.
    """

    ring: KeyRing = field(default_factory=KeyRing)
    metrics_open: bool = False

    def needs_key(self, method: str, path: str) -> bool:
        """Whether a request must send a key."""
        if not self.ring.keys:
            return False
        is_open = _OPEN.fullmatch(path) or (self.metrics_open and path == METRICS)
        return not (method in ("GET", "HEAD") and is_open)

    def admit(self, method: str, path: str, authorization: Sequence[str]) -> Key | None:
        """The key that a request sends, None where it needs none.

        Args:
            method: of the request.
            path: of the request, decoded.
            authorization: the values of its Authorization headers.

        Raises:
            Unauthorized: it needs a key, and sends no known one.
            Forbidden: its key lacks the scope, or has limits where all collections are shown.
        """
        if not self.needs_key(method, path):
            return None
        key = self._key(authorization)
        required = scope_of(method, path)
        if required not in key.scopes:
            raise Forbidden(f"this requires the scope {required}, which the key {key.name} lacks", key.name)
        if path == METRICS and key.permission.is_limited:
            raise Forbidden(f"the metrics are those of all collections, and the key {key.name} has limits", key.name)
        return key

    def _key(self, authorization: Sequence[str]) -> Key:
        scheme, _, secret = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            raise Unauthorized("this requires a key; send it as Authorization: Bearer KEY")
        digest = digest_of(secret.strip())
        # every entry is compared, so that the time does not reveal which one matches
        matches = [key for key in self.ring.keys if hmac.compare_digest(key.digest, digest)]
        if not matches:
            raise Unauthorized("unknown key")
        return matches[0]
