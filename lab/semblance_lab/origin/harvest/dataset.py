"""Join and check the shards of a harvest, and split the pairs into train, dev and test."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semblance.models.files.resumable import changed_keys
from semblance.models.files.tables import collapse_spaces
from semblance_lab.origin.errors import BadHarvest
from semblance_lab.origin.harvest.harvest import ShardId, read_plan
from semblance_lab.origin.harvest.shard import ABOUT, Shard
from semblance_lab.origin.scoring.scoring import FORMS, Form

SPLITS = ("train", "dev", "test")
COLUMNS = ("sentence1", "sentence2", "score", "kind", "bundle", "number1", "number2")
BATCH = 10_000  # rows converted at once


@dataclass(frozen=True, slots=True)
class SplitShares:
    """Shares of the bundles for dev and for test, and the seed of the split."""

    dev: float = 0.01
    test: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.dev >= 0 and self.test >= 0 and self.dev + self.test < 1):
            raise BadHarvest(f"dev and test must leave some for training: not {self.dev:g} and {self.test:g}")

    def assign(self, bundles: int) -> NDArray[np.int8]:
        """Index in `SPLITS` of each bundle; with three bundles, no positive share is empty."""
        by_hash = sorted(range(bundles), key=lambda i: hashlib.sha256(f"{self.seed} {i}".encode()).digest())
        dev, test = (
            max(round(share * bundles), int(share > 0 and bundles >= len(SPLITS))) for share in (self.dev, self.test)
        )
        splits = np.zeros(bundles, np.int8)
        splits[by_hash[:dev]] = SPLITS.index("dev")
        splits[by_hash[dev : dev + test]] = SPLITS.index("test")
        return splits


@dataclass(frozen=True, slots=True)
class JoinedHarvest:
    """Pairs of a harvest in the order of their bundles, each once.

    Attributes:
        pairs: with the columns of a shard's files.
        bundles: number of bundles of the complete harvest.
        about: its provenance, without the shard.
        damaged: description of each damaged file, which was skipped.
        missing: shards and files that do not exist yet.
        dropped: number of pairs left out, by reason.
    """

    pairs: pa.Table
    bundles: int
    about: Mapping[str, Any]
    damaged: Sequence[str]
    missing: Sequence[str]
    dropped: Mapping[str, int]


def join_shards(folders: Sequence[Path]) -> JoinedHarvest:
    """Join all shards in some folders.

    Damaged files are skipped and listed, as are missing ones. Pairs in several shards are kept once, and pairs without
    finite scores are left out; both are counted.

    Args:
        folders: each a shard, or a folder of shards.

    Raises:
        BadHarvest: there is no shard or no pair, or shards are of different harvests; the message names them.
    """
    shards, damaged = _find_shards(folders)
    about, shard_ids = _shard_ids(shards)
    plan, _ = read_plan(shards[0].about())
    tables, missing = [], _missing_shards(shard_ids.values())
    for shard, shard_id in shard_ids.items():
        files, expected = shard.files(), len(plan.files(shard_id))
        if len(files) < expected:
            missing.append(f"{shard.folder}: {expected - len(files):,} of {expected:,} files")
        for file in files.values():
            try:
                tables.append(shard.read(file).replace_schema_metadata())
            except BadHarvest as error:
                damaged.append(str(error))
    if not tables:
        raise BadHarvest(f"no pairs in {', '.join(map(str, folders))}{''.join(f'; {each}' for each in damaged)}")
    pairs, dropped = _deduplicate(pa.concat_tables(tables))
    return JoinedHarvest(pairs, plan.bundles, about, damaged, missing, dropped)


def write_splits(joined: JoinedHarvest, form: Form, shares: SplitShares, out: Path) -> Mapping[str, int]:
    """Write train.tsv, dev.tsv and test.tsv with `COLUMNS`, and count the pairs by outcome.

    Bundles are split by a hash of their numbers, so that later or missing files do not move the others. A pair with a
    sentence of a test pair is left out of train and dev, and one with a sentence of a dev pair out of train.

    Raises:
        BadHarvest: no pair is left for training.
        OSError: a file cannot be written.
    """
    pairs = joined.pairs
    split = shares.assign(joined.bundles)[pairs["bundle"].to_numpy()]
    numbers = np.stack([pairs["number1"].to_numpy(), pairs["number2"].to_numpy()])
    included = np.ones(len(pairs), bool)
    counts = {}
    for held_out in ("test", "dev"):
        index = SPLITS.index(held_out)
        sentences = numbers[:, included & (split == index)]
        shared = included & (split < index) & np.isin(numbers, sentences).any(axis=0)
        counts[f"left out: a sentence of {held_out}"] = int(shared.sum())
        included &= ~shared
    for index, name in enumerate(SPLITS):
        own = pairs.filter(pa.array(included & (split == index)))
        counts[name] = len(own)
        _write(own, form, out / f"{name}.tsv")
    if not counts["train"]:
        raise BadHarvest("no pair is left to train on: harvest more, or reduce dev and test")
    return counts


def _find_shards(folders: Sequence[Path]) -> tuple[list[Shard], list[str]]:
    """The shards in some folders, and descriptions of those whose provenance cannot be read."""
    found = {file.parent.resolve() for each in folders for file in (*each.glob(ABOUT), *each.glob(f"*/{ABOUT}"))}
    shards, damaged = [], []
    for folder in sorted(found):
        try:
            about = Shard(folder).about()
        except BadHarvest as error:
            damaged.append(str(error))
            continue
        try:
            read_plan(about)
        except BadHarvest as error:
            damaged.append(f"{folder / ABOUT} is damaged, or of another version: {error}")
            continue
        shards.append(Shard(folder))
    if not shards:
        raise BadHarvest("; ".join(damaged) or f"no harvest in {', '.join(map(str, folders))}")
    return shards, damaged


def _shard_ids(shards: Sequence[Shard]) -> tuple[Mapping[str, Any], Mapping[Shard, ShardId]]:
    """Common provenance of all shards, and the id of each."""
    abouts = [dict(each.about()) for each in shards]
    shard_ids = [ShardId(**about.pop("shard")) for about in abouts]
    for shard, about, shard_id in zip(shards, abouts, shard_ids, strict=True):
        changed = changed_keys(abouts[0], about) + (["shard.of"] if shard_id.of != shard_ids[0].of else [])
        if changed:
            raise BadHarvest(f"{shards[0].folder} and {shard.folder} differ in {', '.join(changed)}: give one of them")
    return abouts[0], dict(zip(shards, shard_ids, strict=True))


def _missing_shards(shard_ids: Collection[ShardId]) -> list[str]:
    existing = {shard.number for shard in shard_ids}
    of = max(each.of for each in shard_ids)
    return [f"shard {number}/{of}" for number in range(1, of + 1) if number not in existing]


def _deduplicate(pairs: pa.Table) -> tuple[pa.Table, Mapping[str, int]]:
    finite = reduce(pc.and_, (pc.is_finite(pairs[form]) for form in FORMS))
    scored = pairs.filter(finite)
    numbers = np.stack([scored["number1"].to_numpy(), scored["number2"].to_numpy()])
    # the row of a pair's first bundle comes first; within a bundle rows keep their order
    order = np.lexsort((np.arange(len(scored)), scored["bundle"].to_numpy()))
    _, first = np.unique(np.sort(numbers, axis=0)[:, order], axis=1, return_index=True)
    once = scored.take(pa.array(order[np.sort(first)]))
    return once, {"without a finite score": len(pairs) - len(scored), "in several bundles": len(scored) - len(once)}


def _write(pairs: pa.Table, form: Form, file: Path) -> None:
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("\t".join(COLUMNS) + "\n")
        for row in _rows(pairs, form):
            stream.write("\t".join(row) + "\n")


def _rows(pairs: pa.Table, form: Form) -> Iterator[list[str]]:
    for batch in pairs.to_batches(BATCH):
        for row in batch.to_pylist():
            scored = row | {"score": f"{row[form]:.9g}"}
            yield [collapse_spaces(str(scored[name])) for name in COLUMNS]
