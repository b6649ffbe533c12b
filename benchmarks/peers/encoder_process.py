"""An encoder in a process of its own, whose threads and settings touch no other's.

Its Python may be that of another environment: this module and the programs that call `answer` need NumPy alone of what
this project needs. A question is a line of JSON on standard input, and so is the answer on standard output.
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

from benchmarks.peers.environments import variables
from tests.support.project import PROJECT

Encode: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]  # b texts to (b, d)


class EncoderProcess:
    """What runs `answer`, until the end of the block; it sleeps while it is not asked."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=PROJECT, env=variables(), stdin=pipe, stdout=pipe, text=True)

    def __enter__(self) -> EncoderProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()  # which closes its input

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(b, d)."""
        return np.array(self._ask(texts, None), np.float32)

    def per_second(self, texts: Sequence[str], at_once: int) -> float:
        """Texts a second, given so many at once."""
        return len(texts) / float(self._ask(texts, at_once))

    def _ask(self, texts: Sequence[str], at_once: int | None) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # then there is no answer either
            self._process.stdin.write(json.dumps([list(texts), at_once]) + "\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.name} ended before it answered: what it said stands above")
        return json.loads(answer)


def answer(load: Callable[[], Encode]) -> None:
    """Load an encoder, and answer with vectors or with seconds until no more is asked."""
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)  # libraries print
        encode = load()
        for line in sys.stdin:
            texts, at_once = json.loads(line)
            answers.write(json.dumps(encode(texts).tolist() if at_once is None else _seconds(encode, texts, at_once)))
            answers.write("\n")
            answers.flush()


def _seconds(encode: Encode, texts: Sequence[str], at_once: int) -> float:
    began = time.perf_counter()
    for start in range(0, len(texts), at_once):
        encode(texts[start : start + at_once])
    return time.perf_counter() - began
