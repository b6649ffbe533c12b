"""Keys and scopes: what each route requires, and how the setting is read."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.routing import Mount
from typer.testing import CliRunner

from semblance.service.api.edge import keys
from semblance.service.api.edge.key_entries import Key, KeyRing, read_keys
from semblance.service.api.edge.keys import Guard, authorization_of, scope_of
from semblance.service.api.routes import ROUTERS
from semblance.service.app import create_app
from semblance.service.cli.main import app as command
from semblance.service.errors import BadKeys, Forbidden, Unauthorized
from semblance.service.settings import Settings

DIGEST = hashlib.sha256(b"smb_reader").hexdigest()
OTHER = hashlib.sha256(b"smb_writer").hexdigest()
GUARD = Guard(KeyRing(f"reader:read:{DIGEST}, writer:write:{OTHER}"))

# every route of the application: a new one fails the test below until its scope is decided here
REQUIRED = {
    "GET /live": None,
    "GET /ready": None,
    "GET /docs": None,
    "GET /help": None,
    "GET /help/{name:path}": None,
    "GET /openapi.json": None,
    "HEAD /openapi.json": None,
    "GET /docs/assets": None,
    "GET /": None,
    "GET /playground/{digest}": None,
    "GET /playground/{digest}/sample": None,
    "GET /playground/{digest}/words.txt": None,
    "GET /metrics": "read",
    "GET /models": "read",
    "POST /similarity": "read",
    "POST /v1/embeddings": "read",
    "GET /v1/models": "read",
    "GET /v1/models/{name:path}": "read",
    "POST /rerank": "read",
    "POST /score": "read",
    "POST /v1/score": "read",
    "POST /v1/tokenize": "read",
    "POST /pooling": "read",
    "POST /": "read",
    "POST /embed": "read",
    "POST /embed_all": "read",
    "POST /tokenize": "read",
    "POST /decode": "read",
    "GET /info": "read",
    "GET /health": None,
    "POST /api/embed": "read",
    "POST /api/embeddings": "read",
    "POST /api/show": "read",
    "GET /api/tags": "read",
    "GET /api/version": "read",
    "POST /openai/deployments/{deployment}/embeddings": "read",
    "POST /v1/embed": "read",
    "POST /v2/embed": "read",
    "POST /v1/rerank": "read",
    "POST /v2/rerank": "read",
    "POST /search": "read",
    "POST /suggest": "read",
    "POST /prune": "read",
    "POST /same": "read",
    "POST /caches/{name}/lookup": "read",
    "POST /caches/{name}/store": "write",
    "POST /collections/{name}/count": "read",
    "POST /collections/{name}/list": "read",
    "POST /collections/{name}/duplicates": "read",
    "POST /collections/{name}/map": "read",
    "POST /collections/{name}/delete": "write",
    "POST /files": "write",
    "PATCH /collections/{name}/documents": "write",
    "GET /explain": "read",
    "POST /explain": "read",
    "GET /explain/difference": "read",
    "POST /explain/difference": "read",
    "GET /collections": "read",
    "GET /collections/{name}": "read",
    "PUT /collections/{name}": "admin",
    "DELETE /collections/{name}": "admin",
    "GET /collections/{name}/glossary": "read",
    "PUT /collections/{name}/glossary": "admin",
    "GET /aliases": "read",
    "PUT /aliases/{name}": "admin",
    "DELETE /aliases/{name}": "admin",
    "PUT /collections/{name}/reembedding": "admin",
    "DELETE /collections/{name}/reembedding": "admin",
    "POST /collections/{name}/reembedding/step": "admin",
    "POST /collections/{name}/reembedding/switch": "admin",
    "POST /collections/{name}/documents": "write",
    "GET /collections/{name}/documents": "read",
    "GET /collections/{name}/documents/{doc_id:path}": "read",
    "DELETE /collections/{name}/documents/{doc_id:path}": "write",
}


def routes() -> Iterator[str]:
    app = create_app(Settings())
    own: list[Any] = [route for router in ROUTERS for route in router.routes]
    for route in [*app.routes, *own]:
        methods = ["GET"] if isinstance(route, Mount) else getattr(route, "methods", None) or ()
        for method in methods:
            yield f"{method} {re.sub('/[0-9a-f]{12}', '/{digest}', route.path)}"


def test_every_route_requires_the_scope_decided_for_it() -> None:
    assert set(routes()) == set(REQUIRED), "decide the scope of a new route, here and in service/api/edge/keys.py"
    for route, scope in REQUIRED.items():
        method, path = route.split(" ")
        path = (
            re.sub("{[a-z_]+:path}", "a/b", path)
            .replace("{name}", "faq")
            .replace("{deployment}", "d")
            .replace("assets", "assets/swagger-ui.css")
        )
        assert GUARD.needs_key(method, path) == (scope is not None), route
        if scope is not None:
            assert scope_of(method, path) == scope, route


@pytest.mark.parametrize(
    ("requests", "scope"),
    [
        (
            [
                "POST /nosuch",
                "POST /api/pull",
                "DELETE /api/delete",
                "POST /openai/deployments/a/b/embeddings",
                "PATCH /search",
                "PUT /collections/a/documents/b",
                "DELETE /live",
                "OPTIONS /search",
            ],
            "admin",
        ),
        (["POST /collections", "POST /search/", "POST /similarity\n"], "admin"),
        (["GET /live\n", "GET /live/", "GET /docsx", "GET /docs/assetsx", "GET /x/live", "GET //live"], "read"),
        (["GET /openapi.json/x"], "read"),
    ],
)
def test_paths_that_only_resemble_open_ones_are_closed(requests: list[str], scope: str) -> None:
    for each in requests:
        method, path = each.split(" ")
        assert GUARD.needs_key(method, path), each
        assert scope_of(method, path) == scope, each


def test_a_key_with_the_scope_is_admitted_by_name() -> None:
    reader, writer = GUARD.ring.keys
    assert GUARD.admit("POST", "/search", ["Bearer smb_reader"]) == reader
    assert GUARD.admit("POST", "/search", ["bearer  smb_reader "]) == reader
    assert GUARD.admit("DELETE", "/collections/a/documents/b", ["Bearer smb_writer"]) == writer
    assert GUARD.admit("GET", "/live", ["Bearer wrong"]) is None
    assert Guard().admit("PUT", "/collections/a", []) is None


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer ", "smb_reader", "Basic smb_reader", "Bearer smb_other"])
def test_every_other_header_is_unauthorized(sent: str) -> None:
    for headers in ([], [sent], [f"Bearer {DIGEST}"], ["Bearer \xff"], ["Bearer smb_reader", "Bearer smb_writer"]):
        with pytest.raises(Unauthorized):
            GUARD.admit("POST", "/search", headers)


def test_azure_key_counts_where_no_authorization_is_sent() -> None:
    azure, other = (b"api-key", b"smb_reader"), (b"authorization", b"Bearer smb_writer")
    assert authorization_of([azure]) == ["Bearer smb_reader"]
    assert authorization_of([azure, other]) == authorization_of([other]) == ["Bearer smb_writer"]
    assert GUARD.admit("POST", "/v1/embeddings", authorization_of([azure])) == GUARD.ring.keys[0]
    for headers in (
        [azure, azure],
        [(b"api-key", b"")],
        [(b"api-key", b"smb_unknown")],
        [(b"x-api-key", b"smb_reader")],
    ):
        with pytest.raises(Unauthorized):
            GUARD.admit("POST", "/v1/embeddings", authorization_of(headers))


def test_every_known_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def recording(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(keys, "hmac", SimpleNamespace(compare_digest=recording))
    for secret in ("smb_reader", "smb_writer", "smb_unknown"):
        compared.clear()
        with suppress(Unauthorized, Forbidden):
            GUARD.admit("GET", "/models", [f"Bearer {secret}"])
        assert compared == [key.digest for key in GUARD.ring.keys]
    assert len(GUARD.ring.keys) > 1


@pytest.mark.parametrize(
    ("method", "path", "sent", "scope"),
    [
        ("POST", "/search", "smb_writer", "scope read, which the key writer lacks"),
        ("POST", "/collections/a/documents", "smb_reader", "scope write"),
        ("PUT", "/collections/a", "smb_reader", "scope admin"),
    ],
)
def test_scopes_include_no_other_and_the_missing_one_is_named(method: str, path: str, sent: str, scope: str) -> None:
    with pytest.raises(Forbidden, match=scope):
        GUARD.admit(method, path, [f"Bearer {sent}"])


def test_the_setting_is_parsed() -> None:
    assert read_keys("") == read_keys("  ") == ()
    assert read_keys(f"a:read+admin:{DIGEST.upper()}") == (
        Key("a", frozenset({"read", "admin"}), hashlib.sha256(b"smb_reader").digest()),
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (f"good:read:{DIGEST},{OTHER}", "entry 2 of 2"),
        (f"good:read:{DIGEST},", "entry 2 of 2"),
        (f"a:read:{DIGEST},b:{OTHER}", r"entry 2 of 2 \(b\)"),
        (f"a:read:{DIGEST}:x", r"entry 1 of 1 \(a\)"),
        (f"a:reed:{DIGEST}", r"\(a\) has 1 unknown scopes"),
        (f"a::{DIGEST}", r"\(a\) has 1 unknown scopes"),
        (f"A:read:{DIGEST}", "entry 1 of 1"),
        (f"a:read:{DIGEST[:-1]}", r"\(a\) does not end in a SHA-256"),
        ("a:read:smb_reader", r"\(a\) does not end in a SHA-256"),
        (f"a:read:{DIGEST},a:read:{OTHER}", "duplicate name a"),
        (f"a:read:{DIGEST},b:write:{DIGEST}", "a and b are the same key"),
    ],
)
def test_a_malformed_setting_names_the_entry_and_no_secret(setting: str, message: str) -> None:
    with pytest.raises(BadKeys, match="SEMBLANCE_API_KEYS.*" + message) as caught:
        read_keys(setting)
    for secret in (DIGEST, OTHER, DIGEST[:-1], "smb_reader"):
        assert secret not in str(caught.value)


def test_a_malformed_setting_prevents_the_start() -> None:
    with pytest.raises(BadKeys, match="SEMBLANCE_API_KEYS: entry 1 of 1"):
        create_app(Settings(api_keys="nonsense"))


def test_a_new_key_is_admitted_by_its_entry() -> None:
    key, entry = (line.rpartition(" ")[2] for line in semblance("key new ci --scope write --scope read").splitlines())
    digest = hashlib.sha256(key.encode()).hexdigest()
    assert entry == f"ci:read+write:{digest}"
    assert key.startswith("smb_")
    assert len(key) > 40
    assert Guard(KeyRing(entry)).admit("POST", "/collections/a/documents", [f"Bearer {key}"]) == read_keys(entry)[0]
    assert key not in semblance("key new ci --scope read"), "each is new"


def semblance(line: str) -> str:
    ran = CliRunner().invoke(command, line)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_no_repr_contains_a_digest() -> None:
    settings = Settings(api_keys=f"a:read:{DIGEST}")
    assert DIGEST not in f"{settings!r} {settings}"
    assert repr(bytes.fromhex(DIGEST)) not in repr(GUARD)


def test_openapi_documents_keys_and_scopes_only_if_keys_are_set() -> None:
    described = create_app(Settings()).openapi()
    assert "securitySchemes" not in described["components"]
    with_keys = create_app(Settings(api_keys=f"a:read:{DIGEST}")).openapi()
    assert with_keys["components"]["securitySchemes"]["key"] == {"type": "http", "scheme": "bearer"}
    for path, operations in with_keys["paths"].items():
        for method, operation in operations.items():
            route = path.replace("{doc_id}", "{doc_id:path}").replace("/models/{name}", "/models/{name:path}")
            scope = REQUIRED[f"{method.upper()} {route}"]
            assert operation.get("security") == ([{"key": []}] if scope else None)
            assert ("401" in operation["responses"]) == ("403" in operation["responses"]) == (scope is not None)
            assert scope is None or f"scope `{scope}`" in operation["description"]
