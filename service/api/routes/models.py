"""GET /models: what is served, and what it can be compared with."""

from __future__ import annotations

import math

from fastapi import APIRouter

from semblance.models import catalogue
from semblance.service.api.errors import responses
from semblance.service.api.schemas.operation import MeasureOut, ModelList, ModelOut
from semblance.service.api.services import Services, Use
from semblance.service.usecases.measures import measure

router = APIRouter(tags=["models"])


@router.get("/models", responses=responses(503))
async def models(use: Use) -> ModelList:
    """The served models and the measures."""
    return ModelList(
        models=[_model(name, use) for name in use.models.files],
        measures=[_measure(name) for name in catalogue.names(catalogue.SIMILARITIES)],
    )


def _model(name: str, use: Services) -> ModelOut:
    files, encoder = use.models.files[name], use.models.loaded().get(name)
    return ModelOut(
        name=name,
        default=name == use.models.default,
        loaded=encoder is not None,
        space=files.space,
        pooling=files.pooling,
        dim=encoder and encoder.dim,
        max_tokens=encoder.max_tokens if encoder else files.max_tokens,
        build=encoder and encoder.build,
    )


def _measure(name: str) -> MeasureOut:
    found = measure(name)
    low, high = (bound if math.isfinite(bound) else None for bound in found.bounds)
    return MeasureOut(
        name=name,
        summary=catalogue.summary(name),
        reference=found.reference,
        bounds=(low, high),
        symmetric=found.symmetric,
        explainable=catalogue.explains(name),
    )
