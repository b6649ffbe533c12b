"""An upload stores every document that can be stored, also through interruptions."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from semblance_client import (
    BadRequest,
    Client,
    Document,
    NotFound,
    RejectedDocuments,
    SemblanceError,
    StoredBatch,
    Unavailable,
    UnexpectedAnswer,
)

from tests.clients.python.conftest import Connect
from tests.clients.python.scripted_server import Reply, ScriptedServer, lines, refusal, stored
from tests.support.running_service import running_process
from tests.support.servers.word_models import write_model

DONE = {"done": True, "upserted": 0, "failed": 0, "version": None}
FAILED = {"done": False, "error": "store_unavailable", "detail": "away", "through_line": 2}


def documents(count: int) -> list[dict[str, Any]]:
    return [{"id": f"{i:04}", "text": f"Story {i} 🙂 naïve 私の荷物", "metadata": {"i": i}} for i in range(count)]


def test_an_upload_survives_a_crash_of_the_service(tmp_path: Path) -> None:
    batches: list[StoredBatch] = []
    words = write_model(tmp_path / "words.npz", 0)
    with running_process(models=f"words={words}") as service, Client(service.url) as client:
        restart = threading.Thread(target=service.start)

        def interrupted() -> Iterator[dict[str, Any]]:
            for i, each in enumerate(documents(1000)):
                if i == 600:
                    service.kill()
                    restart.start()
                yield each

        client.create_collection("mine")
        done = client.upload(interrupted(), "mine", progress=batches.append, retry_for_s=600)
        restart.join()
        page = client.documents("mine", limit=1000)
    assert (done.upserted, done.failed) == (1000, 0)
    assert [{"id": each.id, "text": each.text, "metadata": each.metadata} for each in page.documents] == documents(1000)
    assert [each.through_line for each in batches] == [256, 512, 768, 1000]


def test_problems_have_their_line_and_a_hundred_are_kept(client: Client) -> None:
    client.create_collection("problems")
    blank = [{"id": f"empty {i}", "text": ""} for i in range(120)]
    given = [*documents(300), {"id": "x", "text": " "}, {"id": "y", "text": "A.", "year": 1}, {"id": "z", "text": "B."}]
    done = client.upload([*given, *blank], "problems", rejected="report")
    found = [(problem.line, problem.code, problem.field) for problem in done.refused]
    assert found[:3] == [(301, "empty_text", "text"), (302, "unknown_field", "year"), (304, "empty_text", "text")]
    assert len(found) == 100
    assert (done.upserted, done.failed) == (301, 122)
    assert client.collection("problems").count == 301


def test_documents_that_fail_raise_after_all_others(connect: Connect, url: str) -> None:
    client: Any = connect(url)
    client.create_collection("raising")
    rows: list[Any] = [*documents(300), {"id": "x", "text": " "}, *({"id": str(i)} for i in range(4)), "no JSON"]
    rows.append({"id": "last", "text": "A."})
    with pytest.raises(RejectedDocuments) as rejected:
        client.upload(iter(rows), "raising")
    error = pickle.loads(pickle.dumps(rejected.value))
    assert str(error) == (
        "documents stored: 301, rejected: 6; document 301, text: it has no visible character; "
        "document 302, text: it is required; document 303, text: it is required; and 3 more"
    )
    assert (error.result.upserted, error.result.failed, len(error.result.refused)) == (301, 6, 6)
    assert client.document("last", "raising").text == "A."
    reported = client.upload(rows, "raising", rejected="report")
    assert reported == error.result
    with pytest.raises(ValueError, match="rejected must be 'raise' or 'report', not 'ignore'"):
        client.upload(rows, "raising", rejected="ignore")


def test_a_file_and_documents_of_any_kind_are_read(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "documents.jsonl"
    rows = documents(5)
    file.write_text("\n".join(json.dumps(each, ensure_ascii=False) for each in rows), "utf-8")
    client.create_collection("kinds")
    with file.open("rb") as binary:
        assert client.upload(binary, "kinds").upserted == 5
    with file.open(encoding="utf-8") as text:
        assert client.upload(text, "kinds").upserted == 5
    assert client.upload((Document(**each) for each in rows), "kinds").upserted == 5
    assert client.upload([], "kinds").upserted == 0
    assert [each.text for each in client.documents("kinds").documents] == [each["text"] for each in rows]


def test_blank_lines_count_but_are_no_documents(client: Client) -> None:
    client.create_collection("blank")
    done = client.upload(["", '{"id": "1", "text": "A."}\r\n', "\n", "{}"], "blank", rejected="report")
    assert (done.upserted, [problem.line for problem in done.refused]) == (1, [4])


@pytest.mark.parametrize("given", ["documents.jsonl", b"{}", {"id": "1", "text": "a"}])
def test_a_single_value_in_place_of_documents_is_refused(client: Client, given: Any) -> None:
    with pytest.raises(TypeError, match="iterable of documents"):
        client.upload(given)


def test_requests_hold_at_most_256_lines_or_a_megabyte(connect: Connect, server: ScriptedServer) -> None:
    server.replies = [lines(DONE)]
    connect(server.url).upload([*documents(257), *({"id": str(i), "text": "x" * 300_000} for i in range(4))])
    sizes = [len(each.body.splitlines()) for each in server.arrivals]
    assert sizes == [256, 4, 1]
    assert all(len(each.body) <= 1_000_000 for each in server.arrivals)


@pytest.mark.parametrize("fault", [lines(stored(2, 2), FAILED), lines(stored(2, 2))], ids=["error", "end"])
@pytest.mark.usefixtures("pauses")
def test_only_what_was_not_acknowledged_is_sent_again(connect: Connect, server: ScriptedServer, fault: Reply) -> None:
    problem = {"line": 1, "pointer": "/text", "code": "empty_text", "detail": "it is empty"}
    server.replies = [fault, lines({**stored(3, 2), "errors": [problem]}, DONE)]
    done = connect(server.url).upload(documents(5), rejected="report")
    assert [json.loads(line)["id"] for line in server.arrivals[1].body.splitlines()] == ["0002", "0003", "0004"]
    assert (done.upserted, [each.line for each in done.refused]) == (4, [3])


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize("fault", [refusal(429, "overloaded", "0"), Reply(502, b""), Reply(body=b"{}\n", cut_after=1)])
def test_refused_requests_are_sent_again(connect: Connect, server: ScriptedServer, fault: Reply) -> None:
    server.replies = [fault, lines(stored(5, 5), DONE)]
    assert connect(server.url).upload(documents(5)).upserted == 5
    assert server.arrivals[0].body == server.arrivals[1].body


def test_an_upload_without_progress_fails_in_time(
    connect: Connect, server: ScriptedServer, pauses: list[float]
) -> None:
    server.replies = [refusal(503, "not_ready", "1")]
    with pytest.raises(Unavailable):
        connect(server.url).upload(documents(5), retry_for_s=1.5)
    assert (len(server.arrivals), pauses) == (2, [1])


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        (refusal(404, "unknown_collection"), NotFound, "unknown_collection"),
        (refusal(422, "bad_name"), BadRequest, "bad_name"),
        (lines(stored(2, 2), {**FAILED, "error": "store_full"}), SemblanceError, "store_full: away"),
        (Reply(body=b"<html>"), UnexpectedAnswer, "not one of Semblance.* page of HTML"),
        (Reply(301, b"", {"location": "https://127.0.0.1/x"}), UnexpectedAnswer, "redirects to https://127.0.0.1/x"),
    ],
)
def test_faults_that_stay_end_the_upload_at_once(
    connect: Connect, server: ScriptedServer, reply: Reply, error: type[SemblanceError], message: str
) -> None:
    server.replies = [reply]
    with pytest.raises(error, match=message):
        connect(server.url).upload(documents(5))
    assert len(server.arrivals) == 1


def test_errors_of_the_callback_end_the_upload(connect: Connect, server: ScriptedServer) -> None:
    def fail(batch: StoredBatch) -> None:
        raise Unavailable(f"not at line {batch.through_line}")

    server.replies = [lines(stored(2, 2), DONE)]
    with pytest.raises(Unavailable, match="not at line 2"):
        connect(server.url).upload(documents(2), progress=fail)
    assert len(server.arrivals) == 1


def test_a_repeated_id_is_a_warning(client: Client) -> None:
    client.create_collection("repeated")
    rows = [{"id": str(i % 300), "text": f"text {i}"} for i in range(301)]  # more than one request
    done = client.upload([*rows, Document(id="7", text="other")], "repeated")
    assert [(each.line, each.code, each.field) for each in done.warned] == [
        (301, "repeated_id", "id"),
        (302, "repeated_id", "id"),
    ]
    assert done.warned[1].detail == "'7' is also that of document 8, which this one replaces"
    assert client.document("7", "repeated").text == "other"
    lines = [json.dumps(row) for row in rows]  # lines of JSON are sent as they are
    assert client.upload(lines, "repeated").warned == []
