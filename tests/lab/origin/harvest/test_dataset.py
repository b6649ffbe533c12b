"""Joined shards are the whole harvest, damage is reported, and splits do not overlap."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semblance.models.judgments.pairs import graded_pairs
from semblance_lab.origin.errors import BadHarvest
from semblance_lab.origin.harvest.dataset import COLUMNS, SPLITS, SplitShares, join_shards, write_splits
from semblance_lab.origin.harvest.harvest import HarvestPlan, PairScores, ShardId, harvest
from semblance_lab.origin.harvest.shard import ABOUT, Shard
from semblance_lab.origin.scoring.scoring import FORMS
from tests.lab.origin.harvest.test_harvest import flip, ignore_progress
from tests.lab.origin.small_harvest import WordCounts, small_corpus, small_source

PLAN = HarvestPlan(pairs=900, bundles_a_file=4)
CORPUS = small_corpus(documents=40)


def harvested(out: Path, *shards: str, plan: HarvestPlan = PLAN) -> Path:
    for shard in shards or ("1/1",):
        harvest(small_source(CORPUS), plan, ShardId.parse(shard), out, ignore_progress)
    return out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harvested(tmp_path_factory.mktemp("whole") / "out")


@pytest.fixture(scope="module")
def two_thirds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harvested(tmp_path_factory.mktemp("two") / "out", "1/3", "2/3")


@pytest.fixture(scope="module")
def another(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A harvest with another seed."""
    return harvested(tmp_path_factory.mktemp("another") / "out", plan=replace(PLAN, seed=1))


def table(file: Path) -> list[list[str]]:
    header, *lines = file.read_text("utf-8").splitlines()
    assert tuple(header.split("\t")) == COLUMNS
    return [line.split("\t") for line in lines]


def test_joined_shards_equal_an_unsharded_harvest(whole: Path, tmp_path: Path) -> None:
    one, other = harvested(tmp_path / "one", "3/3", "1/3"), harvested(tmp_path / "other", "2/3")
    joined, at_once = join_shards([other, one]), join_shards([whole])
    assert joined.pairs.to_pylist() == at_once.pairs.to_pylist()
    assert not joined.damaged
    assert not joined.missing
    rows = at_once.pairs.to_pylist()
    assert len({frozenset((row["number1"], row["number2"])) for row in rows}) == len(rows) > 0.8 * 60 * 15
    assert sorted({row["bundle"] for row in rows}) == list(range(60))


def test_a_pair_in_two_shards_is_kept_once(tmp_path: Path) -> None:
    few = small_corpus(documents=4, sentences=6)  # 24 bundles of 6 sentences: they share pairs
    plan = HarvestPlan(pairs=24 * 15)
    for shard in ("1/2", "2/2"):
        harvest(small_source(few), plan, ShardId.parse(shard), tmp_path / "two", ignore_progress)
    harvest(small_source(few), plan, ShardId(), tmp_path / "one", ignore_progress)
    two, one = join_shards([tmp_path / "two"]), join_shards([tmp_path / "one"])
    assert two.pairs.to_pylist() == one.pairs.to_pylist()
    assert two.dropped["in several bundles"] > 0 == one.dropped["in several bundles"]


def test_damaged_and_missing_files_are_reported_and_skipped(two_thirds: Path, tmp_path: Path) -> None:
    out = shutil.copytree(two_thirds, tmp_path / "out")
    every = join_shards([out]).pairs.to_pylist()
    cut, flipped, gone, *_ = sorted(out.glob("*/part-*.parquet"))
    cut.write_bytes(cut.read_bytes()[:-40])
    flipped.write_bytes(flip(flipped.read_bytes(), 200))
    gone.unlink()
    found = join_shards([out])
    changed = "is damaged: its bytes have changed since it was written"
    assert found.damaged == [f"{file} {changed}" for file in (cut, flipped)]
    assert found.missing == ["shard 3/3", f"{gone.parent}: 1 of 5 files"]
    lost = {bundle for file in range(3) for bundle in PLAN.files(ShardId(1, 3))[file]}
    rows = found.pairs.to_pylist()
    assert {row["bundle"] for row in rows} == {row["bundle"] for row in every} - lost
    left = [row for row in every if row["bundle"] not in lost]
    assert [row for row in rows if row in left] == left  # besides pairs of lost bundles that other bundles had
    (gone.parent / ABOUT).write_text("{")
    assert "is not a shard of a harvest: cannot read" in join_shards([out]).damaged[0]


@pytest.mark.parametrize(
    "corrupt",
    [
        lambda about: about.clear(),
        lambda about: about.pop("mixture"),
        lambda about: about.pop("bundles_a_file"),
        lambda about: about["mixture"].update(unknown=1),
        lambda about: about["mixture"].pop("near"),
        lambda about: about["mixture"].update(near="many"),
        lambda about: about["mixture"].update(near=-2),
        lambda about: about["shard"].pop("of"),
        lambda about: about["shard"].update(number=9),
        lambda about: about.update(shard=None),
        lambda about: about.update(pairs="900"),
        lambda about: about.update(bundles_a_file=0),
        lambda about: about.update(teacher=None),
    ],
)
def test_a_shard_with_broken_provenance_is_reported_and_skipped(
    two_thirds: Path, tmp_path: Path, corrupt: Callable[[dict[str, Any]], object]
) -> None:
    file = shutil.copytree(two_thirds, tmp_path / "out") / "shard-1-of-3" / ABOUT
    about = json.loads(file.read_text("utf-8"))
    corrupt(about)
    file.write_text(json.dumps(about), "utf-8")
    found = join_shards([tmp_path / "out"])
    [damage] = found.damaged
    assert damage.startswith(f"{file} is damaged, or of another version: ")
    assert found.missing == ["shard 1/3", "shard 3/3"]
    assert set(found.pairs["bundle"].to_pylist()) == set(range(1, 60, 3))
    with pytest.raises(BadHarvest, match="is damaged, or of another version"):
        join_shards([file.parent])


def test_strange_files_are_reported_and_skipped(whole: Path, another: Path, tmp_path: Path) -> None:
    out = shutil.copytree(whole, tmp_path / "out")
    [first, second] = (next(out.glob(f"*/part-00000{number}-*")) for number in (0, 1))
    [stranger] = another.glob("*/part-000000-*")
    first.unlink()
    shutil.copy(stranger, first.parent)
    shard = Shard(second.parent)
    other_columns = shard.read(second).drop_columns(["fallback"])
    second.unlink()
    shard.write(1, other_columns)
    strange, lacking = join_shards([out]).damaged
    assert strange.startswith(f"{first.parent / stranger.name} is of another harvest than")
    assert lacking.endswith("does not have the columns of a harvest")


def test_shards_of_different_harvests_are_refused_with_the_difference(
    whole: Path, another: Path, tmp_path: Path
) -> None:
    halves = harvested(tmp_path / "halves", "1/2")
    for folders, complaint in (
        ([whole, another], r"differ in seed: give one of them"),
        ([whole, halves], r"differ in shard\.of"),
        ([tmp_path], "no harvest in"),
    ):
        with pytest.raises(BadHarvest, match=complaint):
            join_shards(folders)
    for file in halves.glob("*/part-*"):
        file.unlink()
    with pytest.raises(BadHarvest, match=r"no pairs in .*halves"):
        join_shards([halves])


@pytest.mark.parametrize("seed", [0, 1])
def test_splits_share_no_bundle_and_no_sentence(whole: Path, tmp_path: Path, seed: int) -> None:
    joined = join_shards([whole])
    counts = write_splits(joined, "cosine", SplitShares(dev=0.05, test=0.1, seed=seed), tmp_path)
    tables = {name: table(tmp_path / f"{name}.tsv") for name in SPLITS}
    for columns in (slice(4, 5), slice(5, None), slice(0, 2)):  # bundles, numbers of sentences, their texts
        train, dev, test = ({each for row in tables[name] for each in row[columns]} for name in SPLITS)
        assert not train & dev
        assert not train & test
        assert not dev & test
    assert len({row[4] for row in tables["test"]}) == 6
    assert len({row[4] for row in tables["dev"]}) <= 3
    assert {name: counts[name] for name in SPLITS} == {name: len(rows) for name, rows in tables.items()}
    assert sum(counts.values()) == len(joined.pairs)
    assert counts["left out: a sentence of test"] > 0


def test_later_files_do_not_move_bundles(whole: Path, tmp_path: Path) -> None:
    assert np.bincount(SplitShares(seed=3).assign(1_000)).tolist() == [980, 10, 10]
    assert np.bincount(SplitShares().assign(20)).tolist() == [18, 1, 1]
    assert np.bincount(SplitShares(dev=0, test=0.5).assign(20)).tolist() == [10, 0, 10]
    some = harvested(tmp_path / "some", "2/3")
    held_out = {}
    for name, joined in (("whole", join_shards([whole])), ("some", join_shards([some]))):
        (tmp_path / name).mkdir(exist_ok=True)
        write_splits(joined, "cosine", SplitShares(dev=0.1, test=0.2), tmp_path / name)
        held_out[name] = {row[4] for row in table(tmp_path / name / "test.tsv")}
    assert held_out["some"] == {each for each in held_out["whole"] if int(each) % 3 == 1}


def test_the_score_has_the_given_form(whole: Path, tmp_path: Path) -> None:
    joined = join_shards([whole])
    found = {}
    for form in FORMS:
        (tmp_path / form).mkdir()
        write_splits(joined, form, SplitShares(), tmp_path / form)
        found[form] = graded_pairs(tmp_path / form / "train.tsv")
    left, right = found["cosine"].left[7], found["cosine"].right[7]
    [row] = [each for each in joined.pairs.to_pylist() if (each["sentence1"], each["sentence2"]) == (left, right)]
    for form in FORMS:
        assert found[form].left == found["cosine"].left
        assert found[form].gold[7] == pytest.approx(row[form], abs=1e-9)
    assert len({row[form] for form in FORMS}) == len(FORMS)


class Undecided(WordCounts):
    """A teacher whose scores of sentences with a dog are not finite."""

    def all_pairs(self, texts: Sequence[str]) -> PairScores:
        dogs = np.array(["dog" in text for text in texts])
        result = super().all_pairs(texts)
        centered = np.where(dogs[:, None] | dogs, math.nan, result.scores["centred"])
        return replace(result, scores={**result.scores, "centred": centered})


def test_pairs_without_finite_scores_are_left_out_and_counted(tmp_path: Path) -> None:
    harvest(small_source(teacher=Undecided()), HarvestPlan(pairs=300), ShardId(), tmp_path, ignore_progress)
    found = join_shards([tmp_path])
    assert found.dropped["without a finite score"] > 0
    assert len(found.pairs) > 0
    assert not any("dog" in row["sentence1"] + row["sentence2"] for row in found.pairs.to_pylist())


def test_a_split_without_training_pairs_is_refused(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(BadHarvest, match=r"dev and test must leave some for training: not 0\.5 and 0\.5"):
        SplitShares(dev=0.5, test=0.5)
    with pytest.raises(BadHarvest, match="no pair is left to train on"):
        write_splits(join_shards([whole]), "cosine", SplitShares(dev=0, test=0.999), tmp_path)
