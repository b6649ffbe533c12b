"""Commands of encoders with the same model: this project's and sentence-transformers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias, get_args

from benchmarks.baselines.environments import environment
from semblance.models import catalogue
from semblance.models.embeddings import Precision
from semblance.models.runtime import RUNTIMES

BACKENDS = ("sentence-transformers[onnx,openvino]",)
Command: TypeAlias = Callable[[str, Path], Sequence[str]]
"""Name and float32 folder of a model to the command of an encoder process; may first create an environment."""


def _semblance(runtime: str, precision: Precision, model: str, _: Path) -> Sequence[str]:
    return (sys.executable, "-m", "benchmarks.baselines.semblance_encoder", model, runtime, precision)


def _torch(precision: Precision, _: str, folder: Path) -> Sequence[str]:
    return _sentence_transformers(sys.executable, "torch", precision, folder)


def _backend(backend: str, precision: Precision, _: str, folder: Path) -> Sequence[str]:
    return _sentence_transformers(str(environment("sentence-transformers", BACKENDS)), backend, precision, folder)


def _sentence_transformers(python: str, backend: str, precision: Precision, folder: Path) -> Sequence[str]:
    program = "benchmarks.baselines.sentence_transformers_encoder"
    return (python, "-m", program, str(folder), backend, precision)


REFERENCE = "sentence-transformers float32"
BASELINES: Mapping[str, Command] = {
    REFERENCE: partial(_torch, "float32"),
    "sentence-transformers bfloat16": partial(_torch, "bfloat16"),
    "sentence-transformers onnx float32": partial(_backend, "onnx", "float32"),
    "sentence-transformers openvino bfloat16": partial(_backend, "openvino", "bfloat16"),
}
SERVED: Sequence[tuple[str, Precision]] = [
    (runtime, precision)
    for runtime in catalogue.names(RUNTIMES)
    for precision in get_args(Precision)
    if precision != "int8" or runtime == "openvino"
]
OURS: Mapping[str, Command] = {f"semblance {' '.join(each)}": partial(_semblance, *each) for each in SERVED}
ENCODERS = {**OURS, **BASELINES}
