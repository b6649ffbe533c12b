"""The served models.

They need neither the framework nor the stores, and begin to load before these are imported.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from semblance.service.documents.databases.needed_models import needed_models
from semblance.service.model_loading.builtin import BUILT_IN
from semblance.service.model_loading.calibrations import read_calibrations
from semblance.service.model_loading.device import device_for, load_encoder, load_reranker
from semblance.service.model_loading.lazy_loads import LazyLoads
from semblance.service.model_loading.refused_models import RefusedModels
from semblance.service.model_loading.registry import LazyModels, read_aliases, read_rerankers, read_served
from semblance.service.model_loading.rerankers import LazyRerankers
from semblance.service.settings import Settings


def served_models(settings: Settings) -> LazyModels:
    """The served models, none of them loaded yet.

    Raises:
        BadCheckpoint: a list is malformed; or the files of the default model, of any model if the settings require all,
            or of a calibration are missing, damaged or not supported.
        NoSuchDevice: a served model needs the configured device, and torch cannot use it.
    """
    refused = RefusedModels(fatal=settings.require_models)
    files = read_served(_listed(settings), refused)
    rerankers = read_rerankers(settings.rerank_models, files, refused)
    aliases = read_aliases(settings.model_aliases, [*files, *rerankers, *refused])
    calibrations = read_calibrations(settings.home.expanduser(), {file.space for file in files.values()})
    device = device_for([*files.values(), *rerankers.values()], settings)
    encoders = LazyLoads(lambda name: load_encoder(name, files[name], device, settings), settings.model_wait_s)
    pairs = LazyLoads(lambda name: load_reranker(name, rerankers[name], device, settings), settings.model_wait_s)
    reranking = LazyRerankers(rerankers, pairs, aliases, refused)
    return LazyModels(files, encoders, aliases, calibrations, reranking, refused)


def _listed(settings: Settings) -> str:
    """The list of models: where none is set, also built-in ones that stored collections need."""
    if "models" in settings.model_fields_set or settings.database_url.get_secret_value():
        return settings.models
    needed = [name for name in needed_models(settings.database_file) if name in BUILT_IN]
    return ",".join(dict.fromkeys([*settings.models.split(","), *needed]))


def begin_models(settings: Settings) -> Future[LazyModels]:
    """Read the served models in a thread, and begin to load the default in another.

    Returns:
        The models, as soon as their files are read; or what `served_models` raises.
    """
    threads = ThreadPoolExecutor(2, "models")

    def begin() -> LazyModels:
        models = served_models(settings)
        models.begin(models.default, threads)
        return models

    return threads.submit(begin)
