"""Encoders in separate processes, as benchmarks compare them."""

from __future__ import annotations

import sys

import pytest

from benchmarks.baselines.encoder_process import EncoderProcess

PROGRAM = """
import os
import numpy as np
from benchmarks.baselines.encoder_process import serve_encoder

def load():
    print("a library prints this")
    variables = sum(f"{library}_NUM_THREADS" in os.environ for library in ("OMP", "OPENBLAS"))
    return lambda texts: np.array([[len(text), variables] for text in texts], np.float32)

serve_encoder(load)
"""


def test_encoder_process_isolates_output_and_thread_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    with EncoderProcess("lengths", [sys.executable, "-c", PROGRAM]) as encoder:
        assert encoder.vectors(["a", "été"]).tolist() == [[1, 0], [3, 0]]
        assert encoder.per_second(["a", "b", "c"], batch_size=2) > 0
        assert encoder.vectors(["four"]).tolist() == [[4, 0]], "responses are in the order of requests"


def test_the_error_names_an_encoder_that_has_ended() -> None:
    with EncoderProcess("broken", [sys.executable, "-c", "raise SystemExit"]) as encoder:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="broken ended before it answered"):
                encoder.vectors(["a"])
