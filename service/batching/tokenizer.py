"""Tokenize in a thread; calls that arrive while it is busy are resolved together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from semblance.models.errors import BadTexts, TextProblem
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.callers import current_caller
from semblance.service.errors import NotReady
from semblance.service.threads import Completion, deliver
from semblance.service.turns import ByCaller

TASK_TEXTS = 64  # a call with thousands of texts is split, so that other calls run in between
TASK_CHARS = 50_000  # of one task, about 20 ms, unless a single text has more
ROUND_CHARS = 50_000  # after which the finished tasks are resolved


@dataclass(frozen=True, eq=False, slots=True)
class _Task:
    """Texts to tokenize and the future for their tokens."""

    encoder: Encoder
    texts: Sequence[str]
    role: Role
    truncate: Truncate
    future: asyncio.Future[list[TokenizedText]]

    @property
    def kind(self) -> Hashable:
        """Equal for tasks whose texts may be tokenized in one call."""
        return id(self.encoder), self.role, self.truncate


class TokenizerThread:
    """Tokenizes off the event loop; callers take turns, each with its tasks in order."""

    def __init__(self) -> None:
        self._waiting = ByCaller[_Task]()
        self._stopping = False
        self._wake = threading.Condition()
        threading.Thread(target=self._run, name="tokenizer", daemon=True).start()

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> list[TokenizedText]:
        """Tokens of each text. Raises BadTexts with the position of every rejected text; NotReady."""
        tokenized: list[TokenizedText] = []
        problems: list[TextProblem] = []
        for start, part in _parts(texts):
            try:
                tokenized += await self._submit(encoder, part, role, truncate)
            except BadTexts as error:
                problems += [replace(problem, index=start + problem.index) for problem in error.problems]
        if problems:
            raise BadTexts(problems)
        return tokenized

    def stop(self) -> None:
        """Fail queued tasks and end the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()

    def _submit(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> asyncio.Future[list[TokenizedText]]:
        future: asyncio.Future[list[TokenizedText]] = asyncio.get_running_loop().create_future()
        with self._wake:
            if self._stopping:
                raise NotReady()
            task = _Task(encoder, texts, role, truncate, future)
            self._waiting.add(current_caller(), task)
            self._wake.notify()
        return future

    def _run(self) -> None:
        while tasks := self._next_round():
            deliver(self._completions(tasks))

    def _next_round(self) -> list[_Task]:
        """Tasks to run and resolve together; empty at the end."""
        tasks: list[_Task] = []
        chars = 0
        with self._wake:
            self._wake.wait_for(lambda: self._waiting or self._stopping)
            while chars <= ROUND_CHARS and (taken := self._waiting.take()):
                tasks.append(taken[1])
                chars += sum(map(len, taken[1].texts))
        return tasks

    def _completions(self, tasks: Sequence[_Task]) -> Iterator[Completion]:
        """Tokens or an error for each task; nothing for those that their callers cancelled."""
        by_kind: dict[Hashable, list[_Task]] = {}
        for task in tasks:
            if not task.future.done():
                by_kind.setdefault(task.kind, []).append(task)
        for alike in by_kind.values():
            if self._stopping:
                yield from (Completion(task.future, error=NotReady()) for task in alike)
            else:
                yield from _tokenized(alike)


def _tokenized(tasks: Sequence[_Task]) -> Iterator[Completion]:
    """Tokenize tasks of one kind in one call, which costs a third of a call for each.

    An error belongs to one caller, not to the others or the thread: then each task has a call of its own.
    """
    first = tasks[0]
    failure: BaseException | None = None
    try:
        texts = [text for task in tasks for text in task.texts]
        tokenized = iter(first.encoder.tokenize(texts, first.role, first.truncate))
    except BaseException as error:  # noqa: BLE001 - including panics of native libraries
        failure = error
    if failure is None:
        for task in tasks:
            yield Completion(task.future, list(islice(tokenized, len(task.texts))))
    elif len(tasks) == 1:
        yield Completion(first.future, error=failure)
    else:
        for task in tasks:  # not in the handler, where each error would refer to the texts of all
            yield from _tokenized([task])


def _parts(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Split texts into tasks, each with the position of its first text."""
    start = chars = 0
    for i, text in enumerate(texts):
        if i > start and (i - start == TASK_TEXTS or chars + len(text) > TASK_CHARS):
            yield start, texts[start:i]
            start, chars = i, 0
        chars += len(text)
    if texts:
        yield start, texts[start:]
