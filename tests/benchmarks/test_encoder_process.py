"""Encoders in processes of their own, as benchmarks compare them."""

from __future__ import annotations

import sys

import pytest

from benchmarks.peers.encoder_process import EncoderProcess

PROGRAM = """
import os
import numpy as np
from benchmarks.peers.encoder_process import answer

def loaded():
    print("a library greets")
    told = sum(f"{library}_NUM_THREADS" in os.environ for library in ("OMP", "OPENBLAS"))
    return lambda texts: np.array([[len(text), told] for text in texts], np.float32)

answer(loaded)
"""


def test_an_encoder_answers_whatever_is_printed_and_is_told_no_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    with EncoderProcess("lengths", [sys.executable, "-c", PROGRAM]) as encoder:
        assert encoder.vectors(["a", "été"]).tolist() == [[1, 0], [3, 0]]
        assert encoder.per_second(["a", "b", "c"], at_once=2) > 0
        assert encoder.vectors(["four"]).tolist() == [[4, 0]], "answers follow their questions"


def test_an_encoder_that_ended_is_named() -> None:
    with EncoderProcess("broken", [sys.executable, "-c", "raise SystemExit"]) as encoder:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="broken ended before it answered"):
                encoder.vectors(["a"])
