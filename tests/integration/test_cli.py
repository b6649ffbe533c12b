"""The command line against a running service and an embedded store."""

from __future__ import annotations

import gzip
import json
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
import pytest

from semblance.service.cli.index import add
from semblance.service.cli.index.rows import DocumentRows
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.ports.documents import CollectionSettings, Document, Write
from tests.clients.python import scripted_server
from tests.integration.conftest import Api, served
from tests.support.command_line import semblance, semblance_process
from tests.support.servers.word_models import WORDS, write_model
from tests.support.text_files import write, write_json
from tests.support.vectors import one_passage


def failed(*arguments: str, **environment: str) -> str:
    """Standard error of a command that fails: messages, and no traceback."""
    ran = semblance(*arguments, **environment)
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    return ran.stderr


def test_models_lists_the_models_to_serve() -> None:
    ran = semblance("models")
    assert ran.returncode == 0
    assert "minilm" in ran.stdout
    assert "256" in ran.stdout
    assert ran.stdout.count(" semblance_assets/model ") == 4, "the path above it would take three lines of 80 columns"


def test_export_writes_a_folder_once(small: Path, tmp_path: Path) -> None:
    written = tmp_path / "written"
    ran = semblance("export", "--model", str(small), "--out", str(written))
    size = sum(file.stat().st_size for file in written.rglob("*") if file.is_file())
    assert (ran.returncode, ran.stderr) == (0, f"{written}: {size:,} bytes\n")
    assert "already exists" in failed("export", "--model", str(small), "--out", str(written))
    other = tmp_path / "other"
    assert "cannot hold the option pooling" in failed("export", "--model", f"{small}?pooling=max", "--out", str(other))
    assert sorted(tmp_path.iterdir()) == [written]


def test_errors_name_the_invalid_setting(tmp_path: Path) -> None:
    for environment, message in (
        ({"SEMBLANCE_MODELS": "nosuch"}, "SEMBLANCE_MODELS"),
        ({"SEMBLANCE_MODELS": f"mine={tmp_path / 'no'}"}, "no such file or folder"),
        ({"SEMBLANCE_MAX_KK": "3"}, "SEMBLANCE_MAX_KK"),
        ({"SEMBLANCE_PORT": "x"}, "SEMBLANCE_PORT"),
    ):
        assert message in failed("models", **environment)
    ran = semblance_process("serve", "--home", str(tmp_path), SEMBLANCE_DEVICE="cuda:77")
    assert ran.returncode == 1
    assert "SEMBLANCE_DEVICE" in ran.stderr
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
    file = write(tmp_path / "lines.jsonl", *lines, "")
    ran = semblance("index", str(file), "--collection", "lines", "--url", url)
    assert ran.returncode == 1, ran.stderr
    refused = ((4, "malformed_json"), (8, "empty_text"), (100, "invalid_value"), (121, "not_finite"))
    for line, code in refused:
        assert f"{file}, line {line}: {code}" in ran.stderr
    assert "146 documents stored in lines, 0 of them truncated" in ran.stderr
    reasons = "malformed_json 1, empty_text 1, invalid_value 1, not_finite 1"
    assert f"; lines refused: 4 ({reasons}); lines with an id that came before: 2" in ran.stderr
    for line, doc_id, former in ((71, "d0", 1), (73, "d72", 72)):
        assert (
            f"{file}, line {line}: warning: repeated_id: '{doc_id}' is also that of line {former}; the last"
            in ran.stderr
        )
    assert api.get("/collections/lines")["count"] == 144
    assert api.get("/collections/lines/documents/d72")["text"] == "Document number 72."
    assert api.get("/collections/lines/documents/d0")["text"].startswith("The id of line 1 again")
    assert api.hits("number 20", collection="lines", filter={"i": 20})


def test_index_reads_the_export_of_a_spreadsheet(api: Api, url: str, tmp_path: Path) -> None:
    file = tmp_path / "Export.CSV"
    file.write_bytes(b'\xef\xbb\xbf;id;text;;\r\n1;a;"Two\r\nlines";;\r\n2;b;"One\rtwo";\r\n3;a;Three;x\r\n')
    ran = semblance("index", str(file), "--collection", "export", "--url", url)
    assert ran.returncode == 0, ran.stderr
    assert f"{file}: warning: columns without a name are left out: 1, 4" in ran.stderr
    assert f"{file}, line 5: warning: repeated_id: 'a' is also that of line 2; the last" in ran.stderr
    assert api.get("/collections/export/documents/b")["text"] == "One\rtwo"
    document = api.get("/collections/export/documents/a")
    assert (document["text"], document["metadata"]) == ("Three", {})


def test_index_names_documents_of_files_that_left_the_folder(url: str, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    index = ("index", str(folder), "--collection", "left", "--url", url)
    for name in ("a.md", "b.md", "sub/c.md"):
        write(folder / name, f"# Note {name}", "It rains.")
    assert "no longer" not in semblance(*index).stderr
    assert "no longer" not in semblance(*index).stderr
    (folder / "sub" / "c.md").unlink()
    (folder / "a.md").unlink()
    again = semblance(*index)
    assert again.returncode == 0
    said = f"{folder}: no longer has the files of stored documents: 2 (a.md, sub/c.md); if they are of this folder, "
    assert f"{said}`semblance delete left ID ...` deletes them" in again.stderr


def test_index_says_why_rows_have_no_id(api: Api, url: str, tmp_path: Path) -> None:
    rows = ("Nr;Nachricht", "1000;Wo ist mein Paket?", " ; ", ";", "1000;Die Lampe flackert immer.")
    ran = semblance("index", str(file := write(tmp_path / "messages.csv", *rows)), "--collection", "nr", "--url", url)
    assert ran.returncode == 0, ran.stderr
    assert "text: Nachricht; id: line number, because Nr repeats (1000)" in ran.stderr
    assert f"{file}: left out: rows without a value 2" in ran.stderr
    assert api.get("/collections/nr/documents/messages.csv:5")["metadata"] == {"Nr": 1000}


@pytest.mark.parametrize(("suffix", "stored"), [(".csv.gz", 300), (".jsonl", 0)])
def test_index_resumes_after_the_service_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, stored: int
) -> None:
    """Also if nothing was acknowledged: the service is killed when `stored` of 600 rows have been read."""
    file = tmp_path / f"many{suffix}"
    if suffix == ".csv.gz":
        file.write_bytes(gzip.compress("\n".join(["id,text", *(f"{i},{WORDS[i % 48]}" for i in range(600))]).encode()))
    else:
        write_json(file, *({"id": str(i), "text": WORDS[i % 48]} for i in range(600)))
    monkeypatch.setattr(add, "RETRY_FOR_S", 600)  # a slow machine takes long to start the service again
    with served(tmp_path, models=f"words={write_model(tmp_path / 'words.npz', 0)}") as (service, api):
        read, restart = DocumentRows.__iter__, threading.Thread(target=service.start)

        def interrupted(rows: DocumentRows) -> Iterator[bytes]:
            for number, line in enumerate(read(rows)):
                if number == stored:
                    service.kill()
                    restart.start()
                yield line

        monkeypatch.setattr(DocumentRows, "__iter__", interrupted)
        ran = semblance("index", str(file), "--collection", "c", "--url", service.url)
        restart.join()
        assert ran.returncode == 0, ran.stderr
        assert "600 documents stored" in ran.stderr
        assert api.get("/collections/c")["count"] == 600


def test_index_creates_the_collection_again_if_the_answer_is_lost(api: Api, tmp_path: Path) -> None:
    file = write_json(tmp_path / "one.jsonl", {"id": "a", "text": "A text."})
    created = scripted_server.Reply(body=api.http.get("/collections/default").content)
    missing, lost = scripted_server.refusal(404, "unknown_collection"), scripted_server.Reply(cut_after=0)
    with scripted_server.ScriptedServer() as server:
        server.replies = [missing, lost, created, scripted_server.lines(scripted_server.stored(1, 1))]
        ran = semblance("index", str(file), "--collection", "c", "--url", server.url)
    assert ran.returncode == 0, ran.stderr
    assert [each.method for each in server.arrivals] == ["GET", "PUT", "PUT", "POST"]


def test_index_opens_a_home_or_asks_its_service(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    models = f"words={write_model(tmp_path / 'words.npz', 0)}"
    rows = ({"id": str(i), "text": WORDS[i % 48]} for i in range(300))  # more than go into one batch
    add_few = ("index", str(write_json(tmp_path / "few.jsonl", *rows)), "--collection", "c")
    ran = semblance(*add_few, "--home", str(home), SEMBLANCE_MODELS=models)
    assert ran.returncode == 0, ran.stderr
    assert "300 documents stored in c" in ran.stderr
    with served(home, models=models) as (service, api):
        assert api.get("/collections/c")["count"] == 300
        assert api.hits(WORDS[7], collection="c", k=1)[0]["text"] == WORDS[7]
        refused = failed("index", "verify", "--home", str(home), SEMBLANCE_MODELS=models)
        assert f"another process serves the documents in {home}, already running at {service.url} (" in refused
        version = api.get("/collections/c")["version"]
        one = write_json(tmp_path / "one.jsonl", {"id": "new", "text": WORDS[3]})
        assert semblance("index", str(one), "--collection", "c", "--home", str(home)).returncode == 0
        assert api.get("/collections/c")["version"] != version
        assert "words" in semblance("collections", "--home", str(home)).stdout
    verified = semblance("index", "verify", "--home", str(home))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "No faults found." in verified.stdout


def test_verify_finds_faults_and_rebuild_repairs_the_index(tmp_path: Path) -> None:
    def run(verb: str, *options: str) -> str:
        return semblance("index", verb, *options, "--home", str(tmp_path)).stdout

    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    store.create("c", CollectionSettings("minilm", "space", 4, "cosine", "auto", "none"))
    unit = np.eye(4, dtype=np.float32)
    writes = [Write(Document(str(i), f"text {i}", {}), one_passage(unit[i])) for i in range(4)]
    store.upsert(store.collection("c"), writes)
    store.close()
    assert "c: 4 documents" in run("rebuild")
    assert "No faults found." in run("verify")
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
    run("rebuild", "--collection", "c")
    left = run("verify")
    assert "'2' is not in the index" not in left, "rebuild repairs the index"
    assert "c: '3' has no vector" in left, "rebuild cannot restore a lost vector"
    with sqlite3.connect(tmp_path / "documents.sqlite") as behind:
        behind.execute("UPDATE vectors SET vector = ? WHERE id = '1'", [unit[0][:3].tobytes()])
        behind.execute("UPDATE collections SET version = version + 1")
        behind.execute("UPDATE documents SET version = (SELECT version FROM collections) WHERE id = '1'")
    assert "c: '1' has a vector of 3 numbers, not 4" in run("verify")
    unknown = failed("index", "rebuild", "--collection", "nosuch", "--home", str(tmp_path))
    assert "there is no collection 'nosuch'" in unknown


def test_verify_reports_an_unreadable_database(tmp_path: Path) -> None:
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    store.create("c", CollectionSettings("minilm", "space", 4, "cosine", "auto", "none"))
    store.close()
    with (tmp_path / "documents.sqlite").open("r+b") as file:
        file.seek(4096)
        file.write(b"\x5a" * 20_000)
    found = semblance("index", "verify", "--home", str(tmp_path))
    assert (found.returncode, "is damaged" in found.stdout, "Traceback" in found.stderr) == (1, True, False)
    assert "to another folder, then\nrestore a backup: semblance restore FOLDER (docs/recovery.md)" in found.stdout
    assert "there are no documents in" in failed("index", "verify", "--home", str(tmp_path / "typo"))
    assert not (tmp_path / "typo").exists()


def test_index_reports_an_unreachable_service(tmp_path: Path) -> None:
    file = write_json(tmp_path / "one.jsonl", {"id": "1", "text": "x"})
    said = failed("index", str(file), "--collection", "c", "--url", "http://127.0.0.1:9")
    assert "is the service running there? Name its address with --url" in said


def test_index_fills_an_existing_collection_with_other_settings(api: Api, url: str, tmp_path: Path) -> None:
    api.collection("made", tokens="int8", measure="rcmd", passages="none")
    texts = ["漢字" * 12_500, *["Plain text."] * 70, "word " * 90_000]  # the last exceeds the limit of the service
    file = write_json(tmp_path / "large.jsonl", *({"id": str(i), "text": text} for i, text in enumerate(texts)))
    ran = semblance("index", str(file), "--collection", "made", "--url", url)
    assert "71 documents stored in made, 1 of them truncated" in ran.stderr
    assert f"{file}, line 72: text_too_long: text: " in ran.stderr
    assert api.get("/collections/made")["tokens"] == "int8"


def test_index_reads_a_spreadsheet_with_typed_columns(api: Api, http: httpx2.Client, url: str, tmp_path: Path) -> None:
    http.delete("/collections/sheet")
    file = tmp_path / "sheet.csv"
    file.write_text(
        "number;subject;body;year;price;sold;zip\n"
        '1;Lamp;"It flickers, and\nhums.";2024;19.9;true;01067\n'
        "2;Chair;;2025;;false;10115\n"
        "3;;;2025;5;false;10115\n"
        "4;Завтра;в городе ожидается сильный дождь.;2025;5;false;10115\n"
        "5;Кошка;спит.;2025;5;false;10115\n",
        "utf-8-sig",
    )
    fields = ("--id-field", "number", "--text-field", "subject", "--text-field", "body")
    said = failed("index", str(file), "--collection", "sheet", *fields, "--url", url)
    assert f"{file}, line 5: empty_text: subject+body: it has no visible character\n" in said
    assert f"{file}, lines 6, 7: warning: unread_text: " in said
    api.ok("/collections/sheet/delete", {"filter": {"price": 5}})
    listed = api.get("/collections/sheet/documents")["documents"]
    assert {each["id"]: (each["text"], each["metadata"]) for each in listed} == {
        "1": ("Lamp It flickers, and\nhums.", {"year": 2024, "price": 19.9, "sold": True, "zip": "01067"}),
        "2": ("Chair", {"year": 2025, "sold": False, "zip": "10115"}),
    }
    (tmp_path / "sheet.csv").write_text("number,Body\n5,a\n", "utf-8")
    assert "did you mean Body?" in failed(
        "index", str(file), "--collection", "sheet", "--text-field", "body", "--url", url
    )
    hits = api.hits("chair", collection="sheet", filter={"year": {"lt": 2025}, "sold": True})
    assert [hit["id"] for hit in hits] == ["1"]
