"""The thread that tokenises: what came while it was busy is done in one go, and goes home together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from queue import SimpleQueue

from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.batching.completion import Outcome, send_home
from semblance.service.errors import NotReady

CHARS_IN_ONE_GO = 50_000  # after which those who wait hear of what is done: about 20 ms


@dataclass(frozen=True, eq=False, slots=True)
class _Task:
    """Texts to be tokenised, and who waits for that."""

    encoder: Encoder
    texts: Sequence[str]
    role: Role
    truncate: Truncate
    future: asyncio.Future[list[TokenizedText]]

    @property
    def chars(self) -> int:
        """Of all texts."""
        return sum(map(len, self.texts))

    def done(self) -> Outcome:
        """What came of it."""
        try:
            return Outcome(self.future, self.encoder.tokenize(self.texts, self.role, self.truncate))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to those who wait
            return Outcome(self.future, error=error)


class Tokeniser:
    """Off the event loop, in the order in which it was asked."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._stopping = False
        self._door = threading.Lock()
        threading.Thread(target=self._run, name="tokeniser", daemon=True).start()

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> list[TokenizedText]:
        """Tokens of each text. Raises BadTexts, NotReady."""
        future: asyncio.Future[list[TokenizedText]] = asyncio.get_running_loop().create_future()
        with self._door:
            if self._stopping:
                raise NotReady()
            self._tasks.put(_Task(encoder, texts, role, truncate, future))
        return await future

    def stop(self) -> None:
        """Refuse what waits, and end the thread."""
        with self._door:
            self._stopping = True
            self._tasks.put(None)

    def _run(self) -> None:
        while tasks := self._next():
            send_home([self._outcome(task) for task in tasks])

    def _next(self) -> list[_Task]:
        """What is done in one go; nothing at the end."""
        task = self._tasks.get()
        tasks: list[_Task] = []
        chars = 0
        while task is not None:
            tasks.append(task)
            chars += task.chars
            if chars > CHARS_IN_ONE_GO or self._tasks.empty():
                return tasks
            task = self._tasks.get()
        self._tasks.put(None)  # the end, which is to be met again
        return tasks

    def _outcome(self, task: _Task) -> Outcome:
        if self._stopping or task.future.done():  # nobody waits for it, or should
            return Outcome(task.future, error=NotReady())
        return task.done()
