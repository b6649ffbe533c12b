"""Collections that need a model which this process does not serve."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from semblance.service.errors import NotReady, StoreUnavailable
from semblance.service.model_loading.registry import LazyModels
from semblance.service.replication.access import CollectionAccess

log = logging.getLogger(__name__)

LOOK_S = 10.0


class UnservedCollections:
    """Notices such collections, at the start and every ten seconds, and logs each once.

    Args:
        collections: those of this process.
        models: which it serves.

    Attributes:
        models_of: the model that each needs, by the name of the collection, as last seen.
    """

    def __init__(self, collections: CollectionAccess, models: LazyModels) -> None:
        self._collections = collections
        self._models = models
        self.models_of: dict[str, str] = {}

    async def look(self) -> None:
        """Read the collections, unless the store cannot be read."""
        with suppress(NotReady, StoreUnavailable):  # already logged
            found = {
                each.name: each.settings.model
                for each in await self._collections.read(lambda store: store.collections())
                if not self._models.serves(each.settings.model, each.settings.space)
            }
            for name, model in found.items() - self.models_of.items():
                log.warning("collection %s needs %s, which is not served, or not in this version", name, model)
            self.models_of = found

    async def keep_looking(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
            except Exception:
                log.exception("the collections could not be listed; retrying in %g s", LOOK_S)
