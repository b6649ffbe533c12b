"""NDJSON uploads: acknowledged batches are on disk, and refused lines are listed."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.service.api.ndjson import read_lines
from semblance.service.errors import Problem
from semblance.service.ports.documents import Document
from semblance.service.usecases.documents.index_stream import StreamLine
from tests.integration.conftest import BODY_LIMIT, NDJSON, Api, code_of
from tests.integration.raw_http import chunk, head, open_connection, read_until
from tests.support.waiting import until

STREAM = head(
    "POST", "/collections/lines/documents", "content-type: application/x-ndjson", "transfer-encoding: chunked"
)


def line(doc_id: str, text: str, **metadata: object) -> str:
    return json.dumps({"id": doc_id, "text": text, "metadata": metadata})


def send(api: Api, lines: list[str]) -> list[dict[str, Any]]:
    return api.lines("lines", "\n".join(lines).encode())


def stored(api: Api) -> dict[str, str]:
    """Texts of the documents, by id."""
    return {each["id"]: each["text"] for each in api.get("/collections/lines/documents")["documents"]}


def errors_of(lines_out: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Refused lines of all batches, of which there are more when lines arrive slowly."""
    return [error for batch in lines_out[:-1] for error in batch["errors"]]


def test_each_batch_is_answered_and_a_summary_comes_last(api: Api) -> None:
    api.collection("lines")
    lines_out = send(api, [line(f"d{i}", f"Number {i}.", i=i) for i in range(600)])
    *batches, last = lines_out  # of fewer lines, if lines arrive slowly
    through = [0, *(each["through_line"] for each in batches)]
    assert [each["upserted"] for each in batches] == [after - before for before, after in itertools.pairwise(through)]
    assert max(each["upserted"] for each in batches) <= 256
    assert last == {"done": True, "upserted": 600, "failed": 0, "version": batches[-1]["version"]}
    assert api.get("/collections/lines")["count"] == 600
    assert api.get("/collections/lines")["version"] == lines_out[-1]["version"]


def test_bad_lines_are_listed_and_good_ones_stored(api: Api) -> None:
    api.collection("lines", passages="none")
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
    lines_out = send(api, lines)
    refused = {each["line"]: (each["pointer"], each["code"]) for each in errors_of(lines_out)}
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
    assert lines_out[-1]["upserted"] == 3
    assert lines_out[-1]["failed"] == 8
    assert stored(api) == {"a": "Good, and later than line 1.", "g": "Good too."}


def test_a_repeated_id_costs_one_commit_a_batch(api: Api) -> None:
    api.collection("lines")
    lines = [line("a" if i % 3 else f"d{i}", f"Number {i}.") for i in range(400)]
    *batches, last = send(api, lines)
    assert [int(each["version"].split(":")[1]) for each in batches] == list(range(1, len(batches) + 1))
    assert (last["upserted"], last["version"]) == (400, batches[-1]["version"])
    assert api.get("/collections/lines/documents/a")["text"] == "Number 398."
    assert api.get("/collections/lines")["count"] == 1 + 134


def test_a_refused_line_replaces_none_of_the_same_id(api: Api) -> None:
    api.collection("lines", passages="none")
    bad = [("a", "word " * 30_000), ("a", "\u200b"), ("b", "\u200b")]
    lines = [("b", "First."), ("a", "First."), bad[0], ("a", "Second."), bad[1], ("b", "Second."), bad[2]]
    lines_out = send(api, [line(*each) for each in lines])
    refused = [(each["line"], each["code"]) for each in errors_of(lines_out)]
    assert refused == [(3, "text_too_long"), (5, "empty_text"), (7, "empty_text")]
    assert (lines_out[-1]["upserted"], lines_out[-1]["failed"]) == (4, 3)
    assert stored(api) == {"a": "Second.", "b": "Second."}


def test_a_refused_line_is_not_repeated_in_the_answer(api: Api) -> None:
    """Unknown names may be as long as a line."""
    api.collection("lines")
    long = "n/" * (BODY_LIMIT // 3)
    lines = [json.dumps({"id": "a", "text": "x", long: 1}), json.dumps({"id": "b", "text": "x"})]
    lines_out = send(api, lines)
    assert (lines_out[-1]["upserted"], lines_out[-1]["failed"]) == (1, 1)
    [refused] = errors_of(lines_out)
    assert (refused["code"], refused["pointer"]) == ("unknown_field", "/" + "n~1" * 49 + "n…")
    whole = api.post("/similarity", {"pairs": [{"a": "x", "b": "y", long: 1}]})
    assert (whole.status_code, len(whole.content) < 2000) == (422, True)
    assert whole.json()["errors"][0]["pointer"] == "/pairs/0/" + "n~1" * 49 + "n…"


def test_an_endless_line_is_refused_without_being_buffered(api: Api) -> None:
    api.collection("lines")

    def body() -> Iterator[bytes]:
        yield line("before", "Before.").encode() + b"\n"
        for _ in range(40):
            yield b"x" * 100_000
        yield b"\n" + line("after", "After.").encode()

    lines_out = api.lines("lines", body())
    assert [(each["line"], each["code"]) for each in errors_of(lines_out)] == [(2, "body_too_large")]
    assert lines_out[-1]["upserted"] == 2


def test_lines_are_answered_before_the_body_ends(api: Api, url: str) -> None:
    """A sender may wait for each acknowledgement."""
    api.collection("lines")
    with open_connection(url) as connection:
        connection.sendall(STREAM)
        for i in range(3):
            piece = line(f"d{i}", f"Number {i}.").encode() + b"\n"
            connection.sendall(chunk(piece))
            read_until(connection, f'"through_line":{i + 1}'.encode())
        connection.sendall(chunk(b""))
        assert b'"upserted":3' in read_until(connection, b'"done":true')


def test_acknowledged_lines_survive_a_disconnect(api: Api, http: httpx2.Client, url: str) -> None:
    api.collection("lines")
    with open_connection(url) as connection:
        connection.sendall(STREAM)
        piece = b"".join(line(f"d{i}", f"Number {i}.").encode() + b"\n" for i in range(300))
        connection.sendall(chunk(piece))
        received = read_until(connection, b'"version"')
    acknowledged = re.findall(rb'"through_line":(\d+)', received)
    assert api.get("/collections/lines")["count"] >= int(acknowledged[-1]) > 0
    assert http.get("/live").status_code == 200


def test_deleting_the_collection_ends_the_stream_with_the_reason(api: Api, http: httpx2.Client) -> None:
    api.collection("lines")

    def body() -> Iterator[bytes]:
        yield b"".join(line(f"d{i}", f"Number {i}.").encode() + b"\n" for i in range(256))
        until(lambda: api.get("/collections/lines")["count"] == 256)
        http.delete("/collections/lines")
        yield line("late", "Too late.").encode()

    with httpx2.Client(base_url=http.base_url, timeout=120) as other:
        last = Api(other).lines("lines", body())[-1]
    assert (last["done"], last["error"], last["through_line"]) == (False, "unknown_collection", 256)


def test_errors_of_the_whole_request_precede_the_stream(api: Api, http: httpx2.Client) -> None:
    api.collection("lines")
    unknown = http.post("/collections/nosuch/documents", content=b"{}", headers=NDJSON)
    assert code_of(unknown) == (404, "unknown_collection")
    assert code_of(http.post("/search", content=b"{}", headers=NDJSON)) == (415, "unsupported_media_type")
    assert send(api, ["", ""]) == [{"done": True, "upserted": 0, "failed": 0, "version": None}]


@pytest.mark.parametrize("name", ["%09", "%0A", "a%0D"])
def test_no_spelling_of_a_path_allows_unlimited_json_bodies(http: httpx2.Client, name: str) -> None:
    """The limit and the parser depend on the same decision."""
    body = json.dumps({"documents": [{"id": "x", "text": "x" * 2 * BODY_LIMIT}]}).encode()
    answer = http.post(f"/collections/{name}/documents", content=body, headers=NDJSON)
    assert code_of(answer) == (404, "unknown_collection")


def test_small_requests_are_answered_during_an_upload(api: Api, http: httpx2.Client) -> None:
    """The upload goes on until they are, with one or two batches that are sent and not stored yet."""
    api.collection("lines")
    answered = threading.Event()

    def stored(batches: int) -> bool:
        return answered.is_set() or int(api.get("/collections/lines")["version"].split(":")[1]) >= batches

    def body() -> Iterator[bytes]:
        for batch in itertools.count():
            until(partial(stored, batch - 1))
            if answered.is_set():
                return
            text = f"Number {batch} is a document of some length. " * 12
            yield "".join(line(f"d{i % 50}", f"{text}{i}") + "\n" for i in range(256)).encode()

    with ThreadPoolExecutor(1) as uploads:
        upload = uploads.submit(http.post, "/collections/lines/documents", content=body(), headers=NDJSON)
        try:
            until(lambda: api.get("/collections/lines")["count"])
            for i in range(5):
                api.ok("/similarity", {"pairs": [{"a": f"small request {i}", "b": "is answered"}]})
            assert not upload.done()
        finally:
            answered.set()
    assert json.loads(upload.result().text.splitlines()[-1])["done"]


def test_an_upload_does_not_evict_cached_texts(api: Api, http: httpx2.Client) -> None:
    """Since its texts are not cached."""

    def hits() -> float:
        found = re.search(r'semblance_cache_lookups_total{outcome="hit"} (\S+)', http.get("/metrics").text)
        assert found
        return float(found[1])

    api.collection("lines")
    pair, before = ("This is uploaded.", "And this text, too."), hits()
    send(api, [line(str(i), text) for i, text in enumerate(pair)])
    api.scores(pair)
    assert hits() == before
    api.scores(pair)
    assert hits() == before + 2


@given(
    texts=st.lists(st.one_of(st.text(max_size=20), st.just("é漢🎉")), max_size=12),
    cuts=st.lists(st.integers(0, 600), max_size=8),
)
def test_lines_do_not_depend_on_packet_boundaries(texts: list[str], cuts: list[int]) -> None:
    body = "".join(json.dumps({"id": "x", "text": text}, ensure_ascii=False) + "\n" for text in texts).encode(
        "utf-8", "surrogatepass"
    )
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]

    async def read() -> list[StreamLine]:
        async def pieces() -> Any:
            for start, end in itertools.pairwise(edges):
                yield body[start:end]

        return [each async for each in read_lines(pieces(), 10_000)]

    read_back = asyncio.run(read())
    assert [each.number for each in read_back] == list(range(1, len(texts) + 1))
    for text, each in zip(texts, read_back, strict=True):
        stored = isinstance(each.content, Document) and each.content.text == text
        assert stored or ("\x00" in text and isinstance(each.content, Problem))
