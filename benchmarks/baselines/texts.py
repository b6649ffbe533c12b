"""Distinct texts to encode: real sentences, and random texts of known lengths."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

from benchmarks.speed.measures import random_texts
from semblance.models.files.tables import read_tsv
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
from tests.support.project import PROJECT

LENGTHS = range(8, 257)  # tokens of texts of mixed lengths


def sts_sentences() -> list[str]:
    """The sentences of STS Benchmark, in a random but reproducible order.

    Raises:
        RuntimeError: the data is missing.
    """
    data = os.environ.get("SEMBLANCE_DATA")
    if not data:
        raise RuntimeError("set SEMBLANCE_DATA to the folder that holds stsb/*.tsv (docs/measures.md)")
    columns = ("sentence1", "sentence2")
    rows = [row for file in sorted(Path(data, "stsb").glob("*.tsv")) for row in read_tsv(file, columns)]
    distinct = sorted({row.text(column) for row in rows for column in columns})
    random.Random(0).shuffle(distinct)
    return distinct


def sample_sentences() -> list[str]:
    """The questions of the sample collection; they need no data."""
    lines = (PROJECT / "service" / "sample" / "help_centre.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def mixed_texts(count: int) -> list[str]:
    """Texts of random words and random lengths in tokens."""
    encoder = read_source("minilm").load("minilm", Compute())
    rng = random.Random(0)
    lengths = rng.choices(LENGTHS, k=count)
    stock = {length: iter(random_texts(encoder, length, lengths.count(length))) for length in set(lengths)}
    return [next(stock[length]) for length in lengths]
