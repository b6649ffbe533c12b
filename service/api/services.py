"""What the routes work with; made once by the composition root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from semblance.service.model_loading.registry import LazyModels
from semblance.service.observability.metrics import Metrics
from semblance.service.process.readiness import Readiness
from semblance.service.rendering.drawing_process import DrawingProcess
from semblance.service.replication.access import HeldCollections
from semblance.service.settings import Settings
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.explain import Explain
from semblance.service.usecases.index_documents import IndexDocuments
from semblance.service.usecases.index_stream import IndexStream
from semblance.service.usecases.roll_over import RollOver
from semblance.service.usecases.search import Search
from semblance.service.usecases.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Services:
    """One application's use cases and what observes them."""

    settings: Settings
    models: LazyModels
    local: HeldCollections
    collections: Collections
    compare: Compare
    search: Search
    explain: Explain
    vectors: Vectors
    index_documents: IndexDocuments
    index_stream: IndexStream
    roll_over: RollOver
    drawing: DrawingProcess
    metrics: Metrics
    readiness: Readiness
    show_store: Callable[[], None]  # sets the metrics of a database that is elsewhere


async def _of_app(request: Request) -> Services:
    return cast("Services", request.app.state.services)


Use = Annotated[Services, Depends(_of_app)]
