"""Documents line by line: what is answered is on disk, and what is not stored is named."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.service.api.ndjson import read_lines
from semblance.service.errors import Problem
from semblance.service.ports.documents import Document
from semblance.service.usecases.index_stream import Line
from tests.integration.conftest import BODY_LIMIT, Api
from tests.integration.raw_http import chunk, dialled, head, heard_until
from tests.support.running_service import running_service
from tests.support.small_model import write_glove

pytestmark = pytest.mark.alone

NDJSON = {"content-type": "application/x-ndjson"}
STREAM = head(
    "POST", "/collections/lines/documents", "content-type: application/x-ndjson", "transfer-encoding: chunked"
)


def line(doc_id: str, text: str, **metadata: object) -> str:
    return json.dumps({"id": doc_id, "text": text, "metadata": metadata})


def send(http: httpx2.Client, name: str, lines: list[str]) -> list[dict[str, Any]]:
    answer = http.post(f"/collections/{name}/documents", content="\n".join(lines).encode(), headers=NDJSON)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(each) for each in answer.text.splitlines()]


def test_each_batch_is_answered_and_the_last_line_sums_up(api: Api, http: httpx2.Client) -> None:
    api.collection("lines")
    said = send(http, "lines", [line(f"d{i}", f"Number {i}.", i=i) for i in range(600)])
    assert [each.get("through_line") for each in said] == [256, 512, 600, None]
    assert [each["upserted"] for each in said] == [256, 256, 88, 600]
    assert said[-1] == {"done": True, "upserted": 600, "failed": 0, "version": said[-2]["version"]}
    assert http.get("/collections/lines").json()["count"] == 600
    assert http.get("/collections/lines").json()["version"] == said[-1]["version"]


def test_bad_lines_are_listed_and_good_ones_kept(api: Api, http: httpx2.Client) -> None:
    api.collection("lines")
    lines = [
        line("a", "Good."),
        "{broken",
        "",
        json.dumps({"id": "b", "text": " \u200b"}),
        json.dumps({"id": "c"}),
        json.dumps({"id": "d", "text": "x", "metadata": {"n": float("nan")}}),
        line("e", "word " * 30_000),
        "[1]",
        "[" * 100_000,
        '{"id": "f", "text": "\\ud800"}',
        line("g", "Good too."),
        line("a", "Good, and later than line 1."),
    ]
    said = send(http, "lines", lines)
    refused = {each["line"]: (each["pointer"], each["code"]) for batch in said[:-1] for each in batch["errors"]}
    assert refused == {
        2: ("", "malformed_json"),
        4: ("/text", "empty_text"),
        5: ("/text", "missing_field"),
        6: ("/metadata", "not_finite"),
        7: ("/text", "text_too_long"),
        8: ("", "invalid_value"),
        9: ("", "malformed_json"),
        10: ("/text", "ill_formed_text"),
    }
    assert said[-1]["upserted"] == 3
    assert said[-1]["failed"] == 8
    listed = http.get("/collections/lines/documents").json()["documents"]
    assert {each["id"]: each["text"] for each in listed} == {"a": "Good, and later than line 1.", "g": "Good too."}


def test_a_refused_line_is_not_repeated_in_the_answer(api: Api, http: httpx2.Client) -> None:
    """Names and types that the schema does not know may be as long as a line."""
    api.collection("lines")
    long = "n/" * (BODY_LIMIT // 3)
    lines = [json.dumps({"id": "a", "text": "x", long: 1}), json.dumps({"id": "b", "text": "x"})]
    stored, last = send(http, "lines", lines)
    assert (last["upserted"], last["failed"]) == (1, 1)
    (refused,) = stored["errors"]
    assert (refused["code"], refused["pointer"]) == ("unknown_field", "/" + "n~1" * 49 + "n…")
    whole = api.post("/similarity", {"pairs": [{"a": "x", "b": "y", long: 1}]})
    assert (whole.status_code, len(whole.content) < 2000) == (422, True)
    assert whole.json()["errors"][0]["pointer"] == "/pairs/0/" + "n~1" * 49 + "n…"


def test_a_long_line_in_small_pieces_takes_time_in_proportion_to_its_length() -> None:
    text = "x" * 8_000_000
    body = json.dumps({"id": "x", "text": text}).encode()

    async def read(size: int) -> list[Line]:
        async def pieces() -> Any:
            for start in range(0, len(body), size):
                yield body[start : start + size]

        return [each async for each in read_lines(pieces(), len(body))]

    began = time.perf_counter()
    (line,) = asyncio.run(read(128))
    assert isinstance(line.content, Document)
    assert line.content.text == text
    assert time.perf_counter() - began < 3, "it takes minutes to copy what has come with each piece"


def test_a_line_without_end_is_refused_without_being_held(api: Api, http: httpx2.Client) -> None:
    api.collection("lines")

    def body() -> Iterator[bytes]:
        yield line("before", "Before.").encode() + b"\n"
        for _ in range(40):
            yield b"x" * 100_000
        yield b"\n" + line("after", "After.").encode()

    answer = http.post("/collections/lines/documents", content=body(), headers=NDJSON)
    said = [json.loads(each) for each in answer.text.splitlines()]
    assert [each["line"] for each in said[0]["errors"]] == [2]
    assert said[0]["errors"][0]["code"] == "body_too_large"
    assert said[-1]["upserted"] == 2


def test_lines_are_answered_while_more_are_still_to_come(api: Api, url: str) -> None:
    """A sender that waits for its acknowledgement before it goes on gets it."""
    api.collection("lines")
    with dialled(url) as connection:
        connection.sendall(STREAM)
        for i in range(3):
            piece = line(f"d{i}", f"Number {i}.").encode() + b"\n"
            connection.sendall(chunk(piece))
            heard_until(connection, f'"through_line":{i + 1}'.encode())
        connection.sendall(chunk(b""))
        assert b'"upserted":3' in heard_until(connection, b'"done":true')


def test_what_was_answered_stays_when_the_sender_goes_away(api: Api, http: httpx2.Client, url: str) -> None:
    api.collection("lines")
    with dialled(url) as connection:
        connection.sendall(STREAM)
        piece = b"".join(line(f"d{i}", f"Number {i}.").encode() + b"\n" for i in range(300))
        connection.sendall(chunk(piece))
        heard_until(connection, b'"through_line":256')
    assert http.get("/collections/lines").json()["count"] >= 256
    assert http.get("/live").status_code == 200


def test_a_collection_that_goes_away_ends_the_stream_with_the_reason(api: Api, http: httpx2.Client) -> None:
    api.collection("lines")

    def body() -> Iterator[bytes]:
        yield b"".join(line(f"d{i}", f"Number {i}.").encode() + b"\n" for i in range(256))
        while http.get("/collections/lines").json()["count"] < 256:
            time.sleep(0.1)
        http.delete("/collections/lines")
        yield line("late", "Too late.").encode()

    with httpx2.Client(base_url=http.base_url, timeout=60) as other:
        answer = other.post("/collections/lines/documents", content=body(), headers=NDJSON)
    said = [json.loads(each) for each in answer.text.splitlines()]
    assert said[0]["through_line"] == 256
    assert said[-1] | {"detail": ""} == {
        "done": False,
        "error": "unknown_collection",
        "detail": "",
        "through_line": 256,
    }


def test_what_is_wrong_with_the_whole_is_told_before_anything_is_read(api: Api, http: httpx2.Client) -> None:
    api.collection("lines")
    gone = http.post("/collections/nosuch/documents", content=b"{}", headers=NDJSON)
    assert (gone.status_code, gone.json()["code"]) == (404, "unknown_collection")
    elsewhere = http.post("/search", content=b"{}", headers=NDJSON)
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (415, "unsupported_media_type")
    nothing = http.post("/collections/lines/documents", content=b"\n\n", headers=NDJSON)
    assert json.loads(nothing.text) == {"done": True, "upserted": 0, "failed": 0, "version": None}


@pytest.mark.parametrize("name", ["%09", "%0A", "a%0D"])
def test_no_spelling_of_a_path_makes_a_body_without_limit_one_of_json(http: httpx2.Client, name: str) -> None:
    """What lifts the limit and what reads the body go by one and the same decision."""
    body = json.dumps({"documents": [{"id": "x", "text": "x" * 2 * BODY_LIMIT}]}).encode()
    answer = http.post(f"/collections/{name}/documents", content=body, headers=NDJSON)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_collection")


def test_small_requests_are_answered_while_many_documents_stream_in(api: Api, http: httpx2.Client) -> None:
    api.collection("lines")
    lines = [line(f"d{i}", f"Number {i} is a document of some length. " * 12) for i in range(400)]
    streaming = threading.Thread(target=send, args=(http, "lines", lines))
    began_streaming = time.perf_counter()
    streaming.start()
    waits = []
    while streaming.is_alive():
        began = time.perf_counter()
        api.ok("/similarity", {"pairs": [{"a": f"a {began}", "b": f"b {began}"}]})
        waits.append(time.perf_counter() - began)
    assert len(waits) >= 5
    # there are a dozen passes of documents, and one or two of them lie before a small request
    assert max(waits) < (time.perf_counter() - began_streaming) / 3


def test_what_the_cache_knows_it_knows_after_an_upload(tmp_path: Path) -> None:
    words = write_glove(tmp_path / "glove.txt", ["lamp", "parcel", "number"])
    pair = {"pairs": [{"a": "lamp", "b": "parcel"}]}
    with (
        running_service(models=f"words={words}", cache_bytes="10000") as url,  # for fewer than ten texts
        httpx2.Client(base_url=url, timeout=60) as http,
    ):
        api = Api(http)
        api.collection("lines")
        api.ok("/similarity", pair)
        send(http, "lines", [line(f"d{i}", f"number {i}") for i in range(50)])
        assert 'semblance_cache_lookups_total{outcome="hit"} 0.0' in http.get("/metrics").text
        api.ok("/similarity", pair)
        assert 'semblance_cache_lookups_total{outcome="hit"} 2.0' in http.get("/metrics").text


@given(
    texts=st.lists(st.one_of(st.text(max_size=20), st.just("é漢🎉")), max_size=12),
    cuts=st.lists(st.integers(0, 600), max_size=8),
)
def test_lines_are_the_same_wherever_the_network_cuts_them(texts: list[str], cuts: list[int]) -> None:
    body = "".join(json.dumps({"id": "x", "text": text}, ensure_ascii=False) + "\n" for text in texts).encode(
        "utf-8", "surrogatepass"
    )
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]

    async def read() -> list[Line]:
        async def pieces() -> Any:
            for start, end in itertools.pairwise(edges):
                yield body[start:end]

        return [each async for each in read_lines(pieces(), 10_000)]

    read_back = asyncio.run(read())
    assert [each.number for each in read_back] == list(range(1, len(texts) + 1))
    for text, each in zip(texts, read_back, strict=True):
        stored = isinstance(each.content, Document) and each.content.text == text
        assert stored or ("\x00" in text and isinstance(each.content, Problem))
