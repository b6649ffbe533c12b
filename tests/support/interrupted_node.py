"""A node whose requests can be interrupted between their read and their write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from semblance.service.ports.document_store import DocumentStore
from semblance.service.replication.local_node import LocalNode

Result = TypeVar("Result")


class InterruptedNode(LocalNode):
    """Calls back once between the read and the write of a request."""

    interruption: Callable[[], object] | None = None

    async def read_primary(self, query: Callable[[DocumentStore], Result]) -> Result:
        found = await super().read_primary(query)
        if self.interruption is not None:
            interrupt, self.interruption = self.interruption, None
            interrupt()
        return found
