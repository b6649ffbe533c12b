"""Calls of the model that wait or run, and their texts."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.protocols import Encoder
from semblance.models.text import TokenizedText
from semblance.service.batching.policy import Candidate
from semblance.service.ports.embedding import Urgency


@dataclass(eq=False, slots=True)
class QueuedRequest:
    """The texts of one call and the results so far."""

    encoder: Encoder
    want: Want
    texts: Sequence[TokenizedText]
    bulk: bool
    caller: str
    future: asyncio.Future[None]
    submitted: float  # on the clock of the worker
    queued_texts: list[QueuedText] = field(default_factory=list)  # one for each text
    results: list[TokenEmbeddings | None] = field(init=False)  # None for those to come, or that the model failed on
    missing: int = field(init=False)
    started: float | None = None
    batches: list[tuple[float, float]] = field(default_factory=list)  # when each began and ended
    closed: bool = False  # answered, failed, or cancelled by its caller: none of its texts needs to run for it

    def __post_init__(self) -> None:
        self.missing = len(self.texts)
        self.results = [None] * self.missing

    @property
    def urgency(self) -> Urgency:
        """The class its waiting tokens are counted in."""
        return "bulk" if self.bulk else "interactive"


@dataclass(eq=False, slots=True)
class QueuedText:
    """A waiting or running text. Requests share equal texts, so that each is encoded once."""

    key: Hashable
    encoder: Encoder
    want: Want
    text: TokenizedText
    candidate: Candidate
    positions: list[tuple[QueuedRequest, int]] = field(default_factory=list)  # in each request that contains it
    queued: bool = False

    @property
    def needed(self) -> bool:
        """Whether an open request contains it."""
        return any(not request.closed for request, _ in self.positions)
