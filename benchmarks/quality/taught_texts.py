"""Write texts of many kinds, for a student to learn from teachers.

    python -m benchmarks.quality.taught_texts --data "$SEMBLANCE_DATA" --wordnet /usr/share/wordnet --out taught.tsv

writes rows with the column `text` for `semblance train distillation`, and prints how many are of each kind. Rows are
taken in twos: two captions of an image, a premise and what follows from it or contradicts it, successive sentences of
books, speeches, articles and reviews, successive glosses of WordNet: 5,000 pairs of each kind, or all of them.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from benchmarks.quality.words_model import WORDNET, read_glosses, read_triplets
from semblance.models.files.lines import json_lines
from semblance.models.files.tables import collapse_spaces
from semblance.models.tokenization.passages import sentences
from semblance_lab.training.errors import BadTrainingData
from tests.support.wide_console import wide_console

PAIRS = 5_000  # of each kind
WORDS = range(4, 61)  # of a text
UNKNOWN = "<unk>"  # a word that WikiText leaves out
CONTRASTS = "breaking_nli"
SPLITS = ("train", "restval")  # of the captions: no evaluation has them

Pair: TypeAlias = tuple[str, str]


def captions(data: Path) -> Iterator[Pair]:
    """Two captions of each image, the first of its row and the last."""
    for line in (data / "captions" / "coco_val2014_captions.tsv").read_text("utf-8").splitlines()[1:]:
        _, split, _, *texts = line.split("\t")
        if split in SPLITS:
            yield texts[0], texts[-1]


def entailments(data: Path) -> Iterator[Pair]:
    """A premise with what follows from it, and with what contradicts it; none of those that test contrasts."""
    for row in read_triplets(data)[1:]:
        premise, entailed, contradiction, source = row.split("\t")
        if CONTRASTS not in source:
            yield premise, entailed
            yield premise, contradiction


def successive(data: Path, *names: str) -> Iterator[Pair]:
    """Successive sentences of a paragraph, each in one pair."""
    for name in names:
        for _, fields in json_lines(data / "text" / f"{name}.jsonl", BadTrainingData):
            texts = fields["sentences"] if "sentences" in fields else list(_sentences(str(fields["text"])))
            yield from zip(texts[::2], texts[1::2], strict=False)


def _sentences(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        yield text[start:end]


def glosses(wordnet: Path) -> Iterator[Pair]:
    """Successive glosses, which are often of related words, each in one pair."""
    for name in WORDNET:
        yield from list(pairwise(read_glosses(wordnet / name)))[::2]


def sample(pairs: Iterable[Pair]) -> list[Pair]:
    """Up to `PAIRS` of the different pairs whose texts are neither too short nor too long; the same on every call."""
    cleaned = ((_cleaned(one), _cleaned(other)) for one, other in pairs)
    usable = dict.fromkeys(pair for pair in cleaned if all(map(_is_usable, pair)) and pair[0] != pair[1])
    return random.Random(0).sample(list(usable), min(PAIRS, len(usable)))


def _cleaned(text: str) -> str:
    return collapse_spaces(text.replace(" @-@ ", "-").replace(" @,@ ", ",").replace(" @.@ ", "."))


def _is_usable(text: str) -> bool:
    return UNKNOWN not in text and len(text.split()) in WORDS


def pairs_by_kind(data: Path, wordnet: Path) -> Mapping[str, Sequence[Pair]]:
    """The pairs of each kind of text."""
    kinds: Mapping[str, Callable[[], Iterable[Pair]]] = {
        "captions": lambda: captions(data),
        "entailments": lambda: entailments(data),
        "books": lambda: successive(data, "gutenberg"),
        "speeches": lambda: successive(data, "state_union", "inaugural"),
        "articles": lambda: successive(data, "wikitext2_valid", "wikitext2_test"),
        "reviews": lambda: successive(data, "movie_reviews"),
        "glosses": lambda: glosses(wordnet),
    }
    return {name: sample(pairs()) for name, pairs in kinds.items()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks, as for semblance evaluate")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with WordNet's files data.noun and others")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    options = parser.parse_args()
    kinds = pairs_by_kind(options.data, options.wordnet)
    rows = ["text", *(text for pairs in kinds.values() for pair in pairs for text in pair)]
    options.out.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    for name, pairs in kinds.items():
        wide_console().print(f"{name}: {len(pairs):,} pairs")


if __name__ == "__main__":
    main()
