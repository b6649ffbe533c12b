"""Word alignments: of paraphrases (Edinburgh++), entailed sentences (RTE-2), translations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import json_lines
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


def read_translations(path: Path, source: str | None = None) -> WordAlignment:
    """Read translations with aligned words, from JSONL: a pair with all its links in each line.

    `src_words` and `tgt_words` are lists of words, `alignment` a list of links [i, j], which count them from 0. A pair
    that occurs again is left out. The files do not separate sure links from possible ones: all count as sure, so that
    figures are not comparable with published error rates of alignment (AER), which use both.

    Args:
        path: the file.
        source: reads only the lines with this `source`.

    Raises:
        BadDataSet: the file is missing or malformed, or a link is outside of the sentences; the message names the line.
    """
    pairs: dict[tuple[tuple[str, ...], ...], WordAlignedPair] = {}
    for number, row in json_lines(path):
        if source is None or row.get("source") == source:
            pair = _translation(path, number, row)
            pairs.setdefault((pair.left, pair.right), pair)
    if not pairs:
        raise BadDataSet(f"{path} has no pairs" + (f" of the source {source}" if source else ""))
    return WordAlignment(list(pairs.values()))


def _translation(file: Path, number: int, row: Mapping[str, Any]) -> WordAlignedPair:
    left, right = (_words(file, number, row.get(field)) for field in ("src_words", "tgt_words"))
    alignment = row.get("alignment")
    if not isinstance(alignment, list) or not all(isinstance(link, list) for link in alignment):
        raise BadDataSet(f"{file}, line {number}: alignment must be a list of links, such as [[0, 2], [1, 1]]")
    written = " ".join("-".join(map(str, link)) for link in alignment)
    sure = _links(file, f"of line {number}", written, (len(left), len(right)))
    return WordAlignedPair(str(number), left, right, frozenset(sure), frozenset())


def _words(file: Path, number: int, words: Any) -> tuple[str, ...]:
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise BadDataSet(f"{file}, line {number}: src_words and tgt_words must be lists of words")
    return tuple(words)


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
    *benchmark(
        read_translations,
        "Hansards and the golden collection, as JSONL [mihalcea-pedersen-2003-alignment, graca-etal-2008-golden]",
        *(
            (
                f"words_en_{language}",
                f"English and {name} translations: words to align",
                f"multilingual/alignment/en-{language}.jsonl",
            )
            for language, name in (("fr", "French"), ("es", "Spanish"), ("pt", "Portuguese"))
        ),
    ),
    *benchmark(
        partial(read_translations, source="fr_golden"),
        "the golden collection, as JSONL [graca-etal-2008-golden]",
        (
            "words_en_fr_golden",
            "English and French translations, golden collection only: words to align",
            "multilingual/alignment/en-fr.jsonl",
        ),
    ),
)
