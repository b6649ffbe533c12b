"""What was harvested, from all its shards: joined, looked through for damage, and parted into train, dev and test."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semblance.models.files.resumable import differing
from semblance.models.files.tables import one_space
from semblance.models.origin.errors import BadHarvest
from semblance.models.origin.harvest.harvest import Share, read_plan
from semblance.models.origin.harvest.shard import ABOUT, Shard
from semblance.models.origin.scoring.scoring import FORMS, Form

PARTS = ("train", "dev", "test")
COLUMNS = ("sentence1", "sentence2", "score", "kind", "bundle", "number1", "number2")
AT_ONCE = 10_000  # rows that are written together


@dataclass(frozen=True, slots=True)
class Split:
    """How pairs are parted: the shares of bundles for dev and for test, and the seed of the draw."""

    dev: float = 0.01
    test: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.dev >= 0 and self.test >= 0 and self.dev + self.test < 1):
            raise BadHarvest(f"dev and test must leave some for training: not {self.dev:g} and {self.test:g}")

    def parts(self, bundles: int) -> NDArray[np.int8]:
        """The place in `PARTS` of each bundle; a share above 0 has one bundle at least, if there are three."""
        by_hash = sorted(range(bundles), key=lambda i: hashlib.sha256(f"{self.seed} {i}".encode()).digest())
        dev, test = (
            max(round(share * bundles), int(share > 0 and bundles >= len(PARTS))) for share in (self.dev, self.test)
        )
        parts = np.zeros(bundles, np.int8)
        parts[by_hash[:dev]] = PARTS.index("dev")
        parts[by_hash[dev : dev + test]] = PARTS.index("test")
        return parts


@dataclass(frozen=True, slots=True)
class Gathered:
    """The pairs of a harvest in the order of their bundles, each once.

    Attributes:
        pairs: with the columns of a shard's files.
        bundles: how many the harvest has when it is complete.
        about: what it was made of, without the number of the shard.
        damaged: what is wrong with the files that were skipped.
        missing: what is not there yet.
        dropped: how many pairs were left out, by reason.
    """

    pairs: pa.Table
    bundles: int
    about: Mapping[str, Any]
    damaged: Sequence[str]
    missing: Sequence[str]
    dropped: Mapping[str, int]


def gather(folders: Sequence[Path]) -> Gathered:
    """All pairs of all shards in some folders.

    Files that are damaged are skipped and named, and so is what is not there yet. Pairs that several shards have are
    kept once, and pairs without finite scores are left out; both are counted.

    Args:
        folders: each a shard, or a folder with shards in it.

    Raises:
        BadHarvest: there is no shard or no pair, or shards are of different harvests; the message names them.
    """
    shards, damaged = _shards(folders)
    about, shares = _shares(shards)
    plan, _ = read_plan(shards[0].about())
    tables, missing = [], _absent(shares.values())
    for shard, share in shares.items():
        files, expected = shard.files(), len(plan.files(share))
        if len(files) < expected:
            missing.append(f"{shard.folder}: {expected - len(files):,} of {expected:,} files")
        for file in files.values():
            try:
                tables.append(shard.read(file).replace_schema_metadata())
            except BadHarvest as error:
                damaged.append(str(error))
    if not tables:
        raise BadHarvest(
            f"there is no pair in {', '.join(map(str, folders))}{''.join(f'; {each}' for each in damaged)}"
        )
    pairs, dropped = _each_once(pa.concat_tables(tables))
    return Gathered(pairs, plan.bundles, about, damaged, missing, dropped)


def write_parts(gathered: Gathered, form: Form, split: Split, out: Path) -> Mapping[str, int]:
    """Write train.tsv, dev.tsv and test.tsv, tables by tabs with the `COLUMNS`, and say how many pairs became of what.

    Bundles are parted by a hash of their numbers, so that files that come later, or never, move none. A pair with a
    sentence that is in another pair of test is not in train or dev, nor one with a sentence of dev in train.

    Raises:
        BadHarvest: nothing is left to train on.
        OSError: a file cannot be written.
    """
    pairs = gathered.pairs
    part = split.parts(gathered.bundles)[pairs["bundle"].to_numpy()]
    numbers = np.stack([pairs["number1"].to_numpy(), pairs["number2"].to_numpy()])
    kept = np.ones(len(pairs), bool)
    counts = {}
    for held_out in ("test", "dev"):
        of = PARTS.index(held_out)
        its_own = numbers[:, kept & (part == of)]
        shared = kept & (part < of) & np.isin(numbers, its_own).any(axis=0)
        counts[f"left out: a sentence of {held_out}"] = int(shared.sum())
        kept &= ~shared
    for place, name in enumerate(PARTS):
        own = pairs.filter(pa.array(kept & (part == place)))
        counts[name] = len(own)
        _write(own, form, out / f"{name}.tsv")
    if not counts["train"]:
        raise BadHarvest("no pair is left to train on: harvest more, or give less to dev and test")
    return counts


def _shards(folders: Sequence[Path]) -> tuple[list[Shard], list[str]]:
    """The shards in some folders, and what is wrong with those that do not say what they are of."""
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
        raise BadHarvest("; ".join(damaged) or f"there is no harvest in {', '.join(map(str, folders))}")
    return shards, damaged


def _shares(shards: Sequence[Shard]) -> tuple[Mapping[str, Any], Mapping[Shard, Share]]:
    """What all shards were made of, and which share each is."""
    abouts = [dict(each.about()) for each in shards]
    shares = [Share(**about.pop("shard")) for about in abouts]
    for shard, about, share in zip(shards, abouts, shares, strict=True):
        changed = differing(abouts[0], about) + (["shard.of"] if share.of != shares[0].of else [])
        if changed:
            raise BadHarvest(f"{shards[0].folder} and {shard.folder} differ in {', '.join(changed)}: take one of them")
    return abouts[0], dict(zip(shards, shares, strict=True))


def _absent(shares: Collection[Share]) -> list[str]:
    there = {each.number for each in shares}
    of = max(each.of for each in shares)
    return [f"shard {number}/{of}" for number in range(1, of + 1) if number not in there]


def _each_once(pairs: pa.Table) -> tuple[pa.Table, Mapping[str, int]]:
    finite = pc.and_(*(pc.is_finite(pairs[form]) for form in FORMS))
    scored = pairs.filter(finite)
    numbers = np.stack([scored["number1"].to_numpy(), scored["number2"].to_numpy()])
    # of one pair the first bundle's row comes first; within a bundle rows stay as they were drawn
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
    for batch in pairs.to_batches(AT_ONCE):
        for row in batch.to_pylist():
            found = row | {"score": f"{row[form]:.9g}"}
            yield [one_space(str(found[name])) for name in COLUMNS]
