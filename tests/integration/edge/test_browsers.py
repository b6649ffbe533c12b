"""CORS and security headers of a running service."""

from __future__ import annotations

import httpx2
import pytest

from tests.integration.edge.conftest import ORIGIN, READER, bearer


def test_listed_origins_may_call_with_a_key(anyone: httpx2.Client) -> None:
    preflight_headers = {
        "access-control-request-method": "PUT",
        "access-control-request-headers": "authorization,content-type",
    }
    allowed = anyone.options("/collections/c", headers={"origin": ORIGIN, **preflight_headers})
    assert allowed.status_code == 200, "a preflight has no key"
    assert allowed.headers["access-control-allow-origin"] == ORIGIN
    assert "PUT" in allowed.headers["access-control-allow-methods"]
    assert "authorization" in allowed.headers["access-control-allow-headers"].lower()
    answer = anyone.get("/models", headers={"origin": ORIGIN, **bearer(READER)})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, ORIGIN)
    assert "x-request-id" in answer.headers["access-control-expose-headers"]
    refused = anyone.get("/models", headers={"origin": ORIGIN})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, ORIGIN)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ORIGIN + ".evil.example", "http://app.example.org"])
def test_other_origins_may_not_call(anyone: httpx2.Client, origin: str) -> None:
    preflight_headers = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    for answer in (
        anyone.options("/search", headers={"origin": origin, **preflight_headers}),
        anyone.get("/live", headers={"origin": origin}),
    ):
        assert "access-control-allow-origin" not in answer.headers


def test_without_the_setting_no_origin_may_call(http: httpx2.Client) -> None:
    answer = http.options("/search", headers={"origin": ORIGIN, "access-control-request-method": "POST"})
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ORIGIN},  # listed by the other service only
        {"origin": "http://127.0.0.1:1"},  # another port
        {"origin": "{own}.evil.example"},
        {"origin": "ftp{own}"},
        {"origin": "http://127.0.0.1:8443", "host": "127.0.0.1"},  # another port than the default one
        {"origin": "http://127.0.0.1:8443", "host": "127.0.0.1", "sec-fetch-site": "same-site"},
        {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},  # as no browser sends it
        {"origin": "{own}", "sec-fetch-site": "cross-site"},
        {"origin": "https://evil.example", "sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
    ],
    ids=str,
)
def test_pages_of_others_may_change_nothing(http: httpx2.Client, headers: dict[str, str]) -> None:
    """Of each operation of a service without keys."""
    headers = {name: value.replace("{own}", str(http.base_url).rstrip("/")) for name, value in headers.items()}
    tried = 0
    for path, operations in http.get("/openapi.json").json()["paths"].items():
        for method in operations:
            place = path.replace("{name}", "default").replace("{doc_id}", "shipping-001")
            answer = http.request(method, place, headers=headers)
            assert (answer.status_code == 403) == (method != "get"), (method, place)
            tried += answer.status_code == 403
    assert tried > 20
    assert http.get("/collections/default/documents/shipping-001").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "{own}"},
        {"origin": "{own}", "sec-fetch-site": "same-origin"},
        {"origin": "{own}", "host": "127.0.0.1", "sec-fetch-site": "same-origin"},  # a proxy left out the port
        {"origin": "null", "sec-fetch-site": "same-origin"},  # an own page that sends no referrer
        {"sec-fetch-site": "none"},
    ],
    ids=str,
)
def test_other_pages_and_programs_may_write(http: httpx2.Client, headers: dict[str, str]) -> None:
    headers = {name: value.replace("{own}", str(http.base_url).rstrip("/")) for name, value in headers.items()}
    assert http.put("/collections/of-pages", headers=headers).status_code in (200, 201)
    assert http.delete("/collections/of-pages", headers=headers).status_code == 204
    untyped = http.post("/similarity", content=b'{"pairs": [{"a": "x", "b": "y"}]}', headers=headers)
    assert untyped.status_code == (415 if headers else 200), "a page would need no permission to send it"


def test_a_preflight_of_a_listed_origin_is_allowed_any_header(anyone: httpx2.Client) -> None:
    asked = "authorization, x-stainless-lang, x-stainless-retry-count, x-fern-sdk-name"
    headers = {"access-control-request-method": "POST", "access-control-request-headers": asked}
    answer = anyone.options("/v1/embeddings", headers={"origin": ORIGIN, **headers})
    assert (answer.status_code, answer.headers["access-control-allow-headers"]) == (200, asked)


def test_every_answer_has_the_security_headers_once(anyone: httpx2.Client) -> None:
    preflight = {"origin": ORIGIN, "access-control-request-method": "POST"}
    pair = {"a": "A cat.", "b": "A dog."}
    for answer, policy in (
        (anyone.get("/live"), "default-src 'none'; frame-ancestors 'none'"),
        (anyone.get("/metrics"), "default-src 'none'; frame-ancestors 'none'"),
        (anyone.get("/nosuch", headers=bearer(READER)), "default-src 'none'; frame-ancestors 'none'"),
        (anyone.options("/search", headers=preflight), "default-src 'none'; frame-ancestors 'none'"),
        (anyone.get("/docs"), "default-src 'none'; script-src 'self' 'sha256-"),
        (
            anyone.post("/explain", json={**pair, "format": "html"}, headers=bearer(READER)),
            "default-src 'none'; style-src",
        ),
    ):
        assert answer.headers["content-security-policy"].startswith(policy)
        assert answer.headers["content-security-policy"].count("frame-ancestors 'none'") == 1
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert len(answer.headers["x-request-id"]) == 32
