"""Parts of other sets: those of the panel, and what is left of a set for training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance_lab.evaluation.datasets import DataSet, cxc, ists, paraphrase, sick, stsb, turl, word_alignment
from semblance_lab.evaluation.parts import hashes_of, listed_parts, part, sample
from semblance_lab.evaluation.tasks import Task

SAMPLE_SIZE = 3_000  # pairs of a large set: with them, the panel takes minutes

_WHOLE: Mapping[str, DataSet] = {
    each.name: each for module in (cxc, ists, paraphrase, sick, stsb, turl, word_alignment) for each in module.SETS
}


def panel_name(name: str) -> str:
    """The name of the panel's part of a set.

    >>> panel_name("stsb_dev")
    'stsb_dev_panel'
    """
    return f"{name}_panel"


def read_listed(path: Path, whole: DataSet) -> Task:
    """Read the panel's part of a set: the pairs that `panel_parts.json` lists.

    Raises:
        BadDataSet: the file has not all of these pairs, or cannot be read.
    """
    task = whole.read(path)
    return part(task, [row for row, listed in enumerate(_is_listed(path, task, whole)) if listed])


def read_rest(path: Path, whole: DataSet) -> Task:
    """Read the pairs of a set that `read_listed` leaves out. Raises as `read_listed`."""
    task = whole.read(path)
    return part(task, [row for row, listed in enumerate(_is_listed(path, task, whole)) if not listed])


def read_sample(path: Path, whole: DataSet) -> Task:
    """Read the sample of a large set."""
    task = whole.read(path)
    return part(task, sample(task, SAMPLE_SIZE))


def _is_listed(path: Path, task: Task, whole: DataSet) -> list[bool]:
    """Whether each pair of the task is in the panel."""
    listed, hashes = listed_parts()[panel_name(whole.name)], hashes_of(task)
    if missing := len(listed.difference(hashes)):
        raise BadDataSet(
            f"{path} lacks {missing:,} of the {len(listed):,} pairs of {panel_name(whole.name)}; get {whole.source}"
        )
    return [each in listed for each in hashes]


def _listed(name: str) -> DataSet:
    whole = _WHOLE[name]
    what = f"{whole.what}: the part of the panel, with no pair of a test set"
    return replace(whole, name=panel_name(name), what=what, read=lambda path: read_listed(path, whole))


def _rest(name: str) -> DataSet:
    whole = _WHOLE[name]
    what = f"{whole.what}: the pairs outside of the panel, to train on"
    return replace(whole, name=f"{name}_rest", what=what, read=lambda path: read_rest(path, whole))


def _sampled(name: str) -> DataSet:
    whole = _WHOLE[name]
    what = f"{whole.what}: {SAMPLE_SIZE:,} pairs, chosen by hash"
    return replace(whole, name=panel_name(name), what=what, read=lambda path: read_sample(path, whole))


SETS = (
    *map(_listed, ("stsb_dev", "sickr_trial", "ists_train", "msrp_train", "edinburgh_train")),
    _rest("edinburgh_train"),
    *map(_sampled, ("cxc_val", "turl_train", "qqp_dev")),
)
