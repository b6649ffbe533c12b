"""Parts of other sets: pairs listed or sampled by hash for the panel, and the rest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semblance.models.errors import BadDataSet
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.evaluation.contamination import normal_form
from semblance_lab.evaluation.datasets import DataSet, ists, pairs, word_alignment
from semblance_lab.evaluation.tasks import ChunkAlignment, Task, WordAlignment

PARTS_FILE = "panel_parts.json"  # in this package; written by benchmarks/quality/panel_parts.py
_DIGITS = 8  # of SHA-256 in hexadecimal: two of 5,000 pairs share them with a probability of 0.3 %


@cache
def listed_parts() -> Mapping[str, frozenset[str]]:
    """Name of a part -> the hashes of its pairs, as committed in `panel_parts.json`."""
    lists = json.loads((files("semblance_lab.evaluation") / PARTS_FILE).read_text("utf-8"))
    return {name: frozenset(hashes.split()) for name, hashes in lists.items()}


def pair_hash(left: str, right: str) -> str:
    """Short SHA-256 of the normal forms of a pair, in either order.

    >>> pair_hash("A dog runs.", "Dogs run") == pair_hash("dogs run!", "a dog runs")
    True
    """
    return hashlib.sha256("\n".join(sorted(map(normal_form, (left, right)))).encode()).hexdigest()[:_DIGITS]


def pairs_of(task: Task) -> list[tuple[str, str]]:
    """The sentence pairs of a task. Raises BadDataSet: it has none, as a ranking."""
    match task:
        case ChunkAlignment() | WordAlignment():
            return [(" ".join(pair.left), " ".join(pair.right)) for pair in task.pairs]
        case GradedPairs() | LabeledPairs():
            return list(zip(task.left, task.right, strict=True))
        case _:
            raise BadDataSet(f"a set of {type(task).__name__} has no pairs that a part could list")


def hashes_of(task: Task) -> list[str]:
    """The hash of each of its pairs."""
    return [pair_hash(*pair) for pair in pairs_of(task)]


def part(task: Task, rows: Collection[int]) -> Task:
    """The pairs with these numbers, in the order of the task.

    Graded pairs without groups are grouped by common sentences: those that share one, also through other pairs of the
    part, are resampled together.
    """
    kept = sorted(rows)
    columns: dict[str, Any] = {}
    for field in fields(task):
        column = getattr(task, field.name)
        columns[field.name] = None if column is None else [column[row] for row in kept]
    chosen = replace(task, **columns)
    if isinstance(chosen, GradedPairs) and chosen.groups is None:
        return replace(chosen, groups=[str(group) for group in connected_groups(pairs_of(chosen))])
    return chosen


def sample(task: Task, size: int) -> list[int]:
    """Numbers of the `size` pairs with the smallest hashes, in any order of the task."""
    hashes = hashes_of(task)
    return sorted(range(len(hashes)), key=lambda row: (hashes[row], row))[:size]


def connected_groups(pairs: Sequence[tuple[str, str]]) -> NDArray[np.int32]:
    """(n,) group numbers of n pairs; pairs that share a sentence are in one group.

    Sentences are equal if their normal forms are, and sharing is transitive.

    >>> connected_groups([("a", "b"), ("c", "d"), ("B!", "e")]).tolist()
    [0, 1, 0]
    """
    numbers: dict[str, int] = {}
    ends = np.array([[numbers.setdefault(normal_form(text), len(numbers)) for text in pair] for pair in pairs])
    if not len(ends):
        return np.zeros(0, np.int32)
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import, and --help does not need it
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - likewise

    edges = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(len(numbers), len(numbers)))
    group: NDArray[np.int32] = connected_components(edges, directed=False)[1][ends[:, 0]]
    return group


def split_off(pairs: Sequence[tuple[str, str]], share: float, apart: Collection[str] = ()) -> list[int]:
    """Numbers of pairs that share no sentence with the other pairs.

    Whole groups of connected pairs are taken, by their smallest hashes, until the part has at least `share` of all
    pairs, or no group is left. The choice does not depend on the order of the pairs.

    Args:
        pairs: of the whole set.
        share: from 0 to 1.
        apart: hashes of pairs whose groups are not taken, such as those of test sets.
    """
    groups: dict[int, list[int]] = {}
    for row, group in enumerate(connected_groups(pairs).tolist()):
        groups.setdefault(group, []).append(row)
    hashes = [pair_hash(*pair) for pair in pairs]
    taken: list[int] = []
    for rows in sorted(groups.values(), key=lambda rows: min(hashes[row] for row in rows)):
        if len(taken) >= share * len(pairs):
            break
        taken += [] if any(hashes[row] in apart for row in rows) else rows
    return sorted(taken)


SAMPLE_SIZE = 3_000  # pairs of a large set: with them, the panel takes minutes

_WHOLE = {whole.name: whole for module in (ists, pairs, word_alignment) for whole in module.SETS}


def panel_name(name: str) -> str:
    """The name of the panel's part of a set.

    >>> panel_name("stsb_dev")
    'stsb_dev_panel'
    """
    return f"{name}_panel"


def read_listed(path: Path, whole: DataSet, *, listed: bool = True) -> Task:
    """Read the panel's part of a set, the pairs that `panel_parts.json` lists; or all others.

    Raises:
        BadDataSet: the file has not all of the listed pairs, or cannot be read.
    """
    task = whole.read(path)
    name = panel_name(whole.name)
    in_panel, hashes = listed_parts()[name], hashes_of(task)
    if missing := len(in_panel.difference(hashes)):
        raise BadDataSet(f"{path} lacks {missing:,} of the {len(in_panel):,} pairs of {name}; get {whole.source}")
    return part(task, [row for row, pair in enumerate(hashes) if (pair in in_panel) is listed])


def read_sample(path: Path, whole: DataSet) -> Task:
    """Read the sample of a large set."""
    task = whole.read(path)
    return part(task, sample(task, SAMPLE_SIZE))


def _part(whole: DataSet, name: str, what: str, read: Callable[..., Task]) -> DataSet:
    return replace(whole, name=name, what=f"{whole.what}: {what}", read=partial(read, whole=whole))


SETS = (
    *(
        _part(_WHOLE[name], panel_name(name), "the part of the panel, with no pair of a test set", read_listed)
        for name in ("stsb_dev", "sickr_trial", "ists_train", "msrp_train", "edinburgh_train")
    ),
    _part(
        _WHOLE["edinburgh_train"],
        "edinburgh_train_rest",
        "the pairs outside of the panel, to train on",
        partial(read_listed, listed=False),
    ),
    *(
        _part(_WHOLE[name], panel_name(name), f"{SAMPLE_SIZE:,} pairs, chosen by hash", read_sample)
        for name in ("cxc_val", "turl_train", "qqp_dev")
    ),
)
