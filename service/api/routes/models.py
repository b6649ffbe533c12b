"""GET /models: the served models and the measures; GET /v1/models: names of models."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fastapi import APIRouter
from semblance_client.vocabulary.models import (
    CalibratedMeasure,
    Measure,
    Model,
    ModelCard,
    ModelCards,
    ModelList,
    RefusedModel,
)

from semblance.models import catalogue
from semblance.service.api.parameters import ModelInPath
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.errors import UnknownModel
from semblance.service.model_loading.registry import LazyModels
from semblance.service.model_loading.rerankers import LazyRerankers
from semblance.service.model_loading.typical_scores import read_typical
from semblance.service.ports.calibration import FittedCalibration

router = APIRouter(tags=["models"], route_class=StrictRoute)


@router.get("/models", summary="List models and measures")
async def list_models(served: Use[LazyModels]) -> ModelList:
    """The served models and the measures."""
    return ModelList(
        models=[
            *(_model(name, served) for name in served.files),
            *(_reranker(name, served.rerankers) for name in served.rerankers.files),
        ],
        measures=[_measure(name) for name in catalogue.measures()],
        refused=refused_models(served.refused),
    )


def refused_models(reasons: Mapping[str, str]) -> list[RefusedModel]:
    """Models that cannot be served, in the shape of the API."""
    return [RefusedModel(name=name, reason=reason) for name, reason in reasons.items()]


@router.get("/v1/models", summary="List models, as OpenAI's API and Cohere's do")
async def list_model_names(served: Use[LazyModels]) -> ModelCards:
    """The names of the served models, and their aliases."""
    cards = [_card(name, served) for name in _names(served)]
    return ModelCards(data=cards, models=cards)


@router.get("/v1/models/{name:path}", summary="Show a model, as OpenAI's API and Cohere's do")
async def show_model_name(name: ModelInPath, served: Use[LazyModels]) -> ModelCard:
    """One name of a served model."""
    if name not in _names(served):
        raise UnknownModel(f"no model {name!r} is served: choose one of {', '.join(_names(served))}")
    return _card(name, served)


def _names(served: LazyModels) -> list[str]:
    return [*served.names, *served.rerankers.names]


def _card(name: str, served: LazyModels) -> ModelCard:
    model, reranks = served.resolve(name).model or served.default, name in served.rerankers.names
    return ModelCard(
        id=name,
        name=name,
        endpoints=["rerank"] if reranks else ["embed", "rerank"],
        context_length=_max_pair_tokens(model, served.rerankers) if reranks else _max_tokens(model, served),
        created=served.since,
    )


def _max_tokens(name: str, served: LazyModels) -> int | None:
    """Most tokens that a model reads of a text; None before it is loaded, unless its files say."""
    encoder = served.loaded().get(name)
    return encoder.max_tokens if encoder else served.files[name].max_tokens


def _max_pair_tokens(name: str, served: LazyRerankers) -> int | None:
    """Most tokens that a reranker reads of a query and a text together, likewise."""
    reranker = served.loaded().get(name)
    return reranker.max_tokens if reranker else served.files[name].network.max_tokens


def _model(name: str, served: LazyModels) -> Model:
    files, encoder = served.files[name], served.loaded().get(name)
    return Model(
        name=name,
        kind="encoder",
        default=name == served.default,
        loaded=encoder is not None,
        space=files.space,
        pooling=files.pooling,
        similarity=files.similarity,
        dim=encoder and encoder.dim,
        max_tokens=_max_tokens(name, served),
        build=encoder and encoder.build,
        precision=encoder and encoder.precision,
        calibrations=[_calibrated(*each) for each in served.calibrations.items() if each[0][0] == files.space],
        typical=[*read_typical().get(files.space, ())],
    )


def _reranker(name: str, served: LazyRerankers) -> Model:
    reranker = served.loaded().get(name)
    return Model(
        name=name,
        kind="reranker",
        default=False,
        loaded=reranker is not None,
        space=served.files[name].network.space,
        pooling=None,
        similarity=None,
        dim=None,
        max_tokens=_max_pair_tokens(name, served),
        build=reranker and reranker.build,
        precision=reranker and "float32",
        calibrations=[],
        typical=[],
    )


def _calibrated(key: tuple[str, str], calibration: FittedCalibration) -> CalibratedMeasure:
    return CalibratedMeasure(measure=key[1], **dict(calibration.summary))


def _measure(name: str) -> Measure:
    similarity = catalogue.similarity(name)
    low, high = (bound if math.isfinite(bound) else None for bound in similarity.bounds)
    return Measure(
        name=name,
        summary=catalogue.summary(name),
        reference=similarity.reference,
        bounds=(low, high),
        symmetric=similarity.symmetric,
        explainable=catalogue.explains(name),
    )
