"""Vectors of real sentences, encoded once by the built-in model and cached in a file.

    python -m tests.support.sentence_vectors 100500

uses distinct sentences from $SEMBLANCE_DATA/text/*.jsonl, in a random but reproducible order. The file of a
larger count serves smaller ones too.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.progress import track

from semblance.models.embeddings import Floats
from semblance.models.encoders.transformer import Transformer
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.runtime import Compute
from semblance.models.runtimes.openvino import OpenVino
from semblance.service.model_loading.registry import read_source
from tests.support.results import RESULTS

MAX_TOKENS = 64  # longer sentences are few and would take much of the time; they are truncated
BATCH = 64
MIN_WORDS = 4  # shorter ones are headings and names
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[A-Z\"'(])")


def sentence_vectors(count: int) -> Floats:
    """(count, d) unit vectors of distinct sentences.

    Raises:
        RuntimeError: the data is missing or has too few sentences.
    """
    checkpoint = replace(read_checkpoint(read_source("minilm").location), max_tokens=MAX_TOKENS)
    compute = Compute("cpu", OpenVino.fastest_precision("cpu"), "openvino")
    encoder_id = f"{checkpoint.space[:12]}-{compute.runtime}-{compute.precision}-{MAX_TOKENS}"
    name = f"sentence-vectors-{encoder_id}"
    cached = (int(file.stem.rpartition("-")[2]) for file in RESULTS.glob(f"{name}-*.npy"))
    rows = min((each for each in cached if each >= count), default=count)  # fewer sentences are the first of more
    file = RESULTS / f"{name}-{rows}.npy"
    if not file.is_file():
        vectors = _encode(Transformer("minilm", checkpoint, compute), sentences(count))
        RESULTS.mkdir(exist_ok=True)
        partial = file.with_name(f"partial-{file.name}")
        np.save(partial, vectors)
        partial.replace(file)
    loaded: Floats = np.load(file, allow_pickle=False)[:count]
    return loaded


def sentences(count: int) -> list[str]:
    data = os.environ.get("SEMBLANCE_DATA")
    if not data:
        raise RuntimeError("set SEMBLANCE_DATA to the folder that holds text/*.jsonl")
    distinct = sorted({sentence for file in sorted(Path(data, "text").glob("*.jsonl")) for sentence in _read(file)})
    if len(distinct) < count:
        raise RuntimeError(f"{data}/text has {len(distinct)} distinct sentences, not {count}")
    random.Random(0).shuffle(distinct)
    return distinct[:count]


def _read(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as stream:
        for line in stream:
            paragraph = json.loads(line)
            split = paragraph["sentences"] if "sentences" in paragraph else SENTENCE_END.split(paragraph["text"])
            yield from (sentence.strip() for sentence in split if len(sentence.split()) >= MIN_WORDS)


def _encode(encoder: Transformer, sentences: list[str]) -> Floats:
    vectors = np.empty((len(sentences), encoder.dim), np.float32)
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))  # for little padding
    for start in track(range(0, len(order), BATCH), "encoding"):
        batch = order[start : start + BATCH]
        tokenized = encoder.tokenize([sentences[i] for i in batch], "document", "END")
        vectors[batch] = [each.pooled() for each in encoder.encode(tokenized, "pooled")]
    return vectors


if __name__ == "__main__":
    print(sentence_vectors(int(sys.argv[1])).shape)
