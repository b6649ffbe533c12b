"""An encoder that blocks until permitted, a worker whose clock stands still, and states of its queue."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import numpy as np

from semblance.models.embeddings import Precision, TokenEmbeddings, Want
from semblance.models.errors import DeviceLost
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.callers import set_caller
from semblance.service.observability.metrics import Metrics
from tests.support.waiting import eventually

ROOMY = Limits(batch_tokens=4, request_tokens=10**6, queued_tokens=10**6)
NEVER_S = 600.0  # until an idle model is probed, which no test waits for


class Panic(BaseException):
    """A panic of a Rust library: not an Exception."""


class SlowEncoder:
    """Encodes each text as one token with its number as vector; each batch needs a permit."""

    name, dim, max_tokens, space, build = "slow", 1, 8, "s", "b"
    precision: Precision = "float32"

    def __init__(self, room: int = 1000) -> None:
        self.room = room
        self.entered = threading.Event()
        self.permits = threading.Semaphore(0)
        self.began: list[int] = []  # sizes of the batches that began, permitted or not
        self.batches: list[list[str]] = []
        self.thread: set[str] = set()

    def tokenize(self, texts: Sequence[str], role: Role, truncate: Truncate) -> list[TokenizedText]:
        del role, truncate
        zeros = np.zeros((1, 2), np.int32)
        return [TokenizedText(text, np.zeros(1, np.int32), zeros, np.zeros(1, np.int32)) for text in texts]

    def encode(self, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
        del want
        self.began.append(len(tokenized))
        self.entered.set()
        self.permits.acquire()
        self.thread.add(threading.current_thread().name)
        self.batches.append([text.text for text in tokenized])
        texts = {text.text for text in tokenized}
        if "bad" in texts:
            raise ValueError("a bad text")
        if "panic" in texts:
            raise Panic("hunter2")
        if "lost" in texts:
            raise DeviceLost("the device fell off the bus")
        if len(texts) > self.room:
            raise MemoryError("out of memory")
        one = np.ones(1, np.float32)
        return [TokenEmbeddings(np.array([[float(text.text)]], np.float32), one, text) for text in tokenized]


def new_worker(
    limits: Limits = ROOMY,
    *,
    idle_check_s: float = NEVER_S,
    on_lost: Callable[[], None] = lambda: None,
    threads: int = 1,
    clock: Callable[[], float] = lambda: 1.0,
) -> Worker:
    """A worker for whom no time passes, unless the test moves the clock."""
    return Worker(limits, Metrics(), idle_check_s, on_lost, threads, clock)


async def busy(worker: Worker, slow: SlowEncoder, text: str = "0") -> asyncio.Task[list[float]]:
    """A request that keeps the model busy, so that later ones gather in the queue."""
    running = asyncio.create_task(numbers(worker, slow, [text]))
    await eventually(slow.entered.is_set)
    return running


async def queued(worker: Worker, texts: int, *, bulk: int = 0) -> None:
    """Wait until the queue contains that number of texts of one token each."""
    await eventually(lambda: worker._queue._turns.tokens == {"interactive": texts, "bulk": bulk})


async def numbers(
    worker: Worker, slow: SlowEncoder, texts: list[str], *, bulk: bool = False, caller: str = ""
) -> list[float]:
    """Encode texts; in a task of its own if there are several callers."""
    set_caller(caller)
    embeddings = await worker.encode(slow, slow.tokenize(texts, "query", "END"), "tokens", bulk=bulk)
    return [float(each.vectors[0, 0]) for each in embeddings]
