"""A harvest survives crashes of its processes, and its shards are joined."""

from __future__ import annotations

import json
import re
import resource
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from semblance.service.cli.main import app
from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary
from semblance_lab.origin.errors import BadHarvest
from semblance_lab.origin.harvest.dataset import SPLITS, join_shards
from semblance_lab.origin.harvest.harvest import HarvestPlan, HarvestProgress, ShardId, harvest
from tests.lab.origin.harvest.test_harvest import flip
from tests.lab.origin.small_harvest import small_corpus, small_source
from tests.lab.origin.untrained_origin import MAX_TOKENS, write_untrained
from tests.support.command_line import semblance
from tests.support.crash_point import CRASHED, CrashPoint, run_in_fork

PLAN = HarvestPlan(pairs=900, bundles_a_file=4)
CORPUS = small_corpus(documents=40)


def reap(out: Path, shard: str = "1/1", plan: HarvestPlan = PLAN) -> HarvestProgress:
    return harvest(small_source(CORPUS), plan, ShardId.parse(shard), out, lambda _: None)


def pairs(out: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = join_shards([out]).pairs.to_pylist()
    return rows


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "out"
    reap(out)
    return out


def test_a_crash_at_any_step_loses_and_repeats_no_pair(tmp_path: Path) -> None:
    """A power failure at every n-th step truncates files that were not flushed to disk."""
    plan = HarvestPlan(pairs=300, bundles_a_file=4)
    whole, out = tmp_path / "whole", tmp_path / "out"
    reap(whole, plan=plan)
    shard = out / "shard-1-of-1"
    shard.mkdir(parents=True)
    for step in count(1):

        def work(step: int = step) -> None:
            CrashPoint(shard, step, loses_unsynced=True).install()
            reap(out, plan=plan)

        status = run_in_fork(work)
        assert status in (0, CRASHED)
        if status == 0:
            break
    assert step > 10
    assert pairs(out) == pairs(whole)
    assert len(list(shard.glob("part-*.parquet"))) == len(plan.files(ShardId()))


def test_a_full_disk_loses_nothing_that_was_written(whole: Path, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(BadHarvest, match=r"cannot be written \(.*pairs harvested before are kept"):
            harvest(
                small_source(CORPUS),
                PLAN,
                ShardId(),
                tmp_path,
                lambda at: resource.setrlimit(resource.RLIMIT_FSIZE, (100 if at.bundles > 9 else soft, hard)),
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(list(tmp_path.glob("*/part-*.parquet"))) == 2
    assert reap(tmp_path).resumed_pairs > 0
    assert pairs(tmp_path) == pairs(whole)


def here(*arguments: str) -> Result:
    """Run `semblance ARGUMENTS` in this process."""
    ran = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert ran.exit_code == 0, ran.output
    return ran


def test_joined_shards_equal_one_harvest(whole: Path, tmp_path: Path) -> None:
    for share in ("1/3", "2/3", "3/3"):
        reap(tmp_path / "three", share)
    for name, folder in (("one", whole), ("three", tmp_path / "three")):
        ran = here("pairs", "harvest", str(folder), "--out", str(tmp_path / name / "out"), "--test", "0.3")
    out = tmp_path / "three" / "out"
    for part in SPLITS:
        assert (out / f"{part}.tsv").read_bytes() == (tmp_path / "one" / "out" / f"{part}.tsv").read_bytes()
        rows = len((out / f"{part}.tsv").read_text("utf-8").splitlines()) - 1
        assert re.search(rf"│ {part} +│ +{rows:,} │", ran.stdout), ran.stdout
    about = json.loads((out / "about.json").read_text("utf-8"))
    assert about["harvest"]["teacher"] == {"size": 100, "corpus": "lines"}


def test_damage_is_reported_and_invalid_joins_are_refused(tmp_path: Path) -> None:
    reap(tmp_path / "in", "1/3")
    damaged, *_ = sorted(tmp_path.glob("in/*/part-*.parquet"))
    damaged.write_bytes(flip(damaged.read_bytes(), 200))
    ran = semblance("pairs", "harvest", str(tmp_path / "in"), "--out", str(tmp_path / "out"))
    assert ran.returncode == 0, ran.stderr
    assert f"skipped: {damaged} is damaged: its bytes have changed since it was written" in ran.stderr
    assert "missing: shard 3/3" in ran.stderr
    assert re.search(r"│ damaged files +│ +1 │", ran.stdout)
    for folder, out, message in (("out", "other", "no harvest in"), ("in", "out", "already exists")):
        refused = semblance("pairs", "harvest", str(tmp_path / folder), "--out", str(tmp_path / out))
        assert (refused.returncode, message in refused.stderr, "Traceback" in refused.stderr) == (1, True, False)
    assert not (tmp_path / "other").exists()


def test_truncated_sentences_are_not_sampled_and_fallbacks_are_reported(tmp_path: Path) -> None:
    origin, out = write_untrained(tmp_path / "origin"), tmp_path / "out"
    ran = here("harvest", str(origin), "--out", str(out), "--pairs", "450", "--size", "4")
    lengths = TokenTable.open(origin / "tokens").lengths
    assert lengths.max() == MAX_TOKENS, "none is truncated"
    found = pairs(out)
    assert max(lengths[row[name]] for row in found for name in ("number1", "number2")) < MAX_TOKENS
    fallback = sum(row["fallback"] for row in found)
    assert ("of the pairs have a sentence that shares no bigram" in ran.output) == (fallback > 0)


def test_errors_are_reported_and_leave_no_files(tmp_path: Path) -> None:
    folder, out = tmp_path / "origin", tmp_path / "out"
    folder.mkdir()
    Vocabulary.train(CORPUS.lines, 128).save(tmp_path / "known" / "vocabulary")
    for arguments, message in (
        (("harvest", str(folder), "--pairs", "5"), "contains no corpus; run `semblance origin corpus`"),
        (("harvest", str(folder), "--pairs", "5", "--shard", "4/3"), "a shard is written i/n, with i from 1 to n"),
        (("origin", "start", str(folder), "--by", "scratch"), "vocabulary"),
        (("origin", "start", str(tmp_path / "known"), "--by", "static"), "tokens"),
        (("origin", "start", str(tmp_path / "known"), "--by", "scratch", "--heads", "3"), "--heads and --dim: 3 heads"),
    ):
        ran = CliRunner().invoke(app, [*arguments, "--out", str(out)])
        assert ran.exit_code == (2 if "--heads" in arguments else 1), ran.output  # as for other invalid options
        assert message in ran.output.replace("\n", " ")
        assert not out.exists()
    started = here("origin", "start", str(tmp_path / "known"), "--by", "scratch", "--out", str(out), "--dim", "32")
    assert "vocabulary of 113, 3 layers, random weights" in started.output
    assert (out / "modules.json").exists()
