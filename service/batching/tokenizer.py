"""Tokenize in a thread; calls that arrive while it is busy are resolved together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue

from semblance.models.errors import BadTexts, TextProblem
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.errors import NotReady
from semblance.service.threads import Completion, deliver

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

    def run(self) -> Completion:
        """Tokenize the texts; an error belongs to the caller, not to the thread."""
        try:
            return Completion(self.future, self.encoder.tokenize(self.texts, self.role, self.truncate))
        except BaseException as error:  # noqa: BLE001 - including panics of native libraries
            return Completion(self.future, error=error)


class TokenizerThread:
    """Tokenizes off the event loop, in order of arrival."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._stopping = False
        self._stop_lock = threading.Lock()
        threading.Thread(target=self._run, name="tokenizer", daemon=True).start()

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> list[TokenizedText]:
        """Tokens of each text. Raises BadTexts with the position of every refused text; NotReady."""
        tokenized: list[TokenizedText] = []
        problems: list[TextProblem] = []
        for start, part in _parts(texts):
            try:
                tokenized += await self._submit(encoder, part, role, truncate)
            except BadTexts as error:
                problems += [replace(each, index=start + each.index) for each in error.problems]
        if problems:
            raise BadTexts(problems)
        return tokenized

    def stop(self) -> None:
        """Fail queued tasks and end the thread."""
        with self._stop_lock:
            self._stopping = True
            self._tasks.put(None)

    def _submit(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> asyncio.Future[list[TokenizedText]]:
        future: asyncio.Future[list[TokenizedText]] = asyncio.get_running_loop().create_future()
        with self._stop_lock:
            if self._stopping:
                raise NotReady()
            self._tasks.put(_Task(encoder, texts, role, truncate, future))
        return future

    def _run(self) -> None:
        while tasks := self._next_round():
            deliver([self._completion(task) for task in tasks])

    def _next_round(self) -> list[_Task]:
        """Tasks to run and resolve together; empty at the end."""
        task = self._tasks.get()
        tasks: list[_Task] = []
        chars = 0
        while task is not None:
            tasks.append(task)
            chars += sum(map(len, task.texts))
            if chars > ROUND_CHARS or self._tasks.empty():
                return tasks
            task = self._tasks.get()
        self._tasks.put(None)  # the end marker, for the next round
        return tasks

    def _completion(self, task: _Task) -> Completion:
        if self._stopping or task.future.done():  # refused, or cancelled by its caller
            return Completion(task.future, error=NotReady())
        return task.run()


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
