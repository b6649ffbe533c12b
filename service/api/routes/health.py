"""GET /live, /ready and /metrics: for orchestrators and Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST

from semblance.service.api.schemas.operation import Live, Ready
from semblance.service.api.services import Use

router = APIRouter(tags=["operation"])


@router.get("/live")
async def live() -> Live:
    """The process runs."""
    return Live()


@router.get("/ready", responses={503: {"model": Ready}})
async def ready(use: Use, response: Response) -> Ready:
    """Whether requests should come here: 503 when the model no longer answers, for one, and while going down.

    `degraded` is ready: what is here is served, although the database does not answer, or a collection is missing.
    """
    readiness = use.readiness
    if not readiness.holds():
        response.status_code = 503
        return Ready(status="not_ready", checks=readiness.checks())
    return Ready(status="ready" if readiness.whole() else "degraded", checks=readiness.checks())


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(use: Use) -> Response:
    """Numbers for Prometheus."""
    use.metrics.show_collections(await use.local.states())
    use.show_store()
    return Response(use.metrics.exposition(), media_type=CONTENT_TYPE_LATEST)
