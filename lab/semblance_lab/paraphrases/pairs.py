"""Labeled pairs of texts that the classifier learns from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from semblance.models.files.tables import collapse_spaces, read_tsv
from semblance_lab.evaluation.contamination import normal_form

GENERATED = "generated"
CONTRAST = "contrast"
NLI = {
    "snli": ("snli.dev", "snli.test"),
    "mnli": ("mnli_sample.train", "mnli_sample.dev"),
    "cad": ("cad_nli.train",),
}
"""Set -> names of its files: premises and hypotheses, without `.tsv`."""
LABELS = ("entailment", "neutral", "contradiction")
SUGARCREPE = "sugarcrepe"
SUGARCREPE_STEP = 4  # every fourth row: many have the same caption


class Pair(NamedTuple):
    """Two texts.

    Attributes:
        source: name of the set.
        kind: part of the set.
        a, b: the texts.
        holds: whether they say the same, or, if `entails`, b follows from a.
        entails: whether the pair is about what follows, and not about what is the same.
    """

    source: str
    kind: str
    a: str
    b: str
    holds: bool
    entails: bool = False


class Counts(NamedTuple):
    """Numbers of pairs by (set, kind, whether it holds): those used, and those left out."""

    used: Counter[tuple[str, str, bool]]
    dropped: Counter[tuple[str, str, bool]]


def read_pairs(data: Path) -> Iterator[Pair]:
    """Pairs of SNLI, MultiNLI, CAD, SugarCrepe and of the contrast set Breaking NLI.

    Rows without a label or text are left out.

    Source: bowman-etal-2015-snli, williams-etal-2018-mnli, kaushik-etal-2020-cad, hsieh-etal-2023-sugarcrepe,
    glockner-etal-2018-breaking-nli.

    Args:
        data: folder of benchmark data.

    Raises:
        BadDataSet: a file cannot be read, or lacks a column; the message names it.
    """
    for source, names in NLI.items():
        for name in names:
            for row in read_tsv(data / "nli" / f"{name}.tsv", ["premise", "hypothesis", "label"]):
                label = row.fields["label"]
                a, b = (collapse_spaces(row.fields[each]) for each in ("premise", "hypothesis"))
                if a and b and label in LABELS:
                    yield Pair(source, label, a, b, label == LABELS[0], entails=True)
    file = data / "hard_negatives" / "sugarcrepe_triplets.tsv"
    for number, row in enumerate(read_tsv(file, ["hard_neg", "kind"])):
        if number % SUGARCREPE_STEP == 0:
            _, caption, changed, kind = list(row.fields.values())[:4]
            yield Pair(SUGARCREPE, kind, collapse_spaces(caption), collapse_spaces(changed), holds=False)
    for row in read_tsv(data / "contrast" / "breaking_nli.tsv", ["sentence1", "sentence2", "label", "category"]):
        a, b = row.text("sentence1"), row.text("sentence2")
        yield Pair(CONTRAST, row.fields["category"], a, b, row.fields["label"] == LABELS[0])


def without_contrasts(pairs: Iterable[Pair]) -> tuple[list[Pair], Counts]:
    """Pairs without those that have a sentence of the contrast set, except for its own.

    So its kinds can be held out. Case, punctuation and spaces are ignored.
    """
    read = list(pairs)
    taken = {normal_form(text) for pair in read if pair.source == CONTRAST for text in (pair.a, pair.b)}
    counts = Counts(Counter(), Counter())
    kept = []
    for pair in read:
        touched = pair.source != CONTRAST and _has(pair, taken)
        (counts.dropped if touched else counts.used)[pair.source, pair.kind, pair.holds] += 1
        if not touched:
            kept.append(pair)
    return kept, counts


def _has(pair: Pair, forms: Collection[str]) -> bool:
    return normal_form(pair.a) in forms or normal_form(pair.b) in forms
