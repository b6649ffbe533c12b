"""A harvest scores every pair once, resumes after interruptions, and refuses other settings."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from semblance_lab.origin.errors import BadHarvest
from semblance_lab.origin.harvest.harvest import HarvestPlan, HarvestProgress, ShardId, harvest
from semblance_lab.origin.harvest.sampling import BundleSampler
from semblance_lab.origin.scoring.scoring import FORMS
from tests.lab.origin.small_harvest import WordCounts, small_corpus, small_source

PLAN = HarvestPlan(pairs=200, bundles_a_file=3)
WHOLE = ShardId()


def ignore_progress(progress: HarvestProgress) -> None:
    del progress


def rows(out: Path) -> list[dict[str, object]]:
    """Rows of all shards, in the order of the bundles."""
    found = [row for file in out.glob("*/part-*.parquet") for row in pq.read_table(file).to_pylist()]
    return sorted(found, key=lambda row: (row["bundle"], row["number1"], row["number2"]))


class Cut(Exception):
    """Simulates the end of the process."""


def cut_after_eight(progress: HarvestProgress) -> None:
    if progress.bundles >= 8:
        raise Cut


def test_every_pair_is_written_once_with_scores_and_origin(tmp_path: Path) -> None:
    source = small_source()
    done = harvest(source, PLAN, WHOLE, tmp_path, ignore_progress)
    assert PLAN.bundles == math.ceil(200 / 15) == 14
    sampler = BundleSampler(source.corpus, source.screening, source.readable, PLAN.mixture, PLAN.seed)
    expected: dict[object, tuple[object, ...]] = {}
    for bundle in map(sampler.bundle, range(14)):
        texts = source.corpus.texts(bundle.sentences)
        for i, j in bundle.pairs():
            scores = WordCounts().all_pairs(texts).scores
            pair = frozenset((bundle.sentences[i], bundle.sentences[j]))
            kinds = f"{bundle.kinds[i]}-{bundle.kinds[j]}"
            fallback = "ship" in texts[i] + texts[j]
            forms = [scores[form][i, j] for form in FORMS]
            expected.setdefault(pair, (texts[i], texts[j], *forms, kinds, bundle.number, fallback))
    found = rows(tmp_path)
    assert len(found) == len(expected) == done.pairs
    assert 0 < done.fallback == sum(row[-1] is True for row in expected.values()) < done.pairs
    for row in found:
        *shown, first, second, near = row.values()
        assert (*shown, near) == expected[frozenset((first, second))]
    kinds_of_pairs = {"anchor-near", "near-near", "anchor-document", "near-random", "document-random"}
    assert {row["kind"] for row in found} >= kinds_of_pairs


def test_an_interrupted_harvest_resumes_and_ends_with_the_same_pairs(tmp_path: Path) -> None:
    harvest(small_source(), PLAN, WHOLE, tmp_path / "whole", ignore_progress)
    source = small_source()
    with pytest.raises(Cut):
        harvest(source, PLAN, WHOLE, tmp_path / "cut", cut_after_eight)
    assert len(list(tmp_path.glob("cut/*/part-*.parquet"))) == 2
    seen: list[HarvestProgress] = []
    harvest(source, PLAN, WHOLE, tmp_path / "cut", seen.append)
    assert seen[0].bundles == 6
    first = [row for row in rows(tmp_path / "whole") if int(str(row["bundle"])) < 6]
    assert seen[0].pairs == seen[0].resumed_pairs == len(first)
    assert seen[-1].bundles == seen[-1].total_bundles == 14
    assert rows(tmp_path / "cut") == rows(tmp_path / "whole")
    teacher = WordCounts()
    done = harvest(small_source(teacher=teacher), PLAN, WHOLE, tmp_path / "cut", ignore_progress)
    assert teacher.calls == 0, "finished bundles were harvested again"
    assert done.pairs == len(rows(tmp_path / "whole"))
    assert done.fallback == seen[-1].fallback == len([row for row in rows(tmp_path / "cut") if row["fallback"]])


def test_a_damaged_file_is_reported_and_harvested_again(tmp_path: Path) -> None:
    harvest(small_source(), PLAN, WHOLE, tmp_path, ignore_progress)
    whole = rows(tmp_path)
    cut, flipped, *_ = sorted(tmp_path.glob("*/part-*.parquet"))
    cut.write_bytes(cut.read_bytes()[:-40])
    flipped.write_bytes(flip(flipped.read_bytes(), 300))
    done = harvest(small_source(), PLAN, WHOLE, tmp_path, ignore_progress)
    for file, damage in zip((cut, flipped), done.damaged, strict=True):
        assert damage.startswith(f"{file} is damaged: its bytes have changed")
    assert rows(tmp_path) == whole
    assert not harvest(small_source(), PLAN, WHOLE, tmp_path, ignore_progress).damaged


def flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_other_settings_than_the_existing_harvest_are_refused(tmp_path: Path) -> None:
    harvest(small_source(), PLAN, WHOLE, tmp_path, ignore_progress)
    for plan, source, changed in (
        (HarvestPlan(pairs=300, bundles_a_file=3), small_source(), "pairs"),
        (HarvestPlan(pairs=200, bundles_a_file=3, seed=1), small_source(), "seed"),
        (PLAN, small_source(teacher=WordCounts({"size": 500, "corpus": "lines"})), "teacher.size"),
        (PLAN, small_source(teacher=WordCounts({"size": 100, "corpus": "other"})), "teacher.corpus"),
    ):
        with pytest.raises(BadHarvest, match=f"another value of {changed}; repeat the original call"):
            harvest(source, plan, WHOLE, tmp_path, ignore_progress)


def test_invalid_plans_are_refused(tmp_path: Path) -> None:
    few = small_corpus(documents=2, sentences=10)
    with pytest.raises(BadHarvest, match="301 pairs exceed the 300 that the corpus has sentences for; use fewer"):
        harvest(small_source(few), HarvestPlan(pairs=301), WHOLE, tmp_path, ignore_progress)
    with pytest.raises(BadHarvest, match="a harvest needs at least 1 pair, not 0"):
        HarvestPlan(pairs=0)
    for text in ("0/3", "4/3", "3", "a/b", "1/3/3", "-1/3", ""):
        with pytest.raises(BadHarvest, match="a shard is written i/n"):
            ShardId.parse(text)
    assert not list(tmp_path.iterdir())
