"""False hits at equal hit rates: how often are different texts classified as the same?

    python -m benchmarks.quality.paraphrases --data "$SEMBLANCE_DATA"

cuts the scores of a rule where it takes a share of the duplicate questions (QQP dev) for the same. Printed is how many
others it then takes for the same, in percent: questions that are no duplicates, pairs that differ in one word by its
kind (Breaking NLI), captions with one change (SugarCrepe), and generated reversals: a word of texts of both sets is
replaced by its opposite. Of `synonyms`, more is better. The rules are: the cosine; `rcmd_words`; the cosine of pairs
with equal content words, and of pairs of which both or none deny; and the log-odds of the paraphrase classifier. A rule
that takes fewer duplicates whatever the cut has no figure.

Breaking NLI and SugarCrepe are training data of the shipped classifier; for figures of kinds that it has not seen,
train one without them, and name its file by `--classifier`.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings
from semblance.models.files.tables import read_tsv
from semblance.models.paraphrases.classifier import ParaphraseClassifier
from semblance.models.paraphrases.reasons import reasons
from semblance.models.paraphrases.words import TextWords
from semblance.models.runtime import Compute
from semblance.service.model_loading.classifiers import FOLDER
from semblance.service.model_loading.registry import read_source
from tests.support.results import save_results
from tests.support.wide_console import wide_console

MODEL = "minilm-graded"
SHIPPED = FOLDER / "minilm_graded" / "classifier.safetensors"
HITS = (0.3, 0.5, 0.7)
COUNT = 1500  # pairs of QQP with either label, and captions
SEED = 1
DUPLICATES = "duplicates"
TIMED = 500  # pairs
OPPOSITES = {
    "on": "off", "off": "on", "with": "without", "without": "with", "before": "after", "after": "before",
    "more": "less", "less": "more", "up": "down", "down": "up", "always": "never", "best": "worst", "buy": "sell",
    "increase": "decrease", "start": "stop", "open": "closed", "inside": "outside", "first": "last",
}  # fmt: skip


class Pair(NamedTuple):
    """Two texts and the kind of their difference."""

    kind: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Row:
    """Pairs of each kind that a rule takes for the same where it takes `hits` of the duplicates, in percent."""

    rule: str
    hits: float
    cut: float
    taken: Mapping[str, float]


def pairs_of(data: Path, count: int = COUNT) -> Iterator[Pair]:
    """Pairs of all kinds, at most `count` of questions by label; the same ones are `duplicates` and `synonyms`."""
    rng = random.Random(SEED)
    questions = [*read_tsv(data / "paraphrase" / "qqp_sample.dev.tsv", ("sentence1", "sentence2", "label"))]
    for label, kind in (("1", DUPLICATES), ("0", "questions")):
        rows = [row for row in questions if row.text("label") == label]
        for row in rng.sample(rows, min(count, len(rows))):
            yield Pair(kind, row.text("sentence1"), row.text("sentence2"))
    contrast = [*read_tsv(data / "contrast" / "breaking_nli.tsv", ("sentence1", "sentence2", "label", "category"))]
    for row in contrast:
        if row.text("label") == ("entailment" if row.text("category") == "synonyms" else "contradiction"):
            yield Pair(row.text("category"), row.text("sentence1"), row.text("sentence2"))
    captions = (data / "hard_negatives" / "sugarcrepe_triplets.tsv").read_text("utf-8").splitlines()[1:]
    for _, caption, changed, _ in (line.split("\t") for line in rng.sample(captions, COUNT)):
        yield Pair("captions", caption, changed)
    texts = {row.text("sentence1") for row in [*questions, *contrast]}
    for text in sorted(texts):
        reversed_text = re.sub(rf"\b({'|'.join(OPPOSITES)})\b", lambda word: OPPOSITES[word[0]], text, count=1)
        if reversed_text != text:
            yield Pair("reversals", text, reversed_text)


def scores(pairs: Sequence[Pair], classifier: ParaphraseClassifier, model: str = MODEL) -> Mapping[str, Doubles]:
    """The scores of all pairs by each rule."""
    encoder = read_source(model).load(model, Compute())
    embeddings: dict[str, TokenEmbeddings] = {}
    texts = sorted({text for pair in pairs for text in (pair.a, pair.b)}, key=len)
    for start in track(range(0, len(texts), 256), "texts", console=Console(stderr=True)):
        batch = texts[start : start + 256]
        encoded = encoder.encode(encoder.tokenize(batch, "query", "END"), "tokens")
        embeddings |= dict(zip(batch, encoded, strict=True))
    print_time(pairs[:TIMED], embeddings, classifier)
    words = {text: TextWords.of(each, classifier.languages) for text, each in embeddings.items()}
    cosine, measure = similarity("cosine"), similarity("rcmd_words")
    rows = []
    for pair in track(pairs, "pairs", console=Console(stderr=True)):
        a, b = embeddings[pair.a], embeddings[pair.b]
        left, right = words[pair.a], words[pair.b]
        score = cosine.score(a, b)
        denied = (left.negations.sum() - right.negations.sum()) % 2
        gated = score if content(left) == content(right) else -np.inf
        log_odds = classifier.classify(left, right).log_odds if len(left) and len(right) else -np.inf
        rows.append((score, measure.score(a, b), gated, -np.inf if denied else score, log_odds))
    names = ("cosine", "rcmd_words", "equal content words", "negation guard", "classifier")
    return dict(zip(names, np.array(rows).T, strict=True))


def print_time(
    pairs: Sequence[Pair], embeddings: Mapping[str, TokenEmbeddings], classifier: ParaphraseClassifier
) -> None:
    """Print the time of a verdict with its reasons from the vectors of both texts."""
    times = []
    for pair in pairs:
        start = perf_counter()
        reasons(classifier.classify(TextWords.of(embeddings[pair.a]), TextWords.of(embeddings[pair.b])))
        times.append(1000 * (perf_counter() - start))
    wide_console().print(f"a verdict: {median(times):.2f} ms, of {len(pairs)} duplicate questions (median)")


def content(words: TextWords) -> set[str]:
    """The stems of the content words."""
    return {stem for stem, says_much in zip(words.stems, words.content, strict=True) if says_much}


def rows_of(pairs: Sequence[Pair], found: Mapping[str, Doubles]) -> Iterator[Row]:
    """The rules at all shares of duplicates that they can take."""
    kinds = np.array([pair.kind for pair in pairs])
    for rule, values in found.items():
        for hits in HITS:
            cut = float(np.quantile(values[kinds == DUPLICATES], 1 - hits, method="lower"))
            taken = {kind: 100 * float((values[kinds == kind] >= cut).mean()) for kind in dict.fromkeys(kinds.tolist())}
            if np.isfinite(cut):
                yield Row(rule, hits, cut, taken)


def print_rows(rows: Sequence[Row], pairs: Sequence[Pair]) -> None:
    """Print a line for each rule and share."""
    kinds, counts = list(rows[0].taken), Counter(pair.kind for pair in pairs)
    table = Table("rule", "duplicates", "cut", *(f"{kind} ({counts[kind]})" for kind in kinds[1:]))
    for row in rows:
        table.add_row(row.rule, f"{row.hits:.0%}", f"{row.cut:.3f}", *(f"{row.taken[kind]:.1f}" for kind in kinds[1:]))
    wide_console().print(table)


def main() -> None:
    """Score all pairs, print and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--classifier", type=Path, default=SHIPPED, help="safetensors file of a classifier")
    options = parser.parse_args()
    pairs = [*pairs_of(options.data)]
    rows = [*rows_of(pairs, scores(pairs, ParaphraseClassifier.read(options.classifier)))]
    print_rows(rows, pairs)
    save_results("paraphrases", [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
