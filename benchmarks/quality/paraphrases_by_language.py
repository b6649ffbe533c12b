"""False hits of `multilingual` by language: how often are different texts classified as the same?

    python -m benchmarks.quality.paraphrases_by_language --data "$SEMBLANCE_DATA"

reads the translated pairs of STS-B (train and dev). Pairs of score 4.5 or more are the same, and the scores of a rule
are cut where half of them are taken for that. Printed is how many others are then taken for the same, in percent: pairs
of score 3 or less, texts and their denial, and texts in which a man became a woman. The classifier is trained on
English pairs alone; the rules are those of `quality.paraphrases`.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.table import Table

from benchmarks.quality.paraphrases import COUNT, DUPLICATES, SEED, Pair, Row, rows_of, scores
from semblance.models.files.tables import read_tsv
from semblance.models.paraphrases.classifier import ParaphraseClassifier
from semblance.service.model_loading.classifiers import FOLDER
from tests.support.results import save_results
from tests.support.wide_console import wide_console

MODEL = "multilingual"
SHIPPED = FOLDER / "multilingual" / "classifier.safetensors"
SAME_FROM, OTHERS_TO = 4.5, 3.0  # scores of STS-B, from 0 to 5
HITS = 0.5
CHANGES: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "en": [("denied", r"\b(is|are)\b", r"\1 not"), ("woman", r"\bman\b", "woman")],
    "de": [("denied", r"\b(ist|sind)\b", r"\1 nicht"), ("woman", r"\bEin Mann\b", "Eine Frau")],
    "es": [("denied", r"\b(está|están)\b", r"no \1"), ("woman", r"\bUn hombre\b", "Una mujer")],
    "fr": [("denied", r"\b(est|sont)\b", r"n'\1 pas"), ("woman", r"\bUn homme\b", "Une femme")],
    "it": [("denied", r"\b(sta|stanno)\b", r"non \1"), ("woman", r"\bUn uomo\b", "Una donna")],
    "pt": [("denied", r"\b(está|estão)\b", r"não \1"), ("woman", r"\bUm homem\b", "Uma mulher")],
}
"""Language -> the kind of a change, what is replaced, and by what."""


def pairs_of(data: Path, language: str) -> Iterator[Pair]:
    """The pairs of a language."""
    files = [data / "multilingual" / "stsb" / f"{language}.{part}.tsv" for part in ("dev", "train")]
    rows = [row for file in files for row in read_tsv(file, ("sentence1", "sentence2", "score"))]
    pairs = [(row.text("sentence1"), row.text("sentence2"), float(row.text("score"))) for row in rows]
    yield from (Pair(DUPLICATES, a, b) for a, b, score in pairs if score >= SAME_FROM and a != b)
    yield from (Pair("others", a, b) for a, b, score in [pair for pair in pairs if pair[2] <= OTHERS_TO][:COUNT])
    texts = sorted({a for a, _, _ in pairs})
    for text in random.Random(SEED).sample(texts, COUNT):
        for kind, replaced, by in CHANGES[language]:
            changed = re.sub(replaced, by, text, count=1)
            if changed != text:
                yield Pair(kind, text, changed)


def rows_by_language(data: Path, classifier: ParaphraseClassifier) -> Iterator[tuple[str, Sequence[Pair], Row]]:
    """The rows of each language, and its pairs."""
    for language in CHANGES:
        pairs = [*pairs_of(data, language)]
        for row in rows_of(pairs, scores(pairs, classifier, MODEL)):
            if row.hits == HITS:
                yield language, pairs, row


def main() -> None:
    """Score the pairs of all languages, print and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--classifier", type=Path, default=SHIPPED, help="safetensors file of a classifier")
    options = parser.parse_args()
    table = Table("language", "rule", "same", "cut", "others", "denied", "woman")
    found = []
    for language, pairs, row in rows_by_language(options.data, ParaphraseClassifier.read(options.classifier)):
        kinds = np.array([pair.kind for pair in pairs])
        shown = [f"{row.taken[kind]:.1f} ({(kinds == kind).sum()})" for kind in ("others", "denied", "woman")]
        table.add_row(language, row.rule, str((kinds == DUPLICATES).sum()), f"{row.cut:.2f}", *shown)
        found.append({"language": language, **asdict(row)})
    wide_console().print(table)
    save_results("paraphrases_by_language", found)


if __name__ == "__main__":
    main()
