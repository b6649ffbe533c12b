"""Parts of other sets: those of the panel, and what is left of a set for training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance_lab.evaluation.datasets import DataSet, ists, pairs, word_alignment
from semblance_lab.evaluation.parts import hashes_of, listed_parts, part, sample
from semblance_lab.evaluation.tasks import Task

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
