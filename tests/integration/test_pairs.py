"""`semblance pairs` as a user runs it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import semblance
from tests.support.held_command import held
from tests.support.project import PROJECT
from tests.support.random_tweets import write_archive
from tests.support.running_service import SEMBLANCE
from tests.support.text_files import write, write_table

TEXTS = ("text_a", "text_b", "id_a", "id_b")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_archive(tmp_path_factory.mktemp("archive"), 8_000)


def test_evaluate_reads_the_sets_of_an_archive(archive: Path, tmp_path: Path) -> None:
    cut = archive / "cut.json.bz2"
    cut.write_bytes(next(archive.rglob("00.json.bz2")).read_bytes()[:40_000])
    out = tmp_path / "new" / "out"
    ran = semblance("pairs", "tweets", str(archive), "--out", str(out), "--queries", "30", "--seed", "7")
    assert ran.returncode == 0, ran.stderr
    about = json.loads((out / "about.json").read_text("utf-8"))
    assert about["seed"] == 7
    assert about["damaged"] == [str(cut)]
    assert f"truncated file, read up to the damage: {cut}" in ran.stdout
    assert about["lines"] == about["kept"] + sum(about["refused"].values())
    for name, count in about["pairs"].items():
        header, *rows = (out / f"{name}.tsv").read_text("utf-8").splitlines()
        assert tuple(header.split("\t")) == TEXTS
        assert len(rows) == count > 0
        assert re.search(rf"pairs: {name} +│ +{count:,} │", ran.stdout)
    assert sorted(path.name for path in out.parent.iterdir()) == ["out"]

    figures = tmp_path / "figures.json"
    evaluated = semblance(
        *("evaluate", "--sets", "dq,cq,dr,cr", "--data", str(out), "--measure", "set_jaccard"),
        *("--draws", "100", "--json", str(figures)),
    )
    assert evaluated.returncode == 0, evaluated.stderr
    outcomes = {each["set"]: each["n"] for each in json.loads(figures.read_text("utf-8"))["outcomes"]}
    assert outcomes == about["queries"]


def test_threads_give_a_ranking_that_evaluate_reads(tmp_path: Path) -> None:
    rows = [(2 * n, 2 * n + 1, f"the question number {n} of many", f"and the answer number {n}") for n in range(100)]
    file = write_table(tmp_path / "t.tsv", [("tweet_id1", "tweet_id2", "text1", "text2"), *rows])
    out = tmp_path / "out"
    ran = semblance("pairs", "threads", str(file), "--out", str(out), "--held-out", "40")
    assert ran.returncode == 0, ran.stderr
    assert "60 pairs, 40 queries" in ran.stderr
    rankings = f"ranking:{out}/ranking/threads.jsonl"
    evaluated = semblance("evaluate", "--sets", rankings, "--measure", "set_jaccard", "--draws", "100")
    assert evaluated.returncode == 0, evaluated.stderr


def test_documented_figures_of_spotifycares_are_reproduced(data: Path, tmp_path: Path) -> None:
    docs = (PROJECT / "docs" / "pairs.md").read_text("utf-8")
    [(command, shown)] = re.findall(r"```console\n\$ semblance (.*)\n((?:.*\n)*?)```", docs)
    ran = semblance(*command.replace("DATA", str(data)).replace("OUT", str(tmp_path / "out")).split())
    assert ran.returncode == 0, ran.stderr
    assert set(shown.splitlines()) <= set(ran.stdout.splitlines())


def test_empty_sets_are_reported(tmp_path: Path) -> None:
    file = write(tmp_path / "t.jsonl", '{"id": 1, "text": "the only tweet that there is"}', "{")
    out = tmp_path / "out"
    ran = semblance("pairs", "tweets", str(file), "--out", str(out))
    assert ran.returncode == 0, ran.stderr
    for what in ("queries of the ranking dq", "pairs: quotes", "pairs: co_replies"):
        assert re.search(rf"{what} +│ +none │", ran.stdout)
    assert [path.name for path in out.iterdir() if path.is_file()] == ["about.json"]


def test_failures_end_with_a_message_and_leave_no_files(tmp_path: Path) -> None:
    tweets = write(tmp_path / "t.jsonl", '{"id": 1, "text": "the only tweet that there is"}')
    full = write(tmp_path / "full" / "file", "mine").parent
    table = write(tmp_path / "bad.tsv", "id\tsaid")
    before = sorted(tmp_path.rglob("*"))
    for arguments, message in (
        ((str(tweets), "--out", str(full)), f"{full} already exists"),
        ((str(tweets), "--out", str(tweets)), "is a file"),
        ((str(full), "--out", str(tmp_path / "out")), f"{full} contains no files of tweets"),
        ((str(table), "--out", str(tmp_path / "out")), "bad.tsv, line 1: no column is named text"),
        ((str(tmp_path / "no"), "--out", str(tmp_path / "out")), "does not exist"),
        ((str(tweets), "--out", "/proc/out"), "/proc"),
    ):
        ran = semblance("pairs", "tweets", *arguments)
        assert ran.returncode != 0
        assert message in ran.stderr.replace("\n", "")
        assert "Traceback" not in ran.stderr
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_terminated_run_leaves_no_folder(archive: Path, tmp_path: Path, end: signal.Signals) -> None:
    out = tmp_path / "out"
    with held("semblance_lab.corpora.tables:Tables.create", "pairs", "tweets", archive, "--out", out) as command:
        assert list(tmp_path.glob(".out-*/scratch/tables.duckdb"))
        command.interrupt(end)
        assert command.process.returncode != 0
    assert not out.exists()
    assert end == signal.SIGKILL or not list(tmp_path.iterdir())


def test_full_disk_ends_with_a_message_and_leaves_no_files(archive: Path, tmp_path: Path) -> None:
    """A limit of 100 blocks per file makes writes fail as on a full disk."""
    command = f"{sys.executable} -m {SEMBLANCE} pairs tweets {archive} --out {tmp_path / 'out'}"
    ran = subprocess.run(["bash", "-c", f"ulimit -f 100; exec {command}"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "the tables cannot be created: " in ran.stderr
    assert "File too large" in ran.stderr.replace("\n", " ")
    assert "Traceback" not in ran.stderr
    assert not list(tmp_path.iterdir())
