"""A harvest scores every pair of its bundles once, goes on where it was cut off, and refuses to be mixed up."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from semblance.models.origin.errors import BadHarvest
from semblance.models.origin.harvest.harvest import Plan, Progress, Share, harvest
from semblance.models.origin.harvest.sampling import Drawing
from semblance.models.origin.harvest.shard import ABOUT, Shard
from tests.models.origin.field import WordCounts, small_corpus, small_source

PLAN = Plan(pairs=200, bundles_a_file=3)
WHOLE = Share()


def quietly(progress: Progress) -> None:
    del progress


def rows(out: Path) -> list[dict[str, object]]:
    """What lies in all shards, in the order of the bundles."""
    found = [row for file in out.glob("*/part-*.parquet") for row in pq.read_table(file).to_pylist()]
    return sorted(found, key=lambda row: (row["bundle"], row["number1"], row["number2"]))


class Cut(Exception):
    """The end of the process, as far as a harvest can tell."""


def cut_after(bundles: int) -> Callable[[Progress], None]:
    def report(progress: Progress) -> None:
        if progress.bundles >= bundles:
            raise Cut

    return report


def test_every_pair_of_every_bundle_is_there_once_with_its_scores_and_where_it_is_from(tmp_path: Path) -> None:
    source = small_source()
    done = harvest(source, PLAN, WHOLE, tmp_path, quietly)
    assert PLAN.bundles == math.ceil(200 / 15) == 14
    drawing = Drawing(source.corpus, source.screening, source.readable, PLAN.mixture, PLAN.seed)
    expected: dict[object, tuple[object, ...]] = {}
    for bundle in map(drawing.bundle, range(14)):
        texts = source.corpus.texts(bundle.sentences)
        for i, j in bundle.pairs():
            scores = WordCounts().all_pairs(texts).scores
            pair = frozenset((bundle.sentences[i], bundle.sentences[j]))
            kinds = f"{bundle.kinds[i]}-{bundle.kinds[j]}"
            where = (kinds, bundle.number)
            fallback = "ship" in texts[i] + texts[j]
            said = (texts[i], texts[j], scores["cosine"][i, j], scores["centred"][i, j], *where, fallback)
            expected.setdefault(pair, said)
    found = rows(tmp_path)
    assert len(found) == len(expected) == done.pairs
    assert 0 < done.fallback == sum(its[-1] is True for its in expected.values()) < done.pairs
    for row in found:
        *shown, first, second, near = row.values()
        assert (*shown, near) == expected[frozenset((first, second))]
    assert {row["kind"] for row in found} >= {
        "anchor-near",
        "near-near",
        "anchor-document",
        "near-random",
        "document-random",
    }


def test_a_harvest_that_was_cut_off_goes_on_and_ends_as_one_that_was_not(tmp_path: Path) -> None:
    harvest(small_source(), PLAN, WHOLE, tmp_path / "whole", quietly)
    source = small_source()
    with pytest.raises(Cut):
        harvest(source, PLAN, WHOLE, tmp_path / "cut", cut_after(8))
    assert len(list(tmp_path.glob("cut/*/part-*.parquet"))) == 2
    seen: list[Progress] = []
    harvest(source, PLAN, WHOLE, tmp_path / "cut", seen.append)
    assert seen[0].bundles == 6
    assert (
        seen[0].pairs == seen[0].found == len([row for row in rows(tmp_path / "whole") if int(str(row["bundle"])) < 6])
    )
    assert seen[-1].bundles == seen[-1].of == 14
    assert rows(tmp_path / "cut") == rows(tmp_path / "whole")
    teacher = WordCounts()
    done = harvest(small_source(teacher=teacher), PLAN, WHOLE, tmp_path / "cut", quietly)
    assert teacher.asked == 0, "what is complete was harvested again"
    assert done.pairs == len(rows(tmp_path / "whole"))
    assert done.fallback == seen[-1].fallback == len([row for row in rows(tmp_path / "cut") if row["fallback"]])


def test_a_file_that_is_damaged_is_named_and_made_anew(tmp_path: Path) -> None:
    harvest(small_source(), PLAN, WHOLE, tmp_path, quietly)
    whole = rows(tmp_path)
    cut, flipped, *_ = sorted(tmp_path.glob("*/part-*.parquet"))
    cut.write_bytes(cut.read_bytes()[:-40])
    flipped.write_bytes(flip(flipped.read_bytes(), 300))
    done = harvest(small_source(), PLAN, WHOLE, tmp_path, quietly)
    assert done.damaged == [f"{file} is damaged: its bytes are not those that were written" for file in (cut, flipped)]
    assert rows(tmp_path) == whole
    assert not harvest(small_source(), PLAN, WHOLE, tmp_path, quietly).damaged


def flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_what_differs_from_the_harvest_that_lies_there_is_named(tmp_path: Path) -> None:
    harvest(small_source(), PLAN, WHOLE, tmp_path, quietly)
    for plan, source, changed in (
        (Plan(pairs=300, bundles_a_file=3), small_source(), "pairs"),
        (Plan(pairs=200, bundles_a_file=3, seed=1), small_source(), "seed"),
        (PLAN, small_source(teacher=WordCounts({"size": 500, "corpus": "lines"})), "teacher.size"),
        (PLAN, small_source(teacher=WordCounts({"size": 100, "corpus": "other"})), "teacher.corpus"),
    ):
        with pytest.raises(BadHarvest, match=f"another value of {changed}: start it as it was"):
            harvest(source, plan, WHOLE, tmp_path, quietly)


def test_two_processes_do_not_harvest_one_shard(tmp_path: Path) -> None:
    folder = tmp_path / "shard-1-of-1"
    folder.mkdir()
    with FileLock(folder / "lock"), pytest.raises(BadHarvest, match="another process is at work in"):
        harvest(small_source(), PLAN, WHOLE, tmp_path, quietly)


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    note = tmp_path / "shard-1-of-1" / "notes.txt"
    note.parent.mkdir()
    note.write_text("mine")
    with pytest.raises(BadHarvest, match=r"holds notes\.txt, which was not left by such work"):
        harvest(small_source(), PLAN, WHOLE, tmp_path, quietly)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BadHarvest, match="cannot be written"):
        harvest(small_source(), PLAN, WHOLE, tmp_path / "file", quietly)


def test_what_cannot_be_harvested_is_refused(tmp_path: Path) -> None:
    few = small_corpus(documents=2, sentences=10)
    with pytest.raises(BadHarvest, match="the corpus has sentences for 300 pairs, not for 301: ask for fewer"):
        harvest(small_source(few), Plan(pairs=301), WHOLE, tmp_path, quietly)
    with pytest.raises(BadHarvest, match="there must be a pair to harvest, not 0"):
        Plan(pairs=0)
    for text in ("0/3", "4/3", "3", "a/b", "1/3/3", "-1/3", ""):
        with pytest.raises(BadHarvest, match="a shard is written i/n"):
            Share.parse(text)
    assert not list(tmp_path.iterdir())


def test_a_shard_that_does_not_say_what_it_is_is_named(tmp_path: Path) -> None:
    harvest(small_source(), PLAN, WHOLE, tmp_path, quietly)
    (tmp_path / "shard-1-of-1" / ABOUT).write_text("{")
    with pytest.raises(BadHarvest, match=r"shard-1-of-1 is no shard of a harvest: cannot read"):
        Shard(tmp_path / "shard-1-of-1").about()
