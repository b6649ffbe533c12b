"""Sentences of corpora whose licenses allow training."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from semblance.models.files.lines import json_lines
from semblance.models.files.tables import collapse_spaces, read_tsv, tsv_rows
from semblance.models.tokenization.passages import sentences
from semblance_lab.training.errors import BadTrainingData

WORDS = range(4, 23)  # of a sentence
SPLITS = ("train", "restval")  # of the captions: no evaluation has the others
SIZES: Mapping[str, int] = {
    "captions": 11_000,
    "mnli": 9_000,
    "snli": 4_000,
    "xquad": 1_190,
    "movie_reviews": 3_000,
    "state_union": 3_000,
    "gutenberg": 3_000,
}
"""Corpus -> how many of its sentences are drawn."""


def read_sentences(data: Path, seed: int) -> Mapping[str, list[str]]:
    """Sentences of each corpus of `SIZES`, different ones in random order.

    Args:
        data: folder of benchmark data.
        seed: of the draws.

    Raises:
        BadDataSet: a file cannot be read; the message names it.
    """
    draws = random.Random(seed)  # noqa: S311 - a sample, no secret
    return {name: _sample(_READERS[name](data), SIZES[name], draws) for name in SIZES}


def _sample(texts: Iterator[str], size: int, draws: random.Random) -> list[str]:
    cleaned = (re.sub(r"\s+([.,?!'])", r"\1", collapse_spaces(text)) for text in texts)
    usable = list(dict.fromkeys(text for text in cleaned if len(text.split()) in WORDS))
    return draws.sample(usable, min(size, len(usable)))


def _captions(data: Path) -> Iterator[str]:
    rows = tsv_rows(data / "captions" / "coco_val2014_captions.tsv")
    next(rows)
    for _, (_, split, _, *texts) in rows:
        if split in SPLITS:
            yield from texts


def _mnli(data: Path) -> Iterator[str]:
    for part in ("train", "dev"):
        for row in read_tsv(data / "nli" / f"mnli_sample.{part}.tsv", ["premise", "hypothesis"]):
            yield row.fields["premise"]
            yield row.fields["hypothesis"]


def _snli(data: Path) -> Iterator[str]:
    for part in ("dev", "test"):
        for row in read_tsv(data / "nli" / f"snli.{part}.tsv", ["hypothesis"]):
            yield row.fields["hypothesis"]


def _xquad(data: Path) -> Iterator[str]:
    articles = json.loads((data / "multilingual" / "xquad" / "en.json").read_text("utf-8"))["data"]
    for article in articles:
        for paragraph in article["paragraphs"]:
            yield from (each["question"] for each in paragraph["qas"])


def _texts(name: str) -> Callable[[Path], Iterator[str]]:
    def read(data: Path) -> Iterator[str]:
        for _, fields in json_lines(data / "text" / f"{name}.jsonl", BadTrainingData):
            if "sentences" in fields:
                yield from map(str, fields["sentences"])
            else:
                text = str(fields["text"])
                yield from (text[start:end] for start, end in sentences(text))

    return read


_READERS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    "captions": _captions,
    "mnli": _mnli,
    "snli": _snli,
    "xquad": _xquad,
    "movie_reviews": _texts("movie_reviews"),
    "state_union": _texts("state_union"),
    "gutenberg": _texts("gutenberg"),
}
