"""GET /live, /ready and /metrics: for orchestrators and Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST
from semblance_client.vocabulary.models import Live, Ready

from semblance.service.api.routes.models import refused_models
from semblance.service.api.routing import Use
from semblance.service.process.readiness import Readiness
from semblance.service.services import MetricsPage

router = APIRouter(tags=["operation"])  # probes may add query parameters: no StrictRoute


@router.get("/live", summary="Tell whether the process runs")
async def get_liveness() -> Live:
    """The process runs."""
    return Live()


@router.get(
    "/ready",
    summary="Tell whether requests should come here",
    responses={503: {"model": Ready, "description": "A check failed, or the process is shutting down."}},
)
async def get_readiness(readiness: Use[Readiness], response: Response) -> Ready:
    """Whether requests should come here: 503 if a check fails, and during shutdown.

    `degraded` is ready: the service works, although the database is unreachable, a collection is missing, a model is
    refused, or the disk rejects writes.
    """
    checks, refused = readiness.results(), refused_models(readiness.refused())
    if not readiness.is_ready():
        response.status_code = 503
        return Ready(status="not_ready", checks=checks, refused=refused)
    return Ready(status="degraded" if readiness.is_degraded() else "ready", checks=checks, refused=refused)


@router.get(
    "/metrics",
    summary="Show the metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def get_metrics(page: Use[MetricsPage]) -> Response:
    """Metrics for Prometheus."""
    return Response(await page.exposition(), media_type=CONTENT_TYPE_LATEST)
