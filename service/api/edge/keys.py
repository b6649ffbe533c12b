"""Who may call what: the keys of SEMBLANCE_API_KEYS, and the scope that each route wants. Pure; the envelope asks."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from semblance.service.api.paths import is_document, is_documents
from semblance.service.errors import BadKeys, Forbidden, Unauthorized
from semblance.service.names import is_name

KeyScope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)

_DIGEST = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)

_OPEN = re.compile(r"/live|/ready|/docs|/docs/assets/.*|/openapi\.json")
_READS_BY_POST = re.compile(r"/similarity|/search|/explain|/v1/.*", re.DOTALL)  # questions too long for an address


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of the setting. The key itself is known to its holder only."""

    name: str
    scopes: frozenset[str]
    digest: bytes = field(repr=False)


def scope_of(method: str, path: str) -> KeyScope:
    """The scope that a request needs. What is not known to need less needs `admin`, as a collection's making does.

    >>> scope_of("POST", "/search"), scope_of("POST", "/collections/faq/documents"), scope_of("PUT", "/collections/faq")
    ('read', 'write', 'admin')
    """
    if method in ("GET", "HEAD") or (method == "POST" and _READS_BY_POST.fullmatch(path)):
        return "read"
    if method in ("POST", "DELETE") and (is_documents(path) or is_document(path)):
        return "write"
    return "admin"


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets requests pass, or not; without keys all of them.

    Args:
        keys: those that may call.
        metrics_open: GET /metrics needs none.
    """

    keys: Sequence[Key] = ()
    metrics_open: bool = False

    def needs_key(self, method: str, path: str) -> bool:
        """Whether a request must show one."""
        if not self.keys:
            return False
        is_open = _OPEN.fullmatch(path) or (self.metrics_open and path == "/metrics")
        return not (method in ("GET", "HEAD") and is_open)

    def admit(self, method: str, path: str, authorization: Sequence[str]) -> str | None:
        """The name of the key that a request shows, None where it needs none.

        Args:
            method: of the request.
            path: of the request, decoded.
            authorization: the values of its Authorization headers.

        Raises:
            Unauthorized: it needs a key, and shows none that is known.
            Forbidden: its key lacks the scope.
        """
        if not self.needs_key(method, path):
            return None
        key = self._shown(authorization)
        needed = scope_of(method, path)
        if needed not in key.scopes:
            raise Forbidden(f"this needs the scope {needed}, which the key {key.name} lacks")
        return key.name

    def _shown(self, authorization: Sequence[str]) -> Key:
        scheme, _, shown = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            raise Unauthorized("this needs a key: send it as Authorization: Bearer KEY")
        digest = _digest(shown.strip())
        # every entry is compared, so that the time tells nothing of which one it was
        matching = [key for key in self.keys if hmac.compare_digest(key.digest, digest)]
        if not matching:
            raise Unauthorized("the key is not known here")
        return matching[0]


def read_keys(setting: str) -> tuple[Key, ...]:
    """The entries of SEMBLANCE_API_KEYS, `name:scopes:sha256` with commas between.

    >>> read_keys("ci:read+write:" + 64 * "0")[0].name
    'ci'

    Raises:
        BadKeys: one of them is malformed, or there twice. The message holds no digest.
    """
    keys: dict[str, Key] = {}
    entries = [entry.strip() for entry in setting.split(",")] if setting.strip() else []
    for number, entry in enumerate(entries, 1):
        key = _read_key(entry, f"SEMBLANCE_API_KEYS: entry {number} of {len(entries)}")
        if key.name in keys:
            raise BadKeys(f"SEMBLANCE_API_KEYS: the name {key.name} is there twice")
        if twin := next((other for other in keys.values() if other.digest == key.digest), None):
            raise BadKeys(f"SEMBLANCE_API_KEYS: {twin.name} and {key.name} are one key: give each its own")
        keys[key.name] = key
    return tuple(keys.values())


def entry_of(name: str, scopes: Collection[str], key: str) -> str:
    """The entry of SEMBLANCE_API_KEYS that admits whoever shows `key`.

    >>> entry = entry_of("ci", ["write", "read"], "secret")
    >>> entry[:20], Guard(read_keys(entry)).admit("POST", "/search", ["Bearer secret"])
    ('ci:read+write:2bb80d', 'ci')
    """
    return f"{name}:{'+'.join(scope for scope in SCOPES if scope in scopes)}:{_digest(key).hex()}"


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("latin-1")).digest()  # as servers decode headers


def _read_key(entry: str, where: str) -> Key:
    name, *rest = entry.split(":")
    if not is_name(name):  # it may be a digest, or a key: so it is not repeated
        raise BadKeys(f"{where} begins with no name of a-z, 0-9, '.', '_' and '-' and a colon")
    if len(rest) != 2:
        raise BadKeys(f"{where} ({name if rest else 'no colon in it'}) is not of the form name:scopes:sha256")
    scopes = rest[0].split("+")
    if unknown := [scope for scope in scopes if scope not in SCOPES]:
        raise BadKeys(f"{where} ({name}) has {len(unknown)} unknown scopes: join some of {', '.join(SCOPES)} by '+'")
    if not _DIGEST.fullmatch(rest[1]):
        raise BadKeys(f"{where} ({name}) does not end in a SHA-256 of 64 hexadecimal digits")
    return Key(name, frozenset(scopes), bytes.fromhex(rest[1]))
