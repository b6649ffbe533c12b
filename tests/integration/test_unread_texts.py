"""A text that the model cannot read has a warning in every answer about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api
from tests.support.command_line import semblance

ENGLISH = "The cat sleeps on the sofa."
RUSSIAN, ARABIC = "Завтра в городе ожидается сильный дождь.", "القطة نائمة على الأريكة"


def places(warnings: list[dict[str, Any]]) -> list[str]:
    assert {each["code"] for each in warnings} <= {"unread_text"}
    assert all("mean little" in each["detail"] for each in warnings)
    return sorted(each["pointer"] for each in warnings)


def test_pairs_and_matrices_name_each_unread_text(api: Api) -> None:
    pairs = [{"a": ENGLISH, "b": RUSSIAN}, {"a": ENGLISH, "b": ENGLISH}, {"a": RUSSIAN, "b": ARABIC}]
    for _ in range(2):  # the second time, the embeddings are cached
        answer = api.ok("/similarity", {"pairs": pairs})
        assert places(answer["warnings"]) == ["/pairs/0/b", "/pairs/2/a", "/pairs/2/b"]
    matrix = api.ok("/similarity", {"left": [ENGLISH, ARABIC], "right": [RUSSIAN]})
    assert places(matrix["warnings"]) == ["/left/1", "/right/0"]
    assert api.ok("/similarity", {"pairs": pairs[1:2]})["warnings"] == []


def test_searches_and_uploads_name_each_unread_text(api: Api) -> None:
    api.collection("unread")
    stored = api.store("unread", {"id": "en", "text": ENGLISH}, {"id": "ru", "text": RUSSIAN})
    assert places(stored["warnings"]) == ["/documents/1/text"]
    found = api.ok("/search", {"collection": "unread", "queries": [ENGLISH, ARABIC]})
    assert places(found["warnings"]) == ["/queries/1"]
    assert places(api.ok("/search", {"collection": "unread", "query": ARABIC})["warnings"]) == ["/query"]


def test_lines_of_a_stream_with_unread_texts_are_named(api: Api) -> None:
    api.collection("unread")
    lines = "".join(
        json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate([ENGLISH, RUSSIAN, ARABIC])
    )
    headers = {"content-type": "application/x-ndjson"}
    answer = api.http.post("/collections/unread/documents", content=lines.encode(), headers=headers)
    batches = [json.loads(line) for line in answer.text.splitlines()]
    assert [each["line"] for batch in batches for each in batch.get("warnings", [])] == [2, 3]


def test_the_command_warns_of_rows_that_are_unread(http: httpx2.Client, url: str, tmp_path: Path) -> None:
    file = tmp_path / "mixed.csv"
    file.write_text(f"number,text\n1,{ENGLISH}\n2,{RUSSIAN}\n", "utf-8")
    ran = semblance("index", str(file), "--collection", "warned", "--id-field", "number", "--url", url)
    assert ran.returncode == 0, ran.stderr
    assert f"{file}, line 3: warning: unread_text: text: " in ran.stderr
    assert f"{file}, line 2" not in ran.stderr
    assert "2 documents stored in warned" in ran.stderr
    http.delete("/collections/warned")


def test_openai_answers_name_each_unread_text(api: Api) -> None:
    answer = api.ok("/v1/embeddings", {"model": "minilm", "input": [ENGLISH, RUSSIAN]})
    assert places(answer["warnings"]) == ["/input/1"]


@pytest.mark.parametrize("format_", ["json", "html", "svg"])
def test_explanations_show_that_a_text_is_unread(http: httpx2.Client, format_: str) -> None:
    answer = http.get("/explain", params={"a": ENGLISH, "b": RUSSIAN, "format": format_}).raise_for_status()
    if format_ == "json":
        assert places(answer.json()["warnings"]) == ["/b"]
    else:
        assert "mean little" in answer.text
    plain = http.get("/explain", params={"a": ENGLISH, "b": ENGLISH, "format": format_}).raise_for_status()
    assert "mean little" not in plain.text
