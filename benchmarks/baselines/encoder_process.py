"""An encoder in its own process, whose threads and settings do not affect others.

Its Python may belong to another environment: this module and the programs that call `serve_encoder` need only NumPy.
A request is a line of JSON on standard input, and a response one on standard output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.environments import child_environment
from tests.support.project import PROJECT

Encode: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]  # b texts to (b, d)


class EncoderProcess:
    """A process that runs `serve_encoder` until the block ends; it is idle between requests."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=PROJECT, env=child_environment(), stdin=pipe, stdout=pipe, text=True
        )

    def __enter__(self) -> EncoderProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # closes its input

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(b, d) vectors of texts."""
        return np.array(self._request(texts, None), np.float32)

    def per_second(self, texts: Sequence[str], batch_size: int) -> float:
        """Texts encoded per second, in batches of this size."""
        return len(texts) / float(self._request(texts, batch_size))

    def _request(self, texts: Sequence[str], batch_size: int | None) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # then there is no response either
            self._process.stdin.write(json.dumps([list(texts), batch_size]) + "\n")
            self._process.stdin.flush()
        response = self._process.stdout.readline()
        if not response:
            raise RuntimeError(f"{self.name} ended before it answered; see its output above")
        return json.loads(response)


def serve_encoder(load: Callable[[], Encode]) -> None:
    """Load an encoder, and answer requests with vectors or with seconds until the input ends."""
    with os.fdopen(os.dup(1), "w") as responses:
        os.dup2(2, 1)  # libraries print to standard output
        encode = load()
        for line in sys.stdin:
            texts, batch_size = json.loads(line)
            response = encode(texts).tolist() if batch_size is None else _seconds(encode, texts, batch_size)
            responses.write(json.dumps(response) + "\n")
            responses.flush()


def _seconds(encode: Encode, texts: Sequence[str], batch_size: int) -> float:
    start_s = time.perf_counter()
    for start in range(0, len(texts), batch_size):
        encode(texts[start : start + batch_size])
    return time.perf_counter() - start_s
