"""Refusals become exceptions that say what the service said."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from hashlib import sha256

import httpx2
import pytest
from semblance_client import (
    BadRequest,
    Client,
    Forbidden,
    NotFound,
    Problem,
    Retries,
    SemblanceError,
    Unauthorized,
    UnexpectedAnswer,
    Unreachable,
)

from tests.clients.python.conftest import Connect
from tests.clients.python.scripted_server import Reply, ScriptedServer
from tests.support.running_service import reserved_port, running_service
from tests.support.servers.word_models import WORDS, write_model

KEY = "k" * 43


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    entry = f"reader:read:{sha256(KEY.encode()).hexdigest()}"
    words = write_model(tmp_path_factory.mktemp("models") / "words.npz", 0)
    with running_service(models=f"words={words}", api_keys=entry) as url:
        yield url


def test_an_error_says_what_the_service_said(client: Client, http: httpx2.Client) -> None:
    with pytest.raises(BadRequest) as refused:
        client.similarity([("a", "b"), ("c", " ")])
    said = http.post("/similarity", json={"pairs": [{"a": "a", "b": "b"}, {"a": "c", "b": " "}]}).json()
    error = refused.value
    assert (error.status, error.code, error.message) == (422, said["code"], said["detail"])
    assert error.problems == (Problem("/pairs/1/b", "empty_text", "it has no visible character"),)
    assert error.request_id is not None
    assert len(error.request_id) == 32
    assert str(error) == "POST /similarity: 422 /pairs/1/b: it has no visible character"


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda client: client.embed(["a", "\x00"], "minilm-graded"), BadRequest, "ill_formed_text"),
        (lambda client: client.embed("a", "no-such-model"), NotFound, "unknown_model"),
        (lambda client: client.similarity([("a", "\ud800")]), BadRequest, "ill_formed_text"),
    ],
)
def test_refusals_of_every_shape_have_codes(
    client: Client, call: Callable[[Client], object], kind: type[SemblanceError], code: str
) -> None:
    with pytest.raises(kind) as refused:
        call(client)
    assert refused.value.code == code


def test_an_address_with_a_path_is_named_in_the_error(connect: Connect, url: str) -> None:
    with pytest.raises(NotFound, match=rf"asked for {url}/v1/similarity: the address of Semblance has no path"):
        connect(f"{url}/v1").similarity([("a", "b")])


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_names_that_lead_to_another_path_are_never_sent(connect: Connect, server: ScriptedServer, name: str) -> None:
    client = connect(server.url)
    for call in (
        lambda: client.delete_document(name, "mine"),
        lambda: client.document("1", name),
        lambda: client.delete_collection(name),
        lambda: client.upload([{"id": "1", "text": "a"}], name),
    ):
        with pytest.raises(ValueError, match="cannot be part of an address"):
            call()
    assert not server.arrivals


@pytest.mark.parametrize("key", [None, "wrong" * 9])
def test_a_missing_or_wrong_key_is_unauthorized(
    connect: Connect, guarded: str, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEMBLANCE_CLIENT_KEY", raising=False)
    with pytest.raises(Unauthorized, match="set SEMBLANCE_CLIENT_KEY to a key of this service") as refused:
        connect(guarded, key).similarity([("a", "b")])
    assert (refused.value.status, refused.value.code) == (401, "unauthorized")


def test_a_key_is_an_argument_or_a_variable(connect: Connect, guarded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_CLIENT_KEY", "wrong" * 9)
    assert connect(guarded, KEY).similarity([(WORDS[0], WORDS[0])]).scores == pytest.approx([1.0])
    monkeypatch.setenv("SEMBLANCE_CLIENT_KEY", KEY)
    assert connect(guarded).similarity([(WORDS[0], WORDS[0])]).scores == pytest.approx([1.0])
    with pytest.raises(Forbidden) as refused:
        connect(guarded).create_collection("mine")
    assert refused.value.code == "forbidden"


def test_another_service_at_the_address_is_recognized(connect: Connect, server: ScriptedServer) -> None:
    for body, kind in ((b"<html>Welcome</html>", "a page of HTML"), (b"OK", "OK"), (b'{"x": 1}', '{"x": 1}')):
        server.replies = [Reply(body=body)]
        with pytest.raises(UnexpectedAnswer) as failed:
            connect(server.url).similarity([("a", "b")])
        text = str(failed.value)
        assert text.startswith("POST /similarity: the response is not one of Semblance; does another service run at")
        assert kind in text
        assert "<" not in text
    server.replies = [Reply(404, b"<html>nothing</html>")]
    with pytest.raises(NotFound, match=r"404 a page of HTML.*; asked for http.*is another service there"):
        connect(server.url).similarity([("a", "b")])


def test_a_redirect_names_the_address_to_use(connect: Connect, server: ScriptedServer) -> None:
    server.replies = [Reply(308, b"", {"location": "https://search.example/app/similarity"})]
    with pytest.raises(
        UnexpectedAnswer, match=r"redirects to https://search\.example/app; give the client that address"
    ):
        connect(server.url).similarity([("a", "b")])


def test_a_trailing_slash_of_the_address_changes_nothing(connect: Connect, url: str) -> None:
    assert connect(f"{url}/").model_names() == connect(url).model_names()


def test_https_to_a_service_of_http_is_named(connect: Connect, url: str) -> None:
    client = connect(url.replace("http:", "https:"), retries=Retries(1))
    with pytest.raises(Unreachable, match="speaks http, not https"):
        client.models()


def test_problems_of_every_route_are_listed(connect: Connect, url: str) -> None:
    client = connect(url)
    for call, pointer in (
        (lambda: client.embed(["a", ""], "minilm"), "/input/1"),
        (lambda: client.rerank("a", ["b"], top_n=-1), "/top_n"),
        (lambda: client.rerank(" ", ["b"]), "/query"),
        (lambda: client.search(" "), "/query"),
    ):
        with pytest.raises(BadRequest) as refused:
            call()
        assert [part.pointer for part in refused.value.problems] == [pointer]
        assert refused.value.problems[0].code == refused.value.code
        assert refused.value.problems[0].detail in str(refused.value)


@pytest.mark.parametrize("body", [b"", b"null", b"[1]", b'{"detail": null, "errors": [1, {}], "code": 3}', b"\xff"])
@pytest.mark.parametrize(("status", "kind"), [(418, BadRequest), (500, SemblanceError)])
def test_refusals_in_no_known_shape_are_errors(
    connect: Connect, server: ScriptedServer, status: int, kind: type[SemblanceError], body: bytes
) -> None:
    server.replies = [Reply(status, body)]
    with pytest.raises(kind) as refused:
        connect(server.url).models()
    assert type(refused.value) is kind
    assert refused.value.status == status
    assert len(server.arrivals) == 1


def test_errors_do_not_contain_the_password_of_the_address(connect: Connect, server: ScriptedServer) -> None:
    server.replies = [Reply(body=b"{}", cut_after=1)]
    for port in (reserved_port(), int(server.url.rpartition(":")[2])):
        client = connect(f"http://user:hunter2@127.0.0.1:{port}", retries=Retries(attempts=1))
        with pytest.raises(Unreachable, match=rf"http://127\.0\.0\.1:{port}") as failed:
            client.models()
        assert "hunter2" not in f"{failed.value!r} {failed.value}"


@pytest.mark.parametrize(
    "address", ["http://", "http://host:port", "http://[::1", "http:///search", "http://h:99999", "http://a b"]
)
def test_an_address_without_a_host_or_port_is_refused(address: str) -> None:
    with pytest.raises(
        ValueError, match=re.escape(f"the address {address!r} ") + r".*such as http://127\.0\.0\.1:8000"
    ):
        Client(address)


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel"])
def test_a_key_that_no_header_can_carry_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="the key, or SEMBLANCE_CLIENT_KEY, has a line break"):
        Client(api_key=key)


@pytest.mark.parametrize("address", ["127.0.0.1:8000", "", "ftp://127.0.0.1", "unix:///run/semblance.sock"])
def test_an_address_without_http_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="must begin with http://"):
        Client(address)


def test_errors_survive_pickling() -> None:
    error = Unreachable("cannot reach it", sent=False)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.nothing_done) == (Unreachable, "cannot reach it", True)
