"""Who may call what, for every route that there is."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.routing import Mount
from typer.testing import CliRunner

from semblance.service.api.edge import keys
from semblance.service.api.edge.keys import Guard, Key, read_keys, scope_of
from semblance.service.app import ROUTERS, create_app
from semblance.service.cli.main import app as command
from semblance.service.errors import BadKeys, Forbidden, Unauthorized
from semblance.service.settings import Settings, read_settings

DIGEST = hashlib.sha256(b"smb_reader").hexdigest()
OTHER = hashlib.sha256(b"smb_writer").hexdigest()
GUARD = Guard(read_keys(f"reader:read:{DIGEST}, writer:write:{OTHER}"))

# every route of the application: a new one fails the test below until somebody decides here what it wants
WANTED = {
    "GET /live": None,
    "GET /ready": None,
    "GET /docs": None,
    "GET /openapi.json": None,
    "HEAD /openapi.json": None,
    "GET /docs/assets": None,
    "GET /": "read",
    "GET /metrics": "read",
    "GET /models": "read",
    "POST /similarity": "read",
    "POST /v1/embeddings": "read",
    "POST /search": "read",
    "GET /explain": "read",
    "POST /explain": "read",
    "GET /collections": "read",
    "GET /collections/{name}": "read",
    "PUT /collections/{name}": "admin",
    "DELETE /collections/{name}": "admin",
    "PUT /collections/{name}/rollover": "admin",
    "DELETE /collections/{name}/rollover": "admin",
    "POST /collections/{name}/rollover/step": "admin",
    "POST /collections/{name}/rollover/switch": "admin",
    "POST /collections/{name}/documents": "write",
    "GET /collections/{name}/documents": "read",
    "GET /collections/{name}/documents/{doc_id:path}": "read",
    "DELETE /collections/{name}/documents/{doc_id:path}": "write",
}


def routes() -> Iterator[str]:
    app = create_app(Settings())
    own: list[Any] = [route for module in ROUTERS for route in module.router.routes]
    for route in [*app.routes, *own]:
        if isinstance(route, Mount):
            yield f"GET {route.path}"
        for method in getattr(route, "methods", None) or ():
            yield f"{method} {route.path}"


def test_every_route_wants_the_scope_that_was_decided_for_it() -> None:
    found = set(routes())
    assert found == set(WANTED), "decide what a new route wants, here and in service/api/edge/keys.py"
    for route, scope in WANTED.items():
        method, path = route.split(" ")
        path = path.replace("{name}", "faq").replace("{doc_id:path}", "a/b").replace("assets", "assets/swagger-ui.css")
        assert GUARD.needs_key(method, path) == (scope is not None), route
        if scope is not None:
            assert scope_of(method, path) == scope, route


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/nosuch"),
        ("PATCH", "/search"),
        ("PUT", "/collections/a/documents/b"),
        ("DELETE", "/live"),
        ("OPTIONS", "/search"),
        ("POST", "/collections"),
        ("POST", "/search/"),
        ("POST", "/similarity\n"),
    ],
)
def test_what_is_not_known_wants_most(method: str, path: str) -> None:
    assert GUARD.needs_key(method, path)
    assert scope_of(method, path) == "admin"


@pytest.mark.parametrize(
    "path", ["/live\n", "/live/", "/docsx", "/docs/assetsx", "/openapi.json/x", "/x/live", "//live"]
)
def test_what_only_looks_like_an_open_path_is_not_open(path: str) -> None:
    assert GUARD.needs_key("GET", path)


def test_metrics_are_open_where_that_is_allowed() -> None:
    assert not Guard(GUARD.keys, metrics_open=True).needs_key("GET", "/metrics")
    assert Guard(GUARD.keys, metrics_open=True).needs_key("GET", "/metrics/x")


def test_a_known_key_passes_with_its_scope_and_its_name_comes_back() -> None:
    assert GUARD.admit("POST", "/search", ["Bearer smb_reader"]) == "reader"
    assert GUARD.admit("POST", "/search", ["bearer  smb_reader "]) == "reader"
    assert GUARD.admit("DELETE", "/collections/a/documents/b", ["Bearer smb_writer"]) == "writer"
    assert GUARD.admit("GET", "/live", ["Bearer wrong"]) is None
    assert Guard().admit("PUT", "/collections/a", []) is None


@pytest.mark.parametrize(
    "shown",
    [
        [],
        [""],
        ["Bearer"],
        ["Bearer "],
        ["smb_reader"],
        ["Basic smb_reader"],
        ["Bearer smb_other"],
        ["Bearer " + DIGEST],
        ["Bearer smb_reader", "Bearer smb_writer"],
        ["Bearer \xff"],
    ],
)
def test_anything_else_is_unauthorized(shown: list[str]) -> None:
    with pytest.raises(Unauthorized):
        GUARD.admit("POST", "/search", shown)


def test_every_known_key_is_compared_in_constant_time_whichever_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def noting(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(keys, "hmac", SimpleNamespace(compare_digest=noting))
    for shown in ("smb_reader", "smb_writer", "smb_unknown"):
        compared.clear()
        with suppress(Unauthorized, Forbidden):
            GUARD.admit("GET", "/models", [f"Bearer {shown}"])
        assert compared == [key.digest for key in GUARD.keys]
    assert len(GUARD.keys) > 1


def test_scopes_do_not_include_each_other_and_the_lacking_one_is_named() -> None:
    with pytest.raises(Forbidden, match="scope read, which the key writer lacks"):
        GUARD.admit("POST", "/search", ["Bearer smb_writer"])
    with pytest.raises(Forbidden, match="scope write"):
        GUARD.admit("POST", "/collections/a/documents", ["Bearer smb_reader"])
    with pytest.raises(Forbidden, match="scope admin"):
        GUARD.admit("PUT", "/collections/a", ["Bearer smb_reader"])


def test_the_setting_is_read_as_it_is_written() -> None:
    assert read_keys("") == read_keys("  ") == ()
    assert read_keys(f"a:read+admin:{DIGEST.upper()}") == (
        Key("a", frozenset({"read", "admin"}), hashlib.sha256(b"smb_reader").digest()),
    )


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (f"good:read:{DIGEST},{OTHER}", "entry 2 of 2"),
        (f"good:read:{DIGEST},", "entry 2 of 2"),
        (f"a:read:{DIGEST},b:{OTHER}", r"entry 2 of 2 \(b\)"),
        (f"a:read:{DIGEST}:x", r"entry 1 of 1 \(a\)"),
        (f"a:reed:{DIGEST}", r"\(a\) has 1 unknown scopes"),
        (f"a::{DIGEST}", r"\(a\) has 1 unknown scopes"),
        (f"A:read:{DIGEST}", "entry 1 of 1"),
        (f"a:read:{DIGEST[:-1]}", r"\(a\) does not end in a SHA-256"),
        (f"a:read:{DIGEST[:-1]}g", r"\(a\) does not end in a SHA-256"),
        ("a:read:smb_reader", r"\(a\) does not end in a SHA-256"),
        (f"a:read:{DIGEST},a:read:{OTHER}", "the name a is there twice"),
        (f"a:read:{DIGEST},b:write:{DIGEST}", "a and b are one key"),
    ],
)
def test_a_malformed_setting_is_refused_by_entry_and_repeats_no_secret(setting: str, said: str) -> None:
    with pytest.raises(BadKeys, match="SEMBLANCE_API_KEYS.*" + said) as caught:
        read_keys(setting)
    for secret in (DIGEST, OTHER, DIGEST[:-1], "smb_reader"):
        assert secret not in str(caught.value)


def test_a_malformed_setting_keeps_the_service_from_being_made() -> None:
    with pytest.raises(BadKeys, match="SEMBLANCE_API_KEYS: entry 1 of 1"):
        create_app(Settings(api_keys="nonsense"))


def test_a_made_key_is_admitted_by_its_entry() -> None:
    shown, entry = (line.rpartition(" ")[2] for line in semblance("key new ci --scope write --scope read").splitlines())
    digest = hashlib.sha256(shown.encode()).hexdigest()
    assert entry == f"ci:read+write:{digest}"
    assert shown.startswith("smb_")
    assert len(shown) > 40
    assert Guard(read_keys(entry)).admit("POST", "/collections/a/documents", [f"Bearer {shown}"]) == "ci"
    assert shown not in semblance("key new ci --scope read"), "each is new"


@pytest.mark.parametrize("wrong", ["Ci --scope read", "ci", "ci --scope root", "--scope read", "a:b --scope read"])
def test_no_key_is_made_of_nonsense(wrong: str) -> None:
    assert CliRunner().invoke(command, f"key new {wrong}").exit_code != 0


def semblance(line: str) -> str:
    ran = CliRunner().invoke(command, line)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_no_repr_shows_a_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_API_KEYS", f"a:read:{DIGEST}")
    assert DIGEST not in repr(Settings())
    assert DIGEST not in str(Settings())
    digest = repr(bytes.fromhex(DIGEST))
    assert digest not in repr(GUARD)


def test_with_keys_any_address_may_be_listened_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_API_KEYS", f"a:read:{DIGEST}")
    assert read_settings(host="0.0.0.0").host == "0.0.0.0"
    monkeypatch.setenv("SEMBLANCE_API_KEYS", "  ")
    with pytest.raises(SystemExit, match="SEMBLANCE_API_KEYS"):
        read_settings(host="0.0.0.0")


def test_the_api_document_names_the_key_and_its_scopes_only_where_keys_are_set() -> None:
    described = create_app(Settings()).openapi()
    assert "securitySchemes" not in described["components"]
    with_keys = create_app(Settings(api_keys=f"a:read:{DIGEST}")).openapi()
    assert with_keys["components"]["securitySchemes"]["key"] == {"type": "http", "scheme": "bearer"}
    for path, operations in with_keys["paths"].items():
        for method, operation in operations.items():
            scope = WANTED[f"{method.upper()} {path.replace('{doc_id}', '{doc_id:path}')}"]
            assert operation.get("security") == ([{"key": []}] if scope else None)
            assert ("401" in operation["responses"]) == ("403" in operation["responses"]) == (scope is not None)
            assert scope is None or f"scope `{scope}`" in operation["description"]
