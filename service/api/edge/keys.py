"""Keys of SEMBLANCE_API_KEYS, and the scope that each route requires."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from semblance.service.errors import BadKeys, Forbidden, Unauthorized
from semblance.service.names import is_name

KeyScope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)

DOCUMENTS = "/collections/{name}/documents"

_DIGEST = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
_DOCUMENTS = re.compile(DOCUMENTS.replace("{name}", "[^/]+"))
_DOCUMENT = re.compile(_DOCUMENTS.pattern + "/.*", re.DOTALL)
_DELETE = re.compile(r"/collections/[^/]+/delete")
_OPEN = re.compile(r"/live|/ready|/health|/docs|/docs/assets/.*|/openapi\.json")
_READ_BY_POST = re.compile(  # queries too long for a URL
    r"/|/similarity|/search|/explain(?:/difference)?|/rerank|/score|/pooling|/embed|/embed_all|/tokenize|/decode|/api/embed|/v[12]/.*|/collections/[^/]+/(count|list|duplicates)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of the setting; the key itself is not stored."""

    name: str
    scopes: frozenset[str]
    digest: bytes = field(repr=False)


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
        keys: known keys.
        metrics_open: whether GET /metrics is open.
    """

    keys: Sequence[Key] = ()
    metrics_open: bool = False

    def needs_key(self, method: str, path: str) -> bool:
        """Whether a request must send a key."""
        if not self.keys:
            return False
        is_open = _OPEN.fullmatch(path) or (self.metrics_open and path == "/metrics")
        return not (method in ("GET", "HEAD") and is_open)

    def admit(self, method: str, path: str, authorization: Sequence[str]) -> str | None:
        """The name of the key that a request sends, None where it needs none.

        Args:
            method: of the request.
            path: of the request, decoded.
            authorization: the values of its Authorization headers.

        Raises:
            Unauthorized: it needs a key, and sends no known one.
            Forbidden: its key lacks the scope.
        """
        if not self.needs_key(method, path):
            return None
        key = self._key(authorization)
        required = scope_of(method, path)
        if required not in key.scopes:
            raise Forbidden(f"this requires the scope {required}, which the key {key.name} lacks", key.name)
        return key.name

    def _key(self, authorization: Sequence[str]) -> Key:
        scheme, _, secret = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            raise Unauthorized("this requires a key; send it as Authorization: Bearer KEY")
        digest = _digest(secret.strip())
        # every entry is compared, so that the time does not reveal which one matches
        matches = [key for key in self.keys if hmac.compare_digest(key.digest, digest)]
        if not matches:
            raise Unauthorized("unknown key")
        return matches[0]


def read_keys(setting: str) -> tuple[Key, ...]:
    """Parse SEMBLANCE_API_KEYS: entries `name:scopes:sha256`, separated by commas.

    >>> read_keys("ci:read+write:" + 64 * "0")[0].name
    'ci'

    Raises:
        BadKeys: an entry is malformed or a duplicate. The message contains no digest.
    """
    keys: dict[str, Key] = {}
    entries = [entry.strip() for entry in setting.split(",")] if setting.strip() else []
    for number, entry in enumerate(entries, 1):
        key = _read_key(entry, f"SEMBLANCE_API_KEYS: entry {number} of {len(entries)}")
        if key.name in keys:
            raise BadKeys(f"SEMBLANCE_API_KEYS: duplicate name {key.name}")
        if twin := next((other for other in keys.values() if other.digest == key.digest), None):
            raise BadKeys(f"SEMBLANCE_API_KEYS: {twin.name} and {key.name} are the same key; create one for each")
        keys[key.name] = key
    return tuple(keys.values())


def entry_of(name: str, scopes: Collection[str], key: str) -> str:
    """The entry of SEMBLANCE_API_KEYS for `key`.

    >>> entry = entry_of("ci", ["write", "read"], "secret")
    >>> entry[:20], Guard(read_keys(entry)).admit("POST", "/search", ["Bearer secret"])
    ('ci:read+write:2bb80d', 'ci')
    """
    return f"{name}:{'+'.join(scope for scope in SCOPES if scope in scopes)}:{_digest(key).hex()}"


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("latin-1")).digest()  # as servers decode headers


def _read_key(entry: str, where: str) -> Key:
    name, *rest = entry.split(":")
    if not is_name(name):  # it may be a digest, or a key: never repeat it in a message
        raise BadKeys(f"{where} does not begin with a name of a-z, 0-9, '.', '_' and '-' and a colon")
    if len(rest) != 2:
        raise BadKeys(f"{where} ({name if rest else 'no colon in it'}) is not of the form name:scopes:sha256")
    scopes = rest[0].split("+")
    if unknown := [scope for scope in scopes if scope not in SCOPES]:
        raise BadKeys(f"{where} ({name}) has {len(unknown)} unknown scopes; join some of {', '.join(SCOPES)} by '+'")
    if not _DIGEST.fullmatch(rest[1]):
        raise BadKeys(f"{where} ({name}) does not end in a SHA-256 of 64 hexadecimal digits")
    return Key(name, frozenset(scopes), bytes.fromhex(rest[1]))
