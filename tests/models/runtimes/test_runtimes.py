"""What every runtime owes: the vectors of torch in float32, and the same ones for a text whatever stands beside it."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from semblance.models import catalogue
from semblance.models.embeddings import Floats, TokenEmbeddings, unit_rows
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import DeviceLost, NotExportable
from semblance.models.networks import device_errors
from semblance.models.networks.shape_buckets import LaidOut
from semblance.models.runtime import RUNTIMES, Compute, NetworkFacts, Precision
from semblance.models.runtimes import openvino
from semblance.models.runtimes.torch import Torch
from semblance.models.similarities.rcmd import Rcmd
from tests.conftest import EXPORTS, built_in_checkpoint
from tests.support.small_model import BUILT_IN_FOLDER

WORDS = (
    "the",
    "price",
    "of",
    "used",
    "cars",
    "fell",
    "while",
    "unbelievably",
    "new",
    "ones",
    "were",
    "never",
    "driven",
)
WAYS: list[tuple[str, Precision]] = [
    ("openvino", "float32"),
    ("openvino", "bfloat16"),
    ("torch", "bfloat16"),
    ("torch_packed", "float32"),
    ("torch_packed", "bfloat16"),
]


@pytest.fixture(scope="module", params=WAYS, ids=" ".join)
def transformer(request: pytest.FixtureRequest) -> Transformer:
    runtime, precision = request.param
    return Transformer("m", built_in_checkpoint(), Compute("cpu", precision, runtime, EXPORTS))


def texts(count: int, most_words: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, most_words))) for _ in range(count)]


def encoded(encoder: Transformer, given: list[str]) -> list[TokenEmbeddings]:
    return encoder.encode(encoder.tokenize(given, "query", "END"), "tokens")


def least_cosine(a: Floats, b: Floats) -> float:
    return float((unit_rows(a) * unit_rows(b)).sum(axis=-1).min())


def test_vectors_are_those_of_sentence_transformers(transformer: Transformer) -> None:
    given = texts(40, 30, 1)
    oracle = SentenceTransformer(str(BUILT_IN_FOLDER), device="cpu").encode(given)
    found = np.stack([each.pooled() for each in encoded(transformer, given)])
    assert least_cosine(found, oracle) > (0.999999 if "float32" in str(transformer._runtime) else 0.9995)


@pytest.mark.parametrize("seed", range(4))
def test_a_text_is_the_same_alone_and_in_any_batch(transformer: Transformer, seed: int) -> None:
    given = texts(random.Random(seed).choice((2, 7, 33)), 120, seed)
    together = encoded(transformer, given)
    alone = [encoded(transformer, [text])[0] for text in given]
    for a, b in zip(together, alone, strict=True):
        assert least_cosine(a.vectors, b.vectors) >= 0.9998
        assert least_cosine(a.pooled(), b.pooled()) >= 0.9999
    for measure in (Rcmd(),):
        scores = [[measure.score(group[0], other) for other in group] for group in (together, alone)]
        assert scores[0] == pytest.approx(scores[1], abs=0.005)


def test_padding_up_to_few_sizes_is_no_part_of_the_answer(transformer: Transformer) -> None:
    for count, words in ((1, 1), (3, 5), (9, 17), (29, 3), (130, 1)):
        given = texts(count, words, count)
        found = encoded(transformer, given)
        assert [len(each) for each in found] == [len(each) for each in transformer.tokenize(given, "query", "END")]
        assert all(np.isfinite(each.vectors).all() for each in found)


def test_the_longest_text_that_is_promised_can_be_encoded(transformer: Transformer) -> None:
    [found] = encoded(transformer, ["word " * 1000])
    assert len(found) == transformer.max_tokens
    assert found.text is not None
    assert found.text.truncated


def test_a_kept_export_is_loaded_without_torch_and_nobody_is_told(transformer: Transformer, tmp_path: Path) -> None:
    del transformer  # so that it is kept
    code = f"""
import socket, sys
def refuse(*arguments, **named): raise AssertionError("a connection was opened")
socket.socket.connect = socket.getaddrinfo = refuse
from pathlib import Path
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.encoders.transformer import Transformer
from semblance.models.runtime import Compute
compute = Compute("cpu", "float32", "openvino", Path({str(EXPORTS)!r}))
Transformer("m", read_checkpoint(Path({str(BUILT_IN_FOLDER)!r})), compute)
print(sorted({{"torch", "transformers", "openvino_telemetry.main"}} & {{*sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert done.stdout == "[]\n"
    assert not (tmp_path / "intel").exists()


@pytest.mark.parametrize(
    ("of", "name", "another"),
    [
        (openvino, "FORMAT", 0),
        (LaidOut, "_fields", LaidOut._fields[::-1]),
        (NetworkFacts, "__slots__", (*NetworkFacts.__slots__, "more")),
    ],
    ids=["format", "inputs", "facts"],
)
def test_an_export_of_another_format_is_not_used(
    monkeypatch: pytest.MonkeyPatch, of: Any, name: str, another: Any
) -> None:
    compute = Compute("cpu", "float32", "openvino", EXPORTS)
    openvino.OpenVino(built_in_checkpoint(), compute)  # so that it is kept

    def refuse(*_: object) -> None:
        raise NotExportable("it would be made anew")

    monkeypatch.setattr(openvino, "_export", refuse)
    openvino.OpenVino(built_in_checkpoint(), compute)
    monkeypatch.setattr(of, name, another)
    with pytest.raises(NotExportable, match="made anew"):
        openvino.OpenVino(built_in_checkpoint(), compute)


def test_openvino_is_for_cpus() -> None:
    with pytest.raises(NotExportable, match="cuda"):
        Transformer("m", built_in_checkpoint(), Compute("cuda", "float32", "openvino"))


@pytest.mark.parametrize("runtime", ["torch", "torch_packed"])
def test_torch_uses_no_more_processors_than_it_was_given(runtime: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", given.append)
    for threads in (None, 3):
        catalogue.find(RUNTIMES, runtime)(built_in_checkpoint(), Compute("cpu", "float32", runtime, EXPORTS, threads))
    assert given == [3]


def test_a_device_that_is_lost_while_a_model_loads_is_no_fault_of_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise torch.AcceleratorError("an illegal memory access was encountered")

    monkeypatch.setattr(Torch, "_run", fail)
    monkeypatch.setattr(device_errors, "_answers", lambda _: False)
    with pytest.raises(DeviceLost, match="illegal memory access"):
        Transformer("m", built_in_checkpoint(), Compute())
