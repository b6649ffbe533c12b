"""Parts of other sets for the panel: without pairs of test sets, or samples of large sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.datasets import DataSet, cxc, ists, paraphrase, sick, stsb, turl
from semblance.models.evaluation.parts import hashes_of, listed_parts, part, sample
from semblance.models.evaluation.tasks import Task

SAMPLE_SIZE = 3_000  # pairs of a large set: with them, the panel takes minutes

_WHOLE: Mapping[str, DataSet] = {
    each.name: each for module in (cxc, ists, paraphrase, sick, stsb, turl) for each in module.SETS
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
    task, listed = whole.read(path), listed_parts()[panel_name(whole.name)]
    hashes = hashes_of(task)
    if missing := len(listed.difference(hashes)):
        raise BadDataSet(
            f"{path} lacks {missing:,} of the {len(listed):,} pairs of {panel_name(whole.name)}; get {whole.source}"
        )
    return part(task, [row for row, each in enumerate(hashes) if each in listed])


def read_sample(path: Path, whole: DataSet) -> Task:
    """Read the sample of a large set."""
    task = whole.read(path)
    return part(task, sample(task, SAMPLE_SIZE))


def _listed(name: str) -> DataSet:
    whole = _WHOLE[name]
    what = f"{whole.what}: pairs of no STS, SICK or iSTS test set"
    return replace(whole, name=panel_name(name), what=what, read=lambda path: read_listed(path, whole))


def _sampled(name: str) -> DataSet:
    whole = _WHOLE[name]
    what = f"{whole.what}: {SAMPLE_SIZE:,} pairs, chosen by hash"
    return replace(whole, name=panel_name(name), what=what, read=lambda path: read_sample(path, whole))


SETS = (
    *map(_listed, ("stsb_dev", "sickr_trial", "ists_train", "msrp_train")),
    *map(_sampled, ("cxc_val", "turl_train", "qqp_dev")),
)
