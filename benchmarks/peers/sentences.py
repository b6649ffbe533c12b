"""Texts to encode: real sentences, and random texts of known lengths. None stands there twice."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from benchmarks.speed.measures import random_texts
from semblance.models.files.tables import table
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
from tests.support.project import PROJECT

LENGTHS = range(8, 257)  # tokens of texts of mixed lengths


def sentences() -> list[str]:
    """The sentences of STS Benchmark, in an order that is random but always the same.

    Raises:
        RuntimeError: the data is not there.
    """
    data = os.environ.get("SEMBLANCE_DATA")
    if not data:
        raise RuntimeError("set SEMBLANCE_DATA to the folder that holds stsb/*.tsv (docs/measures.md)")
    columns = ("sentence1", "sentence2")
    rows = [row for file in sorted(Path(data, "stsb").glob("*.tsv")) for row in table(file, columns)]
    distinct = sorted({row.text(column) for row in rows for column in columns})
    random.Random(0).shuffle(distinct)
    return distinct


def sample_sentences() -> list[str]:
    """The questions of the sample collection, which are there without any data."""
    lines = (PROJECT / "service" / "sample" / "help_centre.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def mixed_texts(count: int) -> list[str]:
    """Texts of random words, of as many tokens as chance says."""
    encoder = read_source("minilm").load("minilm", Compute())
    chance = random.Random(0)
    lengths = chance.choices(LENGTHS, k=count)
    stock = {length: iter(random_texts(encoder, length, lengths.count(length))) for length in set(lengths)}
    return [next(stock[length]) for length in lengths]
