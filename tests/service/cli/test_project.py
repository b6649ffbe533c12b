"""`semblance project` for a network, whose vectors differ in fewer directions than they have dimensions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import semblance
from tests.support.small_model import DIM, load, make_small

WORDS = ("cat", "dog", "house", "tree", "ship", "lamp", "sleeps", "leaves", "sings", "red", "old", "here", "now")
TEXTS = [" ".join(np.random.default_rng(i).choice(WORDS, 6)) for i in range(150)]


def test_whitening_keeps_the_dimensions_of_a_network_that_vary(tmp_path: Path) -> None:
    small, out = make_small(tmp_path / "small"), tmp_path / "white.safetensors"
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS))
    options = ("--model", f"m={small}", "--projection", "whitening", "--texts", str(texts), "--out", str(out))
    ran = semblance("project", *options)
    assert ran.returncode == 0, ran.stderr
    assert f"whitening from {DIM} to {DIM - 1} dimensions, fitted to {len(TEXTS)} texts" in ran.stderr
    encoder = load(f"{small}?projection={out}")
    assert encoder.dim == DIM - 1
    [pooled] = [each.pooled() for each in encoder.encode(encoder.tokenize(TEXTS[:1], "query", "END"), "pooled")]
    assert np.linalg.norm(pooled) == pytest.approx(1, abs=1e-5)

    refused = semblance("project", *options, "--dims", str(DIM))
    assert refused.returncode == 1
    assert f"pass --dims {DIM - 1} or fewer, or omit --dims to keep all {DIM - 1}" in refused.stderr
