"""Shards together are the harvest, damage is named, and nothing that is tested on is trained on."""

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

from semblance.models.evaluation.pairs import graded_pairs
from semblance.models.origin.errors import BadHarvest
from semblance.models.origin.harvest.harvest import AllPairs, Plan, Share, harvest
from semblance.models.origin.harvest.harvested import COLUMNS, PARTS, Gathered, Split, gather, write_parts
from semblance.models.origin.harvest.shard import ABOUT, Shard
from semblance.models.origin.scoring.scoring import Form
from tests.models.origin.field import WordCounts, small_corpus, small_source
from tests.models.origin.test_harvest import flip, quietly

PLAN = Plan(pairs=900, bundles_a_file=4)
CORPUS = small_corpus(documents=40)


def harvested(out: Path, *shares: str, plan: Plan = PLAN) -> Path:
    for share in shares or ("1/1",):
        harvest(small_source(CORPUS), plan, Share.parse(share), out, quietly)
    return out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harvested(tmp_path_factory.mktemp("whole") / "out")


@pytest.fixture(scope="module")
def two_thirds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return harvested(tmp_path_factory.mktemp("two") / "out", "1/3", "2/3")


def table(file: Path) -> list[list[str]]:
    header, *lines = file.read_text("utf-8").splitlines()
    assert tuple(header.split("\t")) == COLUMNS
    return [line.split("\t") for line in lines]


def test_three_shards_joined_are_the_harvest_in_one(whole: Path, tmp_path: Path) -> None:
    one, other = harvested(tmp_path / "one", "3/3", "1/3"), harvested(tmp_path / "other", "2/3")
    joined, at_once = gather([other, one]), gather([whole])
    assert joined.pairs.to_pylist() == at_once.pairs.to_pylist()
    assert not joined.damaged
    assert not joined.missing
    rows = at_once.pairs.to_pylist()
    assert len({frozenset((row["number1"], row["number2"])) for row in rows}) == len(rows) > 0.8 * 60 * 15
    assert sorted({row["bundle"] for row in rows}) == list(range(60))


def test_a_pair_that_two_shards_have_is_kept_in_the_first_of_its_bundles(tmp_path: Path) -> None:
    few = small_corpus(documents=4, sentences=6)  # 24 bundles of 6 sentences: they must meet again
    plan = Plan(pairs=24 * 15)
    for share in ("1/2", "2/2"):
        harvest(small_source(few), plan, Share.parse(share), tmp_path / "two", quietly)
    harvest(small_source(few), plan, Share(), tmp_path / "one", quietly)
    two, one = gather([tmp_path / "two"]), gather([tmp_path / "one"])
    assert two.pairs.to_pylist() == one.pairs.to_pylist()
    assert two.dropped["in several bundles"] > 0 == one.dropped["in several bundles"]


def test_files_that_are_cut_or_altered_are_named_and_skipped_and_what_is_missing_is_said(tmp_path: Path) -> None:
    out = harvested(tmp_path / "out", "1/3", "2/3")
    every = gather([out]).pairs.to_pylist()
    cut, flipped, gone, *_ = sorted(out.glob("*/part-*.parquet"))
    cut.write_bytes(cut.read_bytes()[:-40])
    flipped.write_bytes(flip(flipped.read_bytes(), 200))
    gone.unlink()
    found = gather([out])
    assert found.damaged == [f"{file} is damaged: its bytes are not those that were written" for file in (cut, flipped)]
    assert found.missing == ["shard 3/3", f"{gone.parent}: 1 of 5 files"]
    lost = {*PLAN.files(Share(1, 3))[0], *PLAN.files(Share(1, 3))[1], *PLAN.files(Share(1, 3))[2]}
    rows = found.pairs.to_pylist()
    assert {row["bundle"] for row in rows} == {row["bundle"] for row in every} - lost
    left = [row for row in every if row["bundle"] not in lost]
    assert [row for row in rows if row in left] == left  # and the pairs of lost bundles that others had, too
    (gone.parent / ABOUT).write_text("{")
    assert "is no shard of a harvest" in gather([out]).damaged[0]


@pytest.mark.parametrize(
    "damage",
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
def test_a_shard_that_says_only_in_part_what_it_is_of_is_named_and_skipped(
    two_thirds: Path, tmp_path: Path, damage: Callable[[dict[str, Any]], object]
) -> None:
    shutil.copytree(two_thirds, tmp_path / "out")
    file = tmp_path / "out" / "shard-1-of-3" / ABOUT
    about = json.loads(file.read_text("utf-8"))
    damage(about)
    file.write_text(json.dumps(about), "utf-8")
    found = gather([tmp_path / "out"])
    [said] = found.damaged
    assert said.startswith(f"{file} is damaged, or of another version: ")
    assert found.missing == ["shard 1/3", "shard 3/3"]
    assert set(found.pairs["bundle"].to_pylist()) == set(range(1, 60, 3))
    with pytest.raises(BadHarvest, match="is damaged, or of another version"):
        gather([file.parent])


def test_a_file_with_other_columns_is_named_and_skipped(tmp_path: Path) -> None:
    out = harvested(tmp_path / "out")
    shard = Shard(out / "shard-1-of-1")
    first, *_ = shard.files().values()
    table = shard.read(first).drop_columns(["fallback"])
    first.unlink()
    shard.write(0, table)
    [damage] = gather([out]).damaged
    assert damage.endswith("has not the columns of a harvest")


def test_a_file_of_another_harvest_is_named_and_skipped(whole: Path, tmp_path: Path) -> None:
    other = harvested(tmp_path / "other", plan=Plan(pairs=900, bundles_a_file=4, seed=1))
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    [first] = out.glob("*/part-000000-*")
    [stranger] = other.glob("*/part-000000-*")
    first.unlink()
    shutil.copy(stranger, first.parent)
    [damage] = gather([out]).damaged
    assert damage.startswith(f"{first.parent / stranger.name} is of another harvest than")


def test_shards_of_different_harvests_are_refused_by_what_differs(whole: Path, tmp_path: Path) -> None:
    other = harvested(tmp_path / "other", plan=Plan(pairs=900, bundles_a_file=4, seed=1))
    with pytest.raises(BadHarvest, match=r"differ in seed: take one of them"):
        gather([whole, other])
    halves = harvested(tmp_path / "halves", "1/2")
    with pytest.raises(BadHarvest, match=r"differ in shard\.of"):
        gather([whole, halves])
    with pytest.raises(BadHarvest, match="there is no harvest in"):
        gather([tmp_path])
    for file in halves.glob("*/part-*"):
        file.unlink()
    with pytest.raises(BadHarvest, match=r"there is no pair in .*halves"):
        gather([halves])


@pytest.mark.parametrize("seed", [0, 1])
def test_no_bundle_is_in_two_parts_and_no_sentence_of_test_or_dev_is_trained_on(
    whole: Path, tmp_path: Path, seed: int
) -> None:
    gathered = gather([whole])
    counts = write_parts(gathered, "cosine", Split(dev=0.05, test=0.1, seed=seed), tmp_path)
    tables = {name: table(tmp_path / f"{name}.tsv") for name in PARTS}
    bundles = {name: {row[4] for row in rows} for name, rows in tables.items()}
    sentences = {name: {number for row in rows for number in row[5:]} for name, rows in tables.items()}
    texts = {name: {text for row in rows for text in row[:2]} for name, rows in tables.items()}
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        assert not bundles[one] & bundles[other]
        assert not sentences[one] & sentences[other]
        assert not texts[one] & texts[other]
    assert len(bundles["test"]) == 6
    assert len(bundles["dev"]) <= 3
    assert {name: counts[name] for name in PARTS} == {name: len(rows) for name, rows in tables.items()}
    assert sum(counts.values()) == len(gathered.pairs)
    assert counts["left out: a sentence of test"] > 0


def test_files_that_come_later_move_no_bundle(whole: Path, tmp_path: Path) -> None:
    parted = Split(seed=3).parts(1_000)
    assert np.bincount(parted).tolist() == [980, 10, 10]
    assert np.bincount(Split().parts(20)).tolist() == [18, 1, 1]
    assert np.bincount(Split(dev=0, test=0.5).parts(20)).tolist() == [10, 0, 10]
    some = harvested(tmp_path / "some", "2/3")
    held_out = {}
    for name, gathered in (("whole", gather([whole])), ("some", gather([some]))):
        (tmp_path / name).mkdir(exist_ok=True)
        write_parts(gathered, "cosine", Split(dev=0.1, test=0.2), tmp_path / name)
        held_out[name] = {row[4] for row in table(tmp_path / name / "test.tsv")}
    assert held_out["some"] == {each for each in held_out["whole"] if int(each) % 3 == 1}


def test_the_form_that_is_asked_for_is_the_score(whole: Path, tmp_path: Path) -> None:
    gathered = gather([whole])
    found = {}
    forms: tuple[Form, ...] = ("cosine", "centred")
    for form in forms:
        (tmp_path / form).mkdir()
        write_parts(gathered, form, Split(), tmp_path / form)
        found[form] = graded_pairs(tmp_path / form / "train.tsv")
    assert found["cosine"].left == found["centred"].left
    left, right = found["cosine"].left[7], found["cosine"].right[7]
    [row] = [each for each in gathered.pairs.to_pylist() if (each["sentence1"], each["sentence2"]) == (left, right)]
    assert found["cosine"].gold[7] == pytest.approx(row["cosine"], abs=1e-9)
    assert found["centred"].gold[7] == pytest.approx(row["centred"], abs=1e-9)


class Undecided(WordCounts):
    """A teacher that finds no number for a sentence with a dog."""

    def all_pairs(self, texts: Sequence[str]) -> AllPairs:
        dogs = np.array(["dog" in text for text in texts])
        said = super().all_pairs(texts)
        centred = np.where(dogs[:, None] | dogs, math.nan, said.scores["centred"])
        return replace(said, scores={**said.scores, "centred": centred})


def test_pairs_without_a_finite_score_are_left_out_and_counted(tmp_path: Path) -> None:
    harvest(small_source(teacher=Undecided()), Plan(pairs=300), Share(), tmp_path, quietly)
    found = gather([tmp_path])
    assert found.dropped["without a finite score"] > 0
    assert len(found.pairs) > 0
    assert not any("dog" in row["sentence1"] + row["sentence2"] for row in found.pairs.to_pylist())


def test_a_split_that_leaves_nothing_to_train_on_is_refused(whole: Path, tmp_path: Path) -> None:
    with pytest.raises(BadHarvest, match=r"dev and test must leave some for training: not 0\.5 and 0\.5"):
        Split(dev=0.5, test=0.5)
    gathered: Gathered = gather([whole])
    with pytest.raises(BadHarvest, match="no pair is left to train on"):
        write_parts(gathered, "cosine", Split(dev=0, test=0.999), tmp_path)
