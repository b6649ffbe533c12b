"""The command line against a running service and an embedded store."""

from __future__ import annotations

import gzip
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import httpx2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from semblance.service.cli.index import add
from semblance.service.cli.main import app
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.ports.documents import CollectionSettings, Document, Write
from tests.clients.python import scripted_server
from tests.integration.conftest import Api
from tests.support.command_line import semblance, semblance_process
from tests.support.running_service import Service
from tests.support.text_files import write, write_json
from tests.support.vectors import one_passage
from tests.support.waiting import until


@pytest.mark.parametrize(
    "verb",
    [
        *("serve", "models", "duplicates", "evaluate", "train", "harvest", "embed", "backup", "restore", "snapshot"),
        *("index", "index add", "index verify", "index rebuild", "index reembed"),
        *("pairs tweets", "pairs threads", "pairs harvest", "key new", "project"),
        *("origin start", "origin corpus", "origin score", "origin evaluate", "origin explain", "origin train"),
    ],
)
def test_help_shows_an_example(verb: str) -> None:
    def output(line: str) -> str:
        ran = CliRunner().invoke(app, line, env={"COLUMNS": "200"})
        assert ran.exit_code == 0
        return ran.stdout

    assert verb.split(maxsplit=1)[0] in output("--help")
    help_ = output(f"{verb} --help")
    assert f"semblance {verb.removesuffix(' add')}" in help_
    assert "Example" in help_


def test_models_lists_the_models_to_serve() -> None:
    ran = semblance("models")
    assert ran.returncode == 0
    assert "minilm" in ran.stdout
    assert "256" in ran.stdout


def test_errors_name_the_invalid_setting(tmp_path: Path) -> None:
    for arguments, environment, message in (
        (["models"], {"SEMBLANCE_MODELS": "nosuch"}, "SEMBLANCE_MODELS"),
        (["models"], {"SEMBLANCE_MODELS": f"mine={tmp_path / 'no'}"}, "no such file or folder"),
        (["serve", "--host", "0.0.0.0"], {}, "SEMBLANCE_ALLOW_ANONYMOUS"),
        (["serve"], {"SEMBLANCE_PORT": "x"}, "SEMBLANCE_PORT"),
        (["serve", "--model", "nosuch"], {}, "nosuch"),
        (["serve"], {"SEMBLANCE_DEVICE": "cuda:77"}, "SEMBLANCE_DEVICE"),
        (["serve"], {"SEMBLANCE_DEVICE": "abacus"}, "SEMBLANCE_DEVICE"),
        (["models"], {"SEMBLANCE_MAX_KK": "3"}, "SEMBLANCE_MAX_KK"),
    ):
        run = semblance_process if arguments[0] == "serve" else semblance
        ran = run(*arguments, **environment)
        assert ran.returncode == 1
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr


def test_index_stores_a_file_and_lists_refused_lines(api: Api, http: httpx2.Client, url: str, tmp_path: Path) -> None:
    http.delete("/collections/lines")
    rows = [{"id": f"d{i}", "text": f"Document number {i}.", "metadata": {"i": i}} for i in range(150)]
    lines = [json.dumps(row) for row in rows]
    lines[3] = "{broken"
    lines[7] = json.dumps({"id": "empty", "text": " \u200b"})
    lines[70] = json.dumps({"id": "d0", "text": "The id of line 1 again, in another batch: it replaces it."})
    lines[71] = json.dumps({"id": "d72", "text": "The same id as the next line, in the same batch."})
    lines[99] = json.dumps(["not", "an", "object"])
    lines[120] = '{"text": "t", "score": NaN}'
    file = tmp_path / "lines.jsonl"
    file.write_text("\n".join(lines) + "\n\n", "utf-8")
    ran = semblance("index", str(file), "--collection", "lines", "--url", url)
    assert ran.returncode == 1, ran.stderr
    refused = ((4, "malformed_json"), (8, "empty_text"), (100, "invalid_value"), (121, "not_finite"))
    for line, code in refused:
        assert f"{file}, line {line}: {code}" in ran.stderr
    assert "146 documents stored in lines, 0 of them truncated" in ran.stderr
    assert "; lines refused: 4" in ran.stderr
    assert http.get("/collections/lines").json()["count"] == 144
    assert http.get("/collections/lines/documents/d72").json()["text"] == "Document number 72."
    assert http.get("/collections/lines/documents/d0").json()["text"].startswith("The id of line 1 again")
    assert api.ok("/search", {"query": "number 20", "collection": "lines", "filter": {"i": 20}})["results"][0]["hits"]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    file = tmp_path / "many.jsonl"
    text = "Number {} is a document that takes a while to encode. " * 5
    file.write_text("".join(json.dumps({"id": str(i), "text": text.format(*[i] * 5)}) + "\n" for i in range(600)))
    return file


@pytest.mark.parametrize(("suffix", "stored"), [(".csv.gz", 256), (".jsonl", 0)])
def test_index_resumes_after_the_service_was_killed(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, stored: int
) -> None:
    """Also if nothing was acknowledged: `stored` documents are on disk, at least, when it is killed."""
    if suffix == ".csv.gz":
        rows = [json.loads(line) for line in many.read_text().splitlines()]
        table = "\n".join(["id,text", *(f"{row['id']},{row['text']}" for row in rows)])
        many = tmp_path / "many.csv.gz"
        many.write_bytes(gzip.compress(table.encode()))
    monkeypatch.setattr(add, "RETRY_FOR_S", 600)  # a slow machine takes long to start the service again
    service = Service(tmp_path)
    url = service.start()

    def kill_and_start() -> None:
        with httpx2.Client(base_url=url, timeout=120) as http:
            until(lambda: http.get("/collections/c").json().get("count", -1) >= stored, "stored documents")
        service.kill()
        service.start()

    try:
        with ThreadPoolExecutor(1) as pool:
            killing = pool.submit(kill_and_start)
            ran = semblance("index", str(many), "--collection", "c", "--url", url)
            killing.result()
        assert ran.returncode == 0, ran.stderr
        assert "600 documents stored" in ran.stderr
        assert httpx2.get(f"{url}/collections/c", timeout=120).json()["count"] == 600
    finally:
        service.kill()


def test_index_creates_the_collection_again_if_the_answer_is_lost(url: str, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text('{"id": "a", "text": "A text."}\n', "utf-8")
    created = scripted_server.Reply(body=httpx2.get(f"{url}/collections/default", timeout=120).content)
    missing, lost = scripted_server.refusal(404, "unknown_collection"), scripted_server.Reply(cut_after=0)
    with scripted_server.ScriptedServer() as server:
        server.replies = [missing, lost, created, scripted_server.lines(scripted_server.stored(1, 1))]
        ran = semblance("index", str(file), "--collection", "c", "--url", server.url)
    assert ran.returncode == 0, ran.stderr
    assert [each.method for each in server.arrivals] == ["GET", "PUT", "PUT", "POST"]


def test_index_offline_requires_that_no_service_runs(many: Path, tmp_path: Path) -> None:
    home, few = tmp_path / "home", tmp_path / "few.jsonl"
    home.mkdir()
    few.write_text("".join(many.read_text().splitlines(keepends=True)[:300]))  # more than go into one batch
    ran = semblance("index", str(few), "--collection", "c", "--offline", "--home", str(home))
    assert ran.returncode == 0, ran.stderr
    assert "300 documents stored in c" in ran.stderr
    service = Service(home)
    try:
        url = service.start()
        with httpx2.Client(base_url=url, timeout=120) as http:
            assert http.get("/collections/c").json()["count"] == 300
            body = {"query": "number 77", "collection": "c", "k": 1}
            assert http.post("/search", json=body).json()["results"][0]["hits"]
        for arguments in (["index", str(few), "--collection", "c", "--offline"], ["index", "verify"]):
            refused = semblance(*arguments, "--home", str(home))
            assert refused.returncode == 1
            assert "another process serves the documents" in refused.stderr
    finally:
        service.stop()
    verified = semblance("index", "verify", "--home", str(home))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "No faults found." in verified.stdout


def test_verify_finds_faults_and_rebuild_repairs_the_index(tmp_path: Path) -> None:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    store.create("c", CollectionSettings("minilm", "space", 4, "cosine", "auto", "none"))
    unit = np.eye(4, dtype=np.float32)
    writes = [Write(Document(str(i), f"text {i}", {}), one_passage(unit[i])) for i in range(4)]
    store.upsert(store.collection("c"), writes)
    store.close()
    rebuilt = semblance("index", "rebuild", "--home", str(tmp_path))
    assert "c: 4 documents" in rebuilt.stdout
    assert "No faults found." in semblance("index", "verify", "--home", str(tmp_path)).stdout
    with sqlite3.connect(tmp_path / "documents.sqlite") as behind:  # without updating versions
        behind.execute("UPDATE vectors SET vector = ? WHERE id = '1'", [(unit[0] * 2).tobytes()])
        behind.execute("UPDATE vectors SET vector = ? WHERE id = '2'", [unit[3].tobytes()])
        behind.execute("DELETE FROM vectors WHERE id = '3'")
        behind.execute("UPDATE documents SET text = 'Text 0' WHERE id = '0'")
    found = semblance("index", "verify", "--home", str(tmp_path))
    assert found.returncode == 1
    for fault in (
        "c: '0' is damaged: its text or metadata",
        "c: '1' has a vector that is not of unit length",
        "c: '1' is not in the index as it is stored",
        "c: '2' is not in the index as it is stored",
        "c: '3' has no vector",
    ):
        assert fault in found.stdout
    assert semblance("index", "rebuild", "--collection", "c", "--home", str(tmp_path)).returncode == 0
    left = semblance("index", "verify", "--home", str(tmp_path)).stdout
    assert "'2' is not in the index" not in left, "rebuild repairs the index"
    assert "c: '3' has no vector" in left, "rebuild cannot restore a lost vector"
    with sqlite3.connect(tmp_path / "documents.sqlite") as behind:
        behind.execute("UPDATE vectors SET vector = ? WHERE id = '1'", [unit[0][:3].tobytes()])
        behind.execute("UPDATE collections SET version = version + 1")
        behind.execute("UPDATE documents SET version = (SELECT version FROM collections) WHERE id = '1'")
    short = semblance("index", "verify", "--home", str(tmp_path))
    assert "c: '1' has a vector of 3 numbers, not 4" in short.stdout, short.stderr
    unknown = semblance("index", "rebuild", "--collection", "nosuch", "--home", str(tmp_path))
    assert unknown.returncode == 1
    assert "there is no collection 'nosuch'" in unknown.stderr


def test_verify_reports_an_unreadable_database(tmp_path: Path) -> None:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    store.create("c", CollectionSettings("minilm", "space", 4, "cosine", "auto", "none"))
    store.close()
    with (tmp_path / "documents.sqlite").open("r+b") as file:
        file.seek(4096)
        file.write(b"\x5a" * 20_000)
    found = semblance("index", "verify", "--home", str(tmp_path))
    assert found.returncode == 1
    assert "is damaged" in found.stdout
    assert "Traceback" not in found.stderr
    elsewhere = semblance("index", "verify", "--home", str(tmp_path / "typo"))
    assert elsewhere.returncode == 1
    assert "there are no documents in" in elsewhere.stderr
    assert not (tmp_path / "typo").exists()


def test_index_reports_an_unreachable_service(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text('{"id": "1", "text": "x"}\n')
    ran = semblance("index", str(file), "--collection", "c", "--url", "http://127.0.0.1:9")
    assert ran.returncode == 1
    assert "is the service running there?" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_index_fills_an_existing_collection_with_other_settings(http: httpx2.Client, url: str, tmp_path: Path) -> None:
    http.delete("/collections/made")
    http.put("/collections/made", json={"tokens": "int8", "measure": "rcmd", "passages": "none"}).raise_for_status()
    file = tmp_path / "large.jsonl"
    texts = ["漢字" * 12_500, *["Plain text."] * 70, "word " * 90_000]  # the last exceeds the limit of the service
    file.write_text("\n".join(json.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts)), "utf-8")
    ran = semblance("index", str(file), "--collection", "made", "--url", url)
    assert "71 documents stored in made, 1 of them truncated" in ran.stderr
    assert f"{file}, line 72: text_too_long: text: " in ran.stderr
    assert http.get("/collections/made").json()["tokens"] == "int8"


def documents(http: httpx2.Client, collection: str) -> dict[str, tuple[str, object]]:
    """Text and metadata of all documents, by id."""
    listed = http.get(f"/collections/{collection}/documents", params={"limit": 100}).json()["documents"]
    return {each["id"]: (each["text"], each["metadata"]) for each in listed}


def test_index_reads_a_spreadsheet_with_typed_columns(api: Api, http: httpx2.Client, url: str, tmp_path: Path) -> None:
    http.delete("/collections/sheet")
    file = tmp_path / "sheet.csv"
    file.write_text(
        "number;subject;body;year;price;sold;zip\n"
        '1;Lamp;"It flickers, and\nhums.";2024;19.9;true;01067\n'
        "2;Chair;;2025;;false;10115\n"
        "3;;;2025;5;false;10115\n",
        "utf-8-sig",
    )
    fields = ("--id-field", "number", "--text-field", "subject", "--text-field", "body")
    ran = semblance("index", str(file), "--collection", "sheet", *fields, "--url", url)
    assert ran.returncode == 1
    assert f"{file}, line 5: empty_text: subject+body: it has no visible character\n" in ran.stderr
    assert documents(http, "sheet") == {
        "1": ("Lamp It flickers, and\nhums.", {"year": 2024, "price": 19.9, "sold": True, "zip": "01067"}),
        "2": ("Chair", {"year": 2025, "sold": False, "zip": "10115"}),
    }
    body = {"query": "chair", "collection": "sheet", "filter": {"year": {"lt": 2025}, "sold": True}}
    assert [hit["id"] for hit in api.ok("/search", body)["results"][0]["hits"]] == ["1"]


def test_index_reads_beir_parquet_and_rows_without_ids(http: httpx2.Client, url: str, tmp_path: Path) -> None:
    http.delete("/collections/kinds")
    row = {"_id": "d1", "title": "A title", "text": "and a text.", "metadata": {}}
    beir = write_json(tmp_path / "corpus.jsonl", row)
    plain = write(tmp_path / "plain.csv", "text,lang", "Ein Satz.,de", "A sentence.,en")
    table = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [7, 8], "text": ["seven", "eight"], "day": [date(2025, 1, 31), None]}), table)
    for file in (beir, plain, table, plain):
        ran = semblance("index", str(file), "--collection", "kinds", "--url", url)
        assert ran.returncode == 0, ran.stderr
    assert documents(http, "kinds") == {
        "d1": ("A title and a text.", {}),
        "plain.csv:2": ("Ein Satz.", {"lang": "de"}),
        "plain.csv:3": ("A sentence.", {"lang": "en"}),
        "7": ("seven", {"day": "2025-01-31"}),
        "8": ("eight", {}),
    }


def test_index_stores_nothing_of_a_malformed_table(http: httpx2.Client, url: str, tmp_path: Path) -> None:
    http.delete("/collections/none")
    for name, lines, message in (
        ("bad.csv", ["id,Text", "1,a"], "no column is named text; the columns are id, Text (did you mean Text?)"),
        ("bad.csv", ["id,text", "1,a", "2,b,c"], "line 3: 3 fields, but the first line names 2 columns"),
        ("bad.xlsx", [], "no format has the suffix '.xlsx'; pass --format with one of csv, jsonl, parquet, tsv"),
    ):
        ran = semblance("index", str(write(tmp_path / name, *lines)), "--collection", "none", "--url", url)
        assert ran.returncode == 1
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr
    assert http.get("/collections/none").status_code == 404


def test_index_of_parquet_without_pyarrow_names_the_extra(url: str, tmp_path: Path) -> None:
    write(tmp_path / "pyarrow.py", "raise ModuleNotFoundError('no', name='pyarrow')")
    table = write(tmp_path / "rows.parquet", "")
    options = ("--collection", "c", "--url", url)
    ran = semblance_process("index", str(table), *options, PYTHONPATH=str(tmp_path))
    assert ran.returncode == 1
    [line] = ran.stderr.splitlines()
    assert line.startswith("`semblance index add` needs pyarrow, which is not installed: install the extra train")
