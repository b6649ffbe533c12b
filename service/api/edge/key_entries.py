"""Entries of SEMBLANCE_API_KEYS and of its file: `name:scopes:limits:sha256`.

ci:read+write:9f86d0...                                            no limits
acme:read+write:collections=faq+hr-*:filter=tenant=acme:60303a...  some collections, and some of their documents
acme:read+write:filter=tenant=acme:id_prefix=acme-:60303a...       ids of its own, which tell nothing of others

All limits are optional, in any order. '+' joins scopes, collections, and conditions that must all hold. What would
separate parts (: + = , *) is percent-encoded in fields, values and prefixes.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias, get_args
from urllib.parse import quote, unquote

from semblance.service.callers import ANY_REST, UNLIMITED, Permission
from semblance.service.errors import BadKeys
from semblance.service.filters import OneOf
from semblance.service.names import is_name

KeyScope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)

SETTING = "SEMBLANCE_API_KEYS"
FILE_SETTING = "SEMBLANCE_API_KEYS_FILE"

_KINDS = ("collections", "filter", "id_prefix")
_DIGEST = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
_ENCODED = re.compile(r"(?:[^%*]|%[0-9a-fA-F]{2})+")  # other separators are gone by then

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Key:
    """One entry; the key itself is not stored."""

    name: str
    scopes: frozenset[str]
    digest: bytes = field(repr=False)
    permission: Permission = UNLIMITED


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry, and its place for messages."""

    text: str
    place: str

    def fail(self, name: str, problem: str) -> NoReturn:
        """Raise BadKeys with the name alone: the rest may contain a digest, or a key."""
        raise BadKeys(f"{self.place} ({name}) {problem}")


class KeyRing:
    """The known keys: those of the setting, and those of a file that can be read again.

    Args:
        setting: entries, separated by commas.
        file: an entry a line; empty lines, and those that begin with '#', are skipped.

    Raises:
        BadKeys: an entry is malformed or a duplicate, the file cannot be read, or there is a file and no key.
    """

    def __init__(self, setting: str = "", file: Path | None = None) -> None:
        self._setting = setting
        self._file = file
        self.keys = self._read()

    def reload(self) -> None:
        """Read the file again, and log what changed; if it is malformed, keep the former keys."""
        before = {key.name: key for key in self.keys}
        try:
            self.keys = self._read()
        except BadKeys as error:
            log.error("the keys are not changed: %s", error)  # noqa: TRY400 - the operator's mistake needs no traceback
            return
        now = {key.name: key for key in self.keys}
        log.info(
            "read the keys again; added: %s; removed: %s; changed: %s",
            _listed(now.keys() - before.keys()),
            _listed(before.keys() - now.keys()),
            _listed(name for name in now.keys() & before.keys() if now[name] != before[name]),
        )

    def _read(self) -> tuple[Key, ...]:
        entries = list(_entries(self._setting))
        if self._file is not None:
            entries += _lines(self._file)
            if not entries:  # without keys, every client would have access
                raise BadKeys(f"{FILE_SETTING}: {self._file} has no key, nor has {SETTING}")
        return _read_all(entries)


def read_keys(setting: str) -> tuple[Key, ...]:
    """Parse SEMBLANCE_API_KEYS: entries, separated by commas.

    >>> read_keys("ci:read+write:filter=team=hr:" + 64 * "0")[0].permission.sees({"team": "it"})
    False

    Raises:
        BadKeys: an entry is malformed or a duplicate. The message contains no digest.
    """
    return _read_all(list(_entries(setting)))


def entry_of(name: str, scopes: Collection[str], key: str, permission: Permission = UNLIMITED) -> str:
    """The entry of SEMBLANCE_API_KEYS for `key`.

    >>> limits = Permission(("faq", "hr-*"), (OneOf("tenant", ("a+b",)),))
    >>> entry_of("ci", ["write", "read"], "secret", limits)[:-58]
    'ci:read+write:collections=faq+hr-*:filter=tenant=a%2Bb:2bb80d'
    """
    parts = [name, "+".join(scope for scope in SCOPES if scope in scopes)]
    if permission.collections:
        parts.append(f"collections={'+'.join(permission.collections)}")
    if permission.conditions:
        conditions = [
            f"{_encode(condition.field)}={_encode(str(condition.values[0]))}" for condition in permission.conditions
        ]
        parts.append(f"filter={'+'.join(conditions)}")
    if permission.id_prefix:
        parts.append(f"id_prefix={_encode(permission.id_prefix)}")
    return ":".join([*parts, digest_of(key).hex()])


def digest_of(key: str) -> bytes:
    """SHA-256 of a key."""
    return hashlib.sha256(key.encode("latin-1")).digest()  # as servers decode headers


def check_limits(scopes: Collection[str], permission: Permission) -> None:
    """Check the limits of a key with these scopes. Raises ValueError, with what is wrong."""
    for number, collection in enumerate(permission.collections, 1):
        if not is_name(collection.removesuffix(ANY_REST)):
            raise ValueError(f"collection {number} is no name, and no prefix of names that ends in '*'")
    if any(not condition.field or not condition.values[0] for condition in permission.conditions):
        raise ValueError("a condition of the filter has no field or no value")
    if permission.limits_documents and "admin" in scopes:
        raise ValueError(
            "a key with a filter or a prefix of ids cannot have the scope admin, which creates, re-embeds and deletes "
            "whole collections"
        )


def _entries(setting: str) -> Iterator[_Entry]:
    texts = setting.split(",") if setting.strip() else []
    for number, text in enumerate(texts, 1):
        yield _Entry(text.strip(), f"{SETTING}: entry {number} of {len(texts)}")


def _lines(file: Path) -> Iterator[_Entry]:
    """Entries of a file. Raises BadKeys if it cannot be read."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except OSError as error:
        raise BadKeys(f"{FILE_SETTING}: {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadKeys(f"{FILE_SETTING}: {file} is not UTF-8") from error
    for number, line in enumerate(lines, 1):
        if (text := line.strip()) and not text.startswith("#"):
            yield _Entry(text, f"{FILE_SETTING}: line {number}")


def _read_all(entries: Sequence[_Entry]) -> tuple[Key, ...]:
    """Parse entries, whose names and keys must be distinct. Raises BadKeys."""
    keys: dict[str, Key] = {}
    for entry in entries:
        key = _read_key(entry)
        if key.name in keys:
            raise BadKeys(f"{entry.place}: duplicate name {key.name}")
        if twin := next((other for other in keys.values() if other.digest == key.digest), None):
            raise BadKeys(f"{entry.place}: {twin.name} and {key.name} are the same key; create one for each")
        keys[key.name] = key
    return tuple(keys.values())


def _read_key(entry: _Entry) -> Key:
    name, *rest = entry.text.split(":")
    if not is_name(name):  # it may be a digest, or a key: never repeat it in a message
        raise BadKeys(f"{entry.place} does not begin with a name of a-z, 0-9, '.', '_' and '-' and a colon")
    if len(rest) < 2:
        entry.fail(name if rest else "no colon in it", "is not of the form name:scopes:sha256")
    scopes, *limits, digest = rest
    unknown = [scope for scope in scopes.split("+") if scope not in SCOPES]
    if unknown:
        entry.fail(name, f"has {len(unknown)} unknown scopes; join some of {', '.join(SCOPES)} by '+'")
    if not _DIGEST.fullmatch(digest):
        entry.fail(name, "does not end in a SHA-256 of 64 hexadecimal digits")
    try:
        permission = _read_limits(limits)
        check_limits(scopes.split("+"), permission)
    except ValueError as error:
        entry.fail(name, f"has wrong limits: {error}")
    return Key(name, frozenset(scopes.split("+")), bytes.fromhex(digest), permission)


def _read_limits(limits: Sequence[str]) -> Permission:
    """Parse the parts of an entry between scopes and digest. Raises ValueError without them."""
    values: dict[str, list[str]] = {}
    for limit in limits:
        kind, _, value = limit.partition("=")
        if kind not in _KINDS:
            raise ValueError(f"a part between scopes and SHA-256 begins with neither {' nor '.join(_KINDS)}")
        if kind in values:
            raise ValueError(f"{kind} occurs twice; join values by '+'")
        values[kind] = value.split("+")
    conditions = [_read_condition(*each) for each in enumerate(values.get("filter", ()), 1)]
    prefix = values.get("id_prefix", [""])
    if "id_prefix" in values and (len(prefix) != 1 or not prefix[0]):
        raise ValueError("id_prefix is empty, or has a '+'; write it as %2B")
    return Permission(tuple(values.get("collections", ())), tuple(conditions), _decode(prefix[0], "the id_prefix"))


def _read_condition(number: int, text: str) -> OneOf:
    name, *values = text.split("=")
    if len(values) != 1:
        raise ValueError(f"condition {number} of the filter is not of the form field=value; write = in them as %3D")
    place = f"condition {number} of the filter"
    return OneOf(_decode(name, place), (_decode(values[0], place),))


def _encode(text: str) -> str:
    return quote(text, safe="")


def _decode(text: str, place: str) -> str:
    """Decode a percent-encoded part of an entry. Raises ValueError."""
    if text and not _ENCODED.fullmatch(text):
        raise ValueError(f"{place} has a '*', or a '%' without two hexadecimal digits")
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ValueError(f"{place} is not UTF-8 after percent-decoding") from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
