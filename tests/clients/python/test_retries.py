"""Calls are repeated while that can help and cannot do harm, for a bounded time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from semblance_client import Client, Overloaded, Retries, SemblanceError, Unavailable, Unreachable

from tests.clients.python.conftest import Connect
from tests.clients.python.scripted_server import Reply, ScriptedServer, refusal
from tests.support.running_service import reserved_port, running_service

SCORES = Reply(
    body=b'{"scores": [0.5], "measure": "cosine", "model": "m", "space": "s", "truncated": [false],'
    b' "warnings": [], "usage": {"tokens": 1}}'
)
STORED = Reply(body=b'{"upserted": 1, "version": "a:1:b", "truncated": [], "warnings": [], "usage": {"tokens": 1}}')
CUT = Reply(body=SCORES.body, cut_after=10)


def read(client: Client) -> object:
    return client.similarity([("a", "b")]).scores


def write(client: Client) -> object:
    return client.add_documents([{"id": "1", "text": "a"}]).upserted


def upload(client: Client) -> object:
    return client.upload([{"id": "1", "text": "a"}], retry_for_s=60)


def delete(client: Client) -> object:
    return client.delete_document("1")


def test_a_busy_service_serves_every_caller_in_the_end() -> None:
    def score(i: int) -> float:
        text = f"{i} " + "word " * 200
        with Client(url, retries=Retries(attempts=10_000, total_s=600)) as client:
            return client.similarity([(text, text)]).scores[0]

    with (
        running_service(models="minilm", cache="none", max_queued_tokens="512", max_request_tokens="512") as url,
        ThreadPoolExecutor(8) as pool,
    ):
        assert list(pool.map(score, range(24))) == pytest.approx([1.0] * 24, abs=1e-4)
        metrics = httpx2.get(f"{url}/metrics", timeout=600).text
    [refused] = [line for line in metrics.splitlines() if line.startswith('semblance_errors_total{code="overloaded"}')]
    assert float(refused.split()[-1]) > 0, "the service was never overloaded"


def test_a_retry_waits_for_as_long_as_the_service_asks(
    connect: Connect, server: ScriptedServer, pauses: list[float]
) -> None:
    server.replies = [refusal(429, "overloaded", "1"), refusal(503, "model_loading", "3"), SCORES]
    assert read(connect(server.url)) == [0.5]
    assert pauses == [1, 3]
    assert len({each.body for each in server.arrivals}) == 1


@pytest.mark.parametrize(
    "reply",
    [
        refusal(503, "not_ready"),
        refusal(503, "store_unavailable"),
        refusal(503, "version_not_reached"),
        refusal(409, "write_conflict"),
        Reply(502, b"<html>Bad Gateway</html>"),
        Reply(429, b"slow down", {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}),
        CUT,
    ],
    ids=["not_ready", "store_unavailable", "version_not_reached", "write_conflict", "proxy", "date", "cut"],
)
def test_reads_are_repeated_after_passing_faults(
    connect: Connect, server: ScriptedServer, pauses: list[float], reply: Reply
) -> None:
    server.replies = [reply, SCORES]
    assert read(connect(server.url)) == [0.5]
    assert (len(server.arrivals), pauses) == (2, [0.5])


@pytest.mark.parametrize("code", ["store_full", "store_failed", "store_damaged", "model_failed", "model_unavailable"])
def test_faults_that_stay_fail_at_once(connect: Connect, server: ScriptedServer, code: str) -> None:
    server.replies = [refusal(503, code, "1"), SCORES]
    with pytest.raises(Unavailable) as failed:
        read(connect(server.url))
    assert (failed.value.code, failed.value.retry_after_s, len(server.arrivals)) == (code, 1.0, 1)


@pytest.mark.parametrize("call", [write, delete])
@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (refusal(503, "not_ready", "0"), Unavailable),
        (refusal(503, "store_unavailable", "0"), Unavailable),
        (Reply(504, b"timeout"), Unavailable),
        (CUT, Unreachable),
    ],
    ids=["not_ready", "store_unavailable", "proxy", "cut"],
)
def test_a_change_that_may_have_happened_is_not_repeated(
    connect: Connect,
    server: ScriptedServer,
    call: Callable[[Client], object],
    reply: Reply,
    error: type[SemblanceError],
) -> None:
    server.replies = [reply, STORED]
    with pytest.raises(error):
        call(connect(server.url))
    assert len(server.arrivals) == 1


@pytest.mark.parametrize("code", ["overloaded", "model_loading", "write_conflict"])
def test_a_change_that_has_not_happened_is_repeated(connect: Connect, server: ScriptedServer, code: str) -> None:
    server.replies = [refusal({"overloaded": 429, "write_conflict": 409}.get(code, 503), code, "0"), STORED]
    assert write(connect(server.url)) == 1
    assert len(server.arrivals) == 2


@pytest.mark.parametrize(
    ("retries", "reply", "made"),
    [
        (Retries(1), refusal(429, "overloaded", "2"), []),
        (Retries(3), refusal(429, "overloaded", "2"), [2, 2]),
        (Retries(), refusal(429, "overloaded", "120"), []),  # beyond the total time
        (Retries(attempts=100, total_s=16), refusal(503, "not_ready"), [0.5, 1, 2, 4, 4, 4]),
    ],
)
def test_attempts_and_their_total_time_are_bounded(
    connect: Connect, server: ScriptedServer, pauses: list[float], retries: Retries, reply: Reply, made: list[float]
) -> None:
    server.replies = [reply]
    with pytest.raises((Overloaded, Unavailable)) as failed:
        read(connect(server.url, retries=retries))
    assert (pauses, len(server.arrivals)) == (made, len(made) + 1)
    assert f"{failed.value.retry_after_s or 0:g}" == reply.headers.get("retry-after", "0")


@pytest.mark.parametrize("call", [read, write, upload])
def test_an_address_without_a_service_is_tried_again(
    connect: Connect, pauses: list[float], call: Callable[[Client], object]
) -> None:
    client = connect(f"http://user:hunter2@127.0.0.1:{reserved_port()}", retries=Retries(attempts=2))
    with pytest.raises(Unreachable, match=r"cannot reach http://127\.0\.0\.1:\d+: .*; is the service running there\?"):
        call(client)
    assert pauses == [0.5]
