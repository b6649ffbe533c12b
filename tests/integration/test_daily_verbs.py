"""The verbs of a day's work: against a running service, and without one on a home."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from semblance.service.cli.ask import asking
from semblance.service.documents.databases.lock import lock_home, name_address
from tests.clients.python.scripted_server import ScriptedServer, refusal
from tests.integration.conftest import Api
from tests.support.command_line import semblance
from tests.support.project import PROJECT
from tests.support.servers.word_models import WORDS, write_model
from tests.support.text_files import write_json

PAIR = ("my parcel never came", "my package has not arrived")
TERMINAL = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
DECIMALS = re.compile(r"[+-]?\d+\.\d+")
NOWHERE = "http://127.0.0.1:9"  # nothing listens at the port of `discard`


def printed(*arguments: str, **environment: str) -> str:
    """Standard output of a verb that succeeds."""
    ran = semblance(*arguments, **environment)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def said(ran: CompletedProcess[str]) -> str:
    """The one line of a verb that fails."""
    assert (ran.returncode, ran.stdout) == (1, ""), ran.stderr
    [line] = ran.stderr.splitlines()
    return line


def numbers(text: str) -> list[float]:
    return [float(each) for each in DECIMALS.findall(text)]


PAGE = (PROJECT / "docs" / "command-line.md").read_text("utf-8")
SHOWN = re.findall(r"```console\n\$ semblance (.*)\n((?:.*\n)*?)```", PAGE)


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command.split()[0] for command, _ in SHOWN])
def test_the_page_shows_what_the_verbs_print(url: str, command: str, shown: str) -> None:
    lines = printed(*shlex.split(command), "--url", url).splitlines()
    for line, expected in zip(lines, shown.splitlines(), strict=True):
        start = DECIMALS.sub("", expected)
        assert DECIMALS.sub("", line).startswith(start)
        pairs = zip(DECIMALS.findall(line), DECIMALS.findall(expected), strict=True)
        assert all(float(one) == pytest.approx(float(other), rel=0.01) for one, other in pairs)


def test_search_prints_hits_with_metadata_and_what_fits(api: Api, url: str) -> None:
    query, options = "my parcel never came", {"k": 2, "filter": {"category": "shipping"}}
    shown = printed(
        "search", query, "-k", "2", "--filter", '{"category": "shipping"}', "--explain", "--url", url
    ).splitlines()
    hits = api.hits(query, **options, explain=True)
    heads = [line for line in shown if re.match(r" \d  ", line)]
    assert heads == [f" {rank}  {hit['id']}  {hit['score']:.4f}" for rank, hit in enumerate(hits, 1)]
    assert sum("    category: shipping, question: " in line for line in shown) == 2
    assert "    parcel = parcel  +0." in "\n".join(shown)
    answer = json.loads(printed("search", query, "-k", "2", "--json", "--url", url))
    assert [hit["id"] for hit in answer["results"][0]["hits"]] == [hit["id"] for hit in api.hits(query, k=2)]


def test_search_says_which_field_has_the_code(api: Api, url: str) -> None:
    api.collection("coded")
    api.store("coded", {"id": "t", "text": "A lamp.", "metadata": {"order_no": "A-77002", "lang": "en"}})
    shown = printed("search", "a-77002", "-c", "coded", "--url", url)
    assert re.match(r" 1  t  -?0\.\d+, has the code as order_no\n", shown)
    assert "    order_no: A-77002, lang: en\n" in shown


def test_search_shows_parts_that_sum_to_each_score(url: str) -> None:
    shown = printed("search", "my parcel never came", "-k", "3", "--explain", "--url", url)
    for hit in re.split(r"^ \d  \S+  ", shown, flags=re.MULTILINE)[1:]:
        score, *parts = map(float, re.findall(r"^\d\.\d{4}$|[+-]\d\.\d{4}$", hit, re.MULTILINE))
        assert len(parts) >= 4
        assert sum(parts) == pytest.approx(score, abs=5e-4)


def test_search_guesses_the_names_that_were_meant(url: str) -> None:
    refused = said(semblance("search", "x", "-c", "defualt", "--url", url))
    assert refused == "there is no collection 'defualt': did you mean `default`?"
    ran = semblance("search", "zzqx parcel", "--filter", '{"Category": "shipping"}', "--url", url)
    [warning, nothing] = ran.stderr.splitlines()
    assert warning.endswith("in the metadata field 'Category': did you mean `category`?")
    assert nothing == "no document found"


def test_search_says_what_no_document_has(url: str) -> None:
    ran = semblance("search", "zzqx flurb", "-k", "1", "--url", url)
    assert ran.returncode == 0
    assert "no document answers this well" in ran.stderr
    assert "in no document: zzqx, flurb" in ran.stderr


def test_compare_scores_texts_in_order(api: Api, url: str) -> None:
    others = (PAIR[1], "It rains.")
    shown = printed("compare", PAIR[0], *others, "--measure", "rcmd", "--url", url).splitlines()
    scores = api.scores(*((PAIR[0], other) for other in others), measure="rcmd")
    assert shown == [f"{score:.4f}  {other}" for score, other in zip(scores, others, strict=True)]


def test_the_parts_of_an_explanation_sum_to_its_score(url: str) -> None:
    head, score, *parts = printed("explain", *PAIR, "--url", url).partition("0.6455 by rcmd_words")
    assert head.splitlines()[1:] == [f"a  {PAIR[0]}", f"b  {PAIR[1]}"]
    assert sum(numbers(parts[0])) == pytest.approx(float(score.split()[0]), abs=3e-4)
    by_id = printed("explain", PAIR[0], "--id", "shipping-001", "--url", url)
    assert "parcel = parcel" in by_id


def test_words_have_colors_on_terminals_alone(url: str) -> None:
    plain, colored = (printed("explain", *PAIR, "--url", url, **environment) for environment in ({}, TERMINAL))
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain
    assert len(re.findall(r"\x1b\[38;5;\d+;48;5;\d+m(\w+)", colored)) == 9, "each word"


def test_same_shows_what_the_verdict_is_made_of(url: str) -> None:
    verdict, *lines = printed(
        "same", "How do I turn on dark mode?", "How do I turn off dark mode?", "--url", url
    ).splitlines()
    assert verdict == "Perhaps different: on / off"
    parts = numbers("\n".join(lines))
    assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=0.03)
    nearest = printed("same", PAIR[0], "--collection", "default", "-k", "1", "--url", url)
    assert nearest.startswith("shipping-001  My delivery is late.")
    assert semblance("same", PAIR[0]).returncode == 2


def test_collections_and_documents_are_shown(api: Api, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(asking, "LOCAL_URL", url)
        assert "│ default " in printed("collections"), "a service at the default address is asked"
    listed = json.loads(printed("collections", "--json", "--url", url))["collections"]
    assert "default" in [each["name"] for each in listed]
    assert "count: 200\n" in printed("show", "default", "--url", url)
    assert "text: My delivery is late." in printed("show", "default", "shipping-001", "--url", url)
    shown = json.loads(printed("show", "default", "shipping-001", "--json", "--url", url))
    assert shown == api.get("/collections/default/documents/shipping-001")


def test_delete_asks_for_the_name_of_a_collection(api: Api, url: str) -> None:
    api.collection("doomed")
    api.store("doomed", *({"id": str(i), "text": "A lamp."} for i in range(4)))
    deleted = semblance("delete", "doomed", "0", "-", "--url", url, stdin="1\n\nnosuch\n")
    assert (deleted.returncode, deleted.stdout) == (1, "2 of 3 documents deleted from doomed\n")
    for answer, code, outcome in (
        ("", 1, "Aborted!"),
        ("doom\n", 1, "nothing was deleted: this is another name"),
        ("doomed\n", 0, "doomed deleted, with 2 documents"),
    ):
        ran = semblance("delete", "doomed", "--url", url, stdin=answer)
        assert (ran.returncode, outcome in ran.stdout + ran.stderr) == (code, True)
        assert "Type doomed to delete its 2 documents" in ran.stderr
    assert "there is no collection 'doomed'" in said(semblance("delete", "doomed", "--yes", "--url", url))


def test_texts_come_from_standard_input(url: str) -> None:
    lines = semblance("compare", PAIR[0], "It rains.", "-", "--url", url, stdin=f"{PAIR[1]}\n\nIt snows.\r\n").stdout
    assert [line.partition("  ")[2] for line in lines.splitlines()] == ["It rains.", PAIR[1], "It snows."]
    found = semblance("search", "-", "-k", "1", "--url", url, stdin=f"{PAIR[0]}\nrefund\n").stdout.splitlines()
    assert [line for line in found if not line.startswith(" ")] == [PAIR[0], "refund"]
    explained = semblance("explain", PAIR[0], "-", "--url", url, stdin=f"{PAIR[1]}\n").stdout
    assert explained == printed("explain", *PAIR, "--url", url)


def test_refusals_are_one_line(url: str) -> None:
    assert "there is no collection 'nosuch'" in said(semblance("search", "x", "--collection", "nosuch", "--url", url))
    assert "has no document 'nosuch'" in said(semblance("show", "default", "nosuch", "--url", url))
    assert "choose one of bag_jaccard" in said(semblance("compare", "a", "b", "--measure", "nosuch", "--url", url))
    assert "must begin with http" in said(semblance("collections", "--url", "localhost:8000"))
    with ScriptedServer() as server:
        server.replies = [refusal(401, "unauthorized")]
        wrong = semblance("collections", "--url", server.url, SEMBLANCE_CLIENT_KEY="smb_wrong")
    assert "set SEMBLANCE_CLIENT_KEY to a key of this service" in said(wrong)
    for text, example in (("{", '{"category": "shipping"}'), ("3", "category"), ("nr=A 1", '{"nr": "A 1"}')):
        ran = semblance("search", "x", "--filter", text, "--url", url)
        assert (ran.returncode, example in ran.stderr) == (2, True)
    assert semblance("collections", "--url", url, "--home", "/tmp").returncode == 2


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Settings of a home with a collection of words, while no service runs at the default address."""
    monkeypatch.setattr(asking, "LOCAL_URL", NOWHERE)
    settings = {
        "SEMBLANCE_MODELS": f"words={write_model(tmp_path / 'words.npz', 0)}",
        "SEMBLANCE_HOME": str(tmp_path / "home"),
        "SEMBLANCE_API_KEYS": "ops:read:" + 64 * "0",
    }
    file = write_json(tmp_path / "few.jsonl", *({"id": str(i), "text": WORDS[i]} for i in range(9)))
    added = semblance("index", str(file), "--collection", "c", **settings)
    assert added.returncode == 0, added.stderr
    assert f"{tmp_path / 'home'}: opened, since no service runs at" in added.stderr
    return settings


def test_without_a_service_the_home_is_opened(alone: dict[str, str]) -> None:
    hits = printed("search", WORDS[7], "-c", "c", "-k", "1", **alone)
    assert hits.startswith(" 1  7  1.0000\n")
    assert re.search(r"│ c +│ 9 +│ words │ ready │", printed("collections", **alone))
    assert "4 of 4 documents deleted from c" in printed("delete", "c", "0", "1", "2", "3", **alone)
    assert "c deleted, with 5 documents" in printed("delete", "c", "--yes", **alone)


def test_texts_are_compared_in_process(alone: dict[str, str]) -> None:
    same_word = printed("compare", WORDS[0], WORDS[0], **alone)
    assert same_word == f"1.0000  {WORDS[0]}\n"
    assert f"{WORDS[0]} = {WORDS[0]}  +1.0000" in printed("explain", WORDS[0], WORDS[0], **alone)


def test_the_service_on_a_home_is_asked_at_its_address(alone: dict[str, str], tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "few.jsonl"
    with ScriptedServer() as on_home, ScriptedServer() as named, ScriptedServer() as given:

        def assert_asked(server: ScriptedServer, *arguments: str, **settings: str) -> None:
            before = len(server.arrivals)
            for each in (on_home, named, given):
                each.replies = [refusal(401, "unauthorized")]
            assert "SEMBLANCE_CLIENT_KEY" in said(semblance(*arguments, **alone, **settings))
            assert len(server.arrivals) == before + 1

        with lock_home(home):
            name_address(home, on_home.url)
            for verb in (("collections",), ("index", str(file), "--collection", "c")):
                assert_asked(on_home, *verb)
                assert_asked(named, *verb, SEMBLANCE_URL=named.url)
                assert_asked(given, *verb, "--url", given.url, SEMBLANCE_URL=named.url)
            assert_asked(on_home, "collections", "--home", str(home), SEMBLANCE_URL=named.url)
        assert re.search(r"│ c +│ 9 +│ words │ ready │", printed("collections", **alone))


def test_a_locked_home_says_who_has_it(alone: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    with lock_home(home):
        for arguments in (("collections",), ("delete", "c", "0"), ("compare", "a", "b")):
            refused = said(semblance(*arguments, **alone))
            assert re.match(rf"no service runs at {NOWHERE}: another process serves .* \(process \d+, ", refused)
            assert refused.endswith("or name the address of that service with --url")
    missing = tmp_path / "none"
    unknown = said(semblance("collections", "--home", str(missing), **alone))
    assert unknown == f"{missing} cannot be opened: there are no documents in {missing}; set their folder with --home"
    assert not missing.exists()
