"""A harvest outlives the deaths of its processes, and becomes what a surrogate learns from."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.corpus.vocabulary import Vocabulary
from semblance.models.origin.errors import BadHarvest
from semblance.models.origin.harvest.harvest import Share, harvest
from semblance.models.origin.harvest.harvested import PARTS, gather
from semblance.models.origin.surrogate.start import Shape, write_scratch
from semblance.service.cli.main import app
from tests.integration.harvesting import CORPUS, PLAN, Slow, reap
from tests.models.origin.field import small_source
from tests.models.origin.test_harvest import flip
from tests.models.origin.untrained import MAX_TOKENS, write_untrained
from tests.support.command_line import semblance
from tests.support.dying import DEAD, Death, in_a_process
from tests.support.written import write


def pairs(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = gather([out]).pairs.to_pylist()
    return rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    reap(out)
    return out


@contextmanager
def harvesting(out: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that takes its time over all shards in one, once it has written two files."""
    command = [sys.executable, "-m", "tests.integration.harvesting", str(out), "1/1", "0.02"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while len(list(out.glob("*/part-*.parquet"))) < 2:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline
            time.sleep(0.005)
        try:
            yield process
        finally:
            process.kill()


def test_whatever_step_it_dies_at_no_pair_is_lost_or_written_twice(whole: Path, tmp_path: Path) -> None:
    """The power fails at every n-th step: files that were not brought to disk are cut in half."""
    shard = tmp_path / "shard-1-of-1"
    shard.mkdir()
    for step in count(1):

        def work(step: int = step) -> None:
            Death(shard, step, loses_unsynced=True).take_over()
            reap(tmp_path)

        status = in_a_process(work)
        assert status in (0, DEAD)
        if status == 0:
            break
    assert step > 10
    assert pairs(tmp_path) == pairs(whole)
    assert len(list(shard.glob("part-*.parquet"))) == len(PLAN.files(Share()))


def test_a_process_that_finds_another_one_at_work_says_so(tmp_path: Path) -> None:
    with harvesting(tmp_path), pytest.raises(BadHarvest, match="another process is at work in"):
        reap(tmp_path)


def test_a_full_disk_loses_nothing_that_was_written(whole: Path, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(BadHarvest, match=r"cannot be written \(.*what was harvested before is kept"):
            harvest(
                small_source(CORPUS, Slow()),
                PLAN,
                Share(),
                tmp_path,
                lambda at: resource.setrlimit(resource.RLIMIT_FSIZE, (100 if at.bundles > 9 else soft, hard)),
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(list(tmp_path.glob("*/part-*.parquet"))) == 2
    assert reap(tmp_path).found > 0
    assert pairs(tmp_path) == pairs(whole)


def here(*arguments: str) -> Result:
    """`semblance ARGUMENTS`, in this process."""
    ran = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert ran.exit_code == 0, ran.output
    return ran


@pytest.mark.filterwarnings("ignore::FutureWarning:transformers", "ignore::DeprecationWarning")
def test_shards_become_parts_that_a_surrogate_learns_from(whole: Path, tmp_path: Path) -> None:
    for share in ("1/3", "2/3", "3/3"):
        reap(tmp_path / "three", share)
    for name, folder in (("one", whole), ("three", tmp_path / "three")):
        ran = here("pairs", "harvest", str(folder), "--out", str(tmp_path / name / "out"), "--test", "0.3")
    out = tmp_path / "three" / "out"
    for part in PARTS:
        assert (out / f"{part}.tsv").read_bytes() == (tmp_path / "one" / "out" / f"{part}.tsv").read_bytes()
        rows = len((out / f"{part}.tsv").read_text("utf-8").splitlines()) - 1
        assert re.search(rf"│ {part} +│ +{rows:,} │", ran.stdout), ran.stdout
    about = json.loads((out / "about.json").read_text("utf-8"))
    assert about["harvest"]["teacher"] == {"size": 100, "corpus": "lines"}

    Vocabulary.train(CORPUS.lines, 128).save(tmp_path / "vocabulary")
    write_scratch(tmp_path / "vocabulary", Shape(32, 1, 2, 32), tmp_path / "scratch")
    config = write(
        *(tmp_path / "surrogate.yaml", f"model: {tmp_path / 'scratch'}", f"dev: ['pairs:{out / 'dev.tsv'}']"),
        *("learning_rate: 2.0e-3", "check_every: 20"),
    )
    surrogate, figures = tmp_path / "surrogate", tmp_path / "figures.json"
    here("train", "surrogate", "--rows", str(out / "train.tsv"), "--config", str(config), "--out", str(surrogate))
    ran = here(
        *("evaluate", "--model", str(surrogate), "--against", str(tmp_path / "scratch"), "--measure", "cosine"),
        *("--sets", f"pairs:{out / 'test.tsv'}", "--json", str(figures)),
    )
    [outcome] = json.loads(figures.read_text("utf-8"))["outcomes"]
    bundles = {row.split("\t")[4] for row in (out / "test.tsv").read_text("utf-8").splitlines()[1:]}
    assert outcome["groups"] == len(bundles) == 18
    assert f"{outcome['n']} in 18 groups" in ran.stdout
    assert outcome["against"]["low"] > 0, "it agrees no better with the teacher than before"


def test_damage_and_what_is_missing_are_reported_and_what_cannot_be_joined_is_refused(tmp_path: Path) -> None:
    reap(tmp_path / "in", "1/3")
    damaged, *_ = sorted(tmp_path.glob("in/*/part-*.parquet"))
    damaged.write_bytes(flip(damaged.read_bytes(), 200))
    ran = semblance("pairs", "harvest", str(tmp_path / "in"), "--out", str(tmp_path / "out"))
    assert ran.returncode == 0, ran.stderr
    assert f"skipped: {damaged} is damaged: its bytes are not those that were written" in ran.stderr
    assert "missing: shard 3/3" in ran.stderr
    assert re.search(r"│ damaged files +│ +1 │", ran.stdout)
    about = json.loads((tmp_path / "out" / "about.json").read_text("utf-8"))
    assert len(about["damaged"]) == 1
    for folder, out, said in (("out", "other", "there is no harvest in"), ("in", "out", "exists already")):
        refused = semblance("pairs", "harvest", str(tmp_path / folder), "--out", str(tmp_path / out))
        assert refused.returncode == 1
        assert said in refused.stderr
        assert "Traceback" not in refused.stderr
    assert not (tmp_path / "other").exists()


def test_sentences_that_the_models_read_in_part_are_not_drawn_and_those_without_shared_bigrams_are_counted(
    tmp_path: Path,
) -> None:
    origin, out = write_untrained(tmp_path / "origin"), tmp_path / "out"
    ran = here("harvest", str(origin), "--out", str(out), "--pairs", "450", "--size", "4")
    lengths = TokenTable.open(origin / "tokens").lengths
    assert lengths.max() == MAX_TOKENS, "none is cut"
    found = pairs(out)
    assert max(lengths[row[name]] for row in found for name in ("number1", "number2")) < MAX_TOKENS
    fallback = sum(row["fallback"] for row in found)
    assert ("of the pairs have a sentence that shares no bigram" in ran.output) == (fallback > 0)


def test_what_cannot_be_harvested_or_started_from_is_said_and_nothing_is_left_behind(tmp_path: Path) -> None:
    folder, out = tmp_path / "origin", tmp_path / "out"
    folder.mkdir()
    Vocabulary.train(CORPUS.lines, 128).save(tmp_path / "known" / "vocabulary")
    for arguments, said in (
        (("harvest", str(folder), "--pairs", "5"), "holds no corpus: make it by `semblance origin corpus`"),
        (("harvest", str(folder), "--pairs", "5", "--shard", "4/3"), "a shard is written i/n, with i from 1 to n"),
        (("origin", "start", str(folder), "--by", "scratch"), "vocabulary"),
        (("origin", "start", str(tmp_path / "known"), "--by", "static"), "tokens"),
        (("origin", "start", str(tmp_path / "known"), "--by", "scratch", "--heads", "3"), "--heads and --dim: 3 heads"),
    ):
        ran = CliRunner().invoke(app, [*arguments, "--out", str(out)])
        assert ran.exit_code == (2 if "--heads" in arguments else 1), ran.output  # as other options that will not do
        assert said in ran.output.replace("\n", " ")
        assert not out.exists()
    started = here("origin", "start", str(tmp_path / "known"), "--by", "scratch", "--out", str(out), "--dim", "32")
    assert "113 pieces, 3 layers, random weights" in started.output
    assert (out / "modules.json").exists()
