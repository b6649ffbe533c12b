"""Limits in the entries of keys, and keys that are read again."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from semblance.service.api.edge.key_entries import KeyRing, entry_of, read_keys
from semblance.service.api.edge.keys import Guard
from semblance.service.callers import UNLIMITED, Permission
from semblance.service.cli.main import app as command
from semblance.service.errors import BadKeys, Forbidden
from semblance.service.filters import OneOf

DIGEST = hashlib.sha256(b"smb_one").hexdigest()
OTHER = hashlib.sha256(b"smb_two").hexdigest()
THIRD = hashlib.sha256(b"smb_three").hexdigest()

NAMES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,10}\*?", fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
CONDITIONS = st.tuples(TEXTS, TEXTS.map(lambda text: (text,))).map(lambda each: OneOf(*each))
PERMISSIONS = st.builds(Permission, st.lists(NAMES, max_size=3).map(tuple), st.lists(CONDITIONS, max_size=3).map(tuple))


def limits(*parts: str) -> Permission:
    return read_keys(":".join(["a", "read", *parts, DIGEST]))[0].permission


def test_limits_are_read_in_any_order() -> None:
    collections, where = "collections=faq+hr-*", "filter=tenant=acme+team=a%2Bb%3A%3D%2C%2A%25+%C3%BC=🙂 x"
    expected = Permission(
        ("faq", "hr-*"), (OneOf("tenant", ("acme",)), OneOf("team", ("a+b:=,*%",)), OneOf("ü", ("🙂 x",)))
    )
    assert limits(collections, where) == limits(where, collections) == expected
    assert limits() == UNLIMITED
    assert (expected.is_limited, UNLIMITED.is_limited) == (True, False)


@given(permission=PERMISSIONS)
def test_every_entry_is_read_back(permission: Permission) -> None:
    entry = entry_of("a", ["read"], "secret", permission)
    assert read_keys(f"{entry},b:read:{DIGEST}")[0].permission == permission
    assert len(KeyRing(entry).keys) == 1


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (["collections="], "collection 1 is no name"),
        (["collections=faq+"], "collection 2 is no name"),
        (["collections=*"], "collection 1 is no name"),
        (["collections=a**"], "collection 1 is no name"),
        (["collections=FAQ"], "collection 1 is no name"),
        (["collections=a%2Bb"], "collection 1 is no name"),
        (["collections=a", "collections=b"], "collections occurs twice"),
        (["filter="], "condition 1 of the filter is not of the form field=value"),
        (["filter=a=b=c"], "condition 1 of the filter is not of the form"),
        (["filter=a=b+"], "condition 2 of the filter is not of the form"),
        (["filter=tenant="], "a condition of the filter has no field or no value"),
        (["filter==acme"], "a condition of the filter has no field or no value"),
        (["filter=a=b*"], "condition 1 of the filter has a '\\*'"),
        (["filter=a=%zz"], "or a '%' without"),
        (["filter=a=%ff"], "condition 1 of the filter is not UTF-8"),
        (["filter=a=b", "filter=c=d"], "filter occurs twice"),
        (["id_prefix="], "id_prefix is empty"),
        (["id_prefix=a+b"], "write it as %2B"),
        (["id_prefix=a*"], "the id_prefix has a '\\*'"),
        (["Filter=a=b"], "neither collections nor filter"),
        ([""], "neither collections nor filter"),
        ([OTHER], "neither collections nor filter"),
    ],
)
def test_wrong_limits_name_the_entry_and_no_secret(parts: list[str], problem: str) -> None:
    with pytest.raises(
        BadKeys, match=rf"SEMBLANCE_API_KEYS: entry 1 of 1 \(a\) has wrong limits: .*{problem}"
    ) as caught:
        limits(*parts)
    assert DIGEST not in str(caught.value)
    assert OTHER not in str(caught.value)


def test_admin_cannot_be_limited_by_a_filter() -> None:
    for scopes in ("admin", "read+admin"):
        with pytest.raises(BadKeys, match=r"\(a\) has wrong limits: .*admin, which .* deletes whole collections"):
            read_keys(f"a:{scopes}:filter=tenant=acme:{DIGEST}")
    assert read_keys(f"a:admin:collections=faq:{DIGEST}")[0].permission.collections == ("faq",)


def test_a_prefix_reaches_all_names_that_begin_with_it() -> None:
    reached = limits("collections=faq+hr-*").reaches
    names = ("faq", "hr-", "hr-2", "hr-*", "faq-2", "hr", "xhr-2", "", "fa")
    assert [name for name in names if reached(name)] == ["faq", "hr-", "hr-2", "hr-*"]
    assert UNLIMITED.reaches("any")


def test_all_conditions_must_hold_and_list_entries_count() -> None:
    sees = limits("filter=tenant=1+team=hr").sees
    assert sees({"tenant": ["0", "1"], "team": "hr"})
    for metadata in ({}, {"tenant": "1"}, {"tenant": 1, "team": "hr"}, {"tenant": "1", "team": {"hr": "hr"}}):
        assert not sees(metadata)


def test_own_documents_have_the_exact_value_and_the_prefix() -> None:
    owns = limits("filter=tenant=1+team=hr", "id_prefix=a%2B").owns
    metadata = {"tenant": "1", "team": "hr"}
    assert owns("a+1", {**metadata, "more": [1]})
    assert not owns("a-1", metadata)
    for other in ({"tenant": ["1"]}, {"tenant": ["1", "2"]}, {"tenant": 1}, {"team": None}):
        assert not owns("a+1", {**metadata, **other})
    assert not owns("a+1", {"tenant": "1"})
    with pytest.raises(BadKeys, match="a filter or a prefix of ids cannot have the scope admin"):
        read_keys(f"a:admin:id_prefix=x:{DIGEST}")


def test_metrics_need_a_key_without_limits_unless_open() -> None:
    ring = KeyRing(f"one:read:{DIGEST},two:read:collections=faq:{OTHER},three:read:filter=a=b:{THIRD}")
    assert Guard(ring).admit("GET", "/metrics", ["Bearer smb_one"]) == ring.keys[0]
    for name in ("two", "three"):
        with pytest.raises(Forbidden, match=f"all collections, and the key {name} has limits"):
            Guard(ring).admit("GET", "/metrics", [f"Bearer smb_{name}"])
    assert Guard(ring, metrics_open=True).admit("GET", "/metrics", []) is None
    assert Guard(ring, metrics_open=True).needs_key("GET", "/metrics/x")


def test_a_new_key_has_the_given_limits() -> None:
    options = ["--scope", "read", "--collection", "faq", "--collection", "hr-*"]
    ran = CliRunner().invoke(
        command, ["key", "new", "acme", *options, "--filter", "tenant=a=b+c", "--filter", "team=x"]
    )
    entry = ran.stdout.split()[-1]
    assert entry.rpartition(":")[0] == "acme:read:collections=faq+hr-*:filter=tenant=a%3Db%2Bc+team=x"
    expected = Permission(("faq", "hr-*"), (OneOf("tenant", ("a=b+c",)), OneOf("team", ("x",))))
    assert read_keys(entry)[0].permission == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("acme --scope read --filter tenant", "'tenant' is not of the form FIELD=VALUE"),
        ("acme --scope read --filter tenant=", "no field or no value"),
        ("acme --scope read --collection *", "collection 1 is no name"),
        ("acme --scope admin --filter tenant=acme", "cannot have the scope admin"),
        ("Acme --scope read", "name"),
        ("a:b --scope read", "name"),
        ("acme --scope root", "root"),
        ("acme", "--scope"),
        ("--scope read", "name"),
    ],
)
def test_wrong_names_scopes_and_limits_of_new_keys_are_refused(line: str, problem: str) -> None:
    ran = CliRunner().invoke(command, ["key", "new", *line.split()], env={"COLUMNS": "200"})
    assert ran.exit_code != 0
    assert problem in ran.output
    assert "smb_" not in ran.output


def test_a_file_adds_keys_to_the_setting(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# teams\n\n  b:read:{OTHER}  \nc:write:filter=tag=%23:{THIRD}\r\n")
    assert [key.name for key in KeyRing(f"a:read:{DIGEST}", file).keys] == ["a", "b", "c"]
    assert [key.name for key in KeyRing("", file).keys] == ["b", "c"]
    file.write_text("# none\n")
    assert [key.name for key in KeyRing(f"a:read:{DIGEST}", file).keys] == ["a"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (f"# x\nb:read:{OTHER[:-1]}", r"SEMBLANCE_API_KEYS_FILE: line 2 \(b\) does not end in a SHA-256"),
        (f"b:read:{OTHER},c:read:{THIRD}", r"line 1 \(b\) has wrong limits"),
        (f"b:read:{OTHER}\na:read:{THIRD}", "SEMBLANCE_API_KEYS_FILE: line 2: duplicate name a"),
        (f"b:read:{DIGEST}", "line 1: a and b are the same key"),
        (f"b:read:{OTHER} # of b", r"line 1 \(b\) does not end"),
        (f"b:read:filter=tenant=x:{OTHER}\nc:admin:filter=tenant=x:{THIRD}", r"line 2 \(c\) has wrong limits"),
    ],
)
def test_a_malformed_file_names_the_line(tmp_path: Path, lines: str, problem: str) -> None:
    file = tmp_path / "keys"
    file.write_text(lines)
    with pytest.raises(BadKeys, match=problem) as caught:
        KeyRing(f"a:read:{DIGEST}", file)
    assert not any(digest[:-1] in str(caught.value) for digest in (DIGEST, OTHER, THIRD))


def test_a_file_without_keys_never_opens_the_service(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    for content, problem in ((b"# none\n", "has no key"), (b"\xff", "is not UTF-8"), (None, "No such file")):
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(BadKeys, match=f"SEMBLANCE_API_KEYS_FILE: .*keys.*{problem}"):
            KeyRing("", file)


def test_reading_again_logs_the_names_that_changed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "keys"
    file.write_text(f"b:read:{OTHER}\nc:read:{THIRD}\n")
    ring = KeyRing(f"a:read:{DIGEST}", file)
    file.write_text(f"c:read:collections=faq:{THIRD}\nd:read:{OTHER}\n")
    with caplog.at_level(logging.INFO):
        ring.reload()
    assert caplog.messages == ["read the keys again; added: d; removed: b; changed: c"]
    assert [key.name for key in ring.keys] == ["a", "c", "d"]


@pytest.mark.parametrize("content", ["b:read:nonsense", None])
def test_a_malformed_file_keeps_the_former_keys(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str | None
) -> None:
    file = tmp_path / "keys"
    file.write_text(f"b:read:{OTHER}\n")
    ring = KeyRing("", file)
    before = ring.keys
    file.write_text(content) if content else file.unlink()
    ring.reload()
    assert ring.keys == before
    [record] = caplog.records
    assert (record.levelname, record.exc_info) == ("ERROR", None)
    assert record.getMessage().startswith("the keys are not changed: SEMBLANCE_API_KEYS_FILE: ")
