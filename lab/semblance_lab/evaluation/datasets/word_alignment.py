"""Word alignments of paraphrases (Edinburgh++) and of entailed sentences (RTE-2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from semblance.models.errors import BadDataSet
from semblance_lab.evaluation.datasets import benchmark, splits
from semblance_lab.evaluation.tasks import WordAlignedPair, WordAlignment

_FIELDS = ("id", "source", "target", "sureAlign", "possibleAlign")
_LINK = re.compile(r"(\d+)-(\d+)")


def read(path: Path) -> WordAlignment:
    """Read a file of sure links, and the possible links from the file beside it.

    Both hold an array of objects with the strings id, source, target, sureAlign and possibleAlign. The words of source
    and target are separated by spaces; links i-j count them from 0. The sure links are those of `X.sure.json` or
    `X.json`, its sureAlign; all links of `X.sure+poss.json` that are not sure are possible, in whichever of its two
    fields they are: Edinburgh++ has them in sureAlign, RTE-2 in both.

    Raises:
        BadDataSet: a file is missing or malformed, the two files have other pairs or words, or a link is outside of the
            sentences or sure but not among the sure and possible ones; the message names file and pair.
    """
    beside = path.with_name(f"{path.name.removesuffix('.json').removesuffix('.sure')}.sure+poss.json")
    sure, both = _pairs(path), _pairs(beside)
    if sure.keys() != both.keys():
        only = min(sure.keys() ^ both.keys())
        raise BadDataSet(f"{path} and {beside} hold different pairs: {only} is in one of them only")
    return WordAlignment([_aligned(path, pair_id, each, both[pair_id]) for pair_id, each in sure.items()])


def _pairs(file: Path) -> Mapping[str, Mapping[str, str]]:
    """The objects of a file by id."""
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadDataSet(f"{file} cannot be read: {error}") from error
    if not isinstance(content, list) or not content:
        raise BadDataSet(f"{file} is not a JSON array of sentence pairs")
    pairs = dict(_checked(file, number, each) for number, each in enumerate(content, 1))
    if len(pairs) < len(content):
        raise BadDataSet(f"{file} has {len(content)} pairs with {len(pairs)} different ids; ids must be unique")
    return pairs


def _checked(file: Path, number: int, pair: Any) -> tuple[str, Mapping[str, str]]:
    if not isinstance(pair, dict) or not all(isinstance(pair.get(field), str) for field in _FIELDS):
        raise BadDataSet(f"{file}, pair number {number}: an object with the strings {', '.join(_FIELDS)} is required")
    for side in ("source", "target"):
        if not pair[side].split():
            raise BadDataSet(f"{file}, pair {pair['id']}: {side} is empty")
    return pair["id"], pair


def _aligned(file: Path, pair_id: str, pair: Mapping[str, str], both: Mapping[str, str]) -> WordAlignedPair:
    left, right = (tuple(pair[side].split()) for side in ("source", "target"))
    if (left, right) != (tuple(both["source"].split()), tuple(both["target"].split())):
        raise BadDataSet(f"{file}, pair {pair_id}: the words differ from those of the file of possible links")
    sizes = len(left), len(right)
    sure = frozenset(_links(file, pair_id, pair["sureAlign"], sizes))
    allowed = frozenset(_links(file, pair_id, f"{both['sureAlign']} {both['possibleAlign']}", sizes))
    if not sure <= allowed:
        i, j = min(sure - allowed)
        raise BadDataSet(f"{file}, pair {pair_id}: the sure link {i}-{j} is not in the file of sure and possible links")
    return WordAlignedPair(pair_id, left, right, sure, allowed - sure)


def _links(file: Path, pair_id: str, links: str, sizes: tuple[int, int]) -> Iterator[tuple[int, int]]:
    for link in links.split():
        match = _LINK.fullmatch(link)
        if match is None:
            raise BadDataSet(f"{file}, pair {pair_id}: {link!r} is not a link; expected two word numbers, such as 0-2")
        i, j = int(match[1]), int(match[2])
        if i >= sizes[0] or j >= sizes[1]:
            raise BadDataSet(
                f"{file}, pair {pair_id}: link {link} is outside of sentences with {sizes[0]} and {sizes[1]} words"
            )
        yield i, j


SETS = (
    *splits(
        read,
        "Edinburgh++, in the JSON of the Jacana aligner [cohn-etal-2008-paraphrase, thadani-etal-2012-alignment]",
        "Edinburgh++ {}, paraphrases: words to align",
        ["word_alignment/edinburgh/gold.{}.sure.json", "edinburgh/gold.{}.sure.json"],
        edinburgh="test",
        edinburgh_train="train",
    ),
    *benchmark(
        read,
        "alignments of RTE-2 by Microsoft Research, in the JSON of the Jacana aligner [brockett-2007-rte]",
        (
            "msr_rte",
            "RTE-2 dev, texts and hypotheses: words to align",
            "word_alignment/msr_rte/RTE2_dev_M.align.json",
            "msr_rte/RTE2_dev_M.align.json",
        ),
    ),
)
