"""No cache: every text passes through the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semblance.models.embeddings import TokenEmbeddings
from semblance.service.ports.embedding import Miss


class NoCache:
    """Knows nothing and remembers nothing."""

    async def get_many(self, keys: Sequence[str]) -> list[TokenEmbeddings | Miss]:
        """Nothing, for each key."""
        return ["absent"] * len(keys)

    async def set_many(self, entries: Mapping[str, TokenEmbeddings]) -> None:
        """Forget these at once."""

    async def ping(self) -> bool:
        """Always there."""
        return True

    async def close(self) -> None:
        """Nothing to let go of."""
