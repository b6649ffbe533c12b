"""GET /models: the served models and the measures."""

from __future__ import annotations

import math

from fastapi import APIRouter

from semblance.models import catalogue
from semblance.service.api.refusals import responses
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.api.schemas.operation import MeasureOut, ModelList, ModelOut
from semblance.service.model_loading.registry import LazyModels

router = APIRouter(tags=["models"], route_class=StrictRoute)


@router.get("/models", summary="List models and measures", responses=responses("unknown_field"))
async def list_models(served: Use[LazyModels]) -> ModelList:
    """The served models and the measures."""
    return ModelList(
        models=[_model(name, served) for name in served.files],
        measures=[_measure(name) for name in catalogue.names(catalogue.SIMILARITIES)],
    )


def _model(name: str, served: LazyModels) -> ModelOut:
    files, encoder = served.files[name], served.loaded().get(name)
    return ModelOut(
        name=name,
        default=name == served.default,
        loaded=encoder is not None,
        space=files.space,
        pooling=files.pooling,
        dim=encoder and encoder.dim,
        max_tokens=encoder.max_tokens if encoder else files.max_tokens,
        build=encoder and encoder.build,
    )


def _measure(name: str) -> MeasureOut:
    similarity = catalogue.similarity(name)
    low, high = (bound if math.isfinite(bound) else None for bound in similarity.bounds)
    return MeasureOut(
        name=name,
        summary=catalogue.summary(name),
        reference=similarity.reference,
        bounds=(low, high),
        symmetric=similarity.symmetric,
        explainable=catalogue.explains(name),
    )
