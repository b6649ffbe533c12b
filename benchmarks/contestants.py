"""What is measured in turn: each in a process of its own, so that its threads and settings touch no other's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Concatenate, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Contestant:
    """One of them; its process sleeps while it is not asked for anything."""

    name: str
    pool: ProcessPoolExecutor

    def do(self, work: Callable[Concatenate[str, Given], Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """What `work`, a function of a module, comes to in its process, given its name and the rest."""
        return self.pool.submit(work, self.name, *args, **kwargs).result()


@contextmanager
def contestants(names: Sequence[str]) -> Iterator[list[Contestant]]:
    """One for each name, until the end of the block."""
    os.environ.pop("OMP_NUM_THREADS", None)  # each shall take as many threads as it thinks best
    made = [Contestant(name, ProcessPoolExecutor(1, get_context("spawn"))) for name in names]
    try:
        yield made
    finally:
        for each in made:
            each.pool.shutdown()


def in_turn(contestants: Sequence[Contestant], number: int) -> list[Contestant]:
    """All of them in round `number`, every other round from the last to the first."""
    return list(contestants if number % 2 == 0 else reversed(contestants))
