"""Load models, and choose device, runtime and number type where the settings are open."""

from __future__ import annotations

import ctypes
import gc
import logging
import time
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.util import find_spec

from semblance.models import catalogue
from semblance.models.embeddings import Precision
from semblance.models.errors import BadCheckpoint, BuildDisagrees, NotExportable, SemblanceError
from semblance.models.model_files.cross_encoder import CrossEncoderFiles
from semblance.models.model_files.source import ModelFiles
from semblance.models.processor.usable_cores import usable_cores
from semblance.models.protocols import Encoder, Reranker
from semblance.models.runtime import RUNTIMES, Compute, Runtime, require_torch
from semblance.service.errors import NoSuchDevice
from semblance.service.model_loading.fastest_precision import kept_precision
from semblance.service.model_loading.registry import read_served, read_source
from semblance.service.names import is_name
from semblance.service.settings import Settings

log = logging.getLogger(__name__)

CUDA_DRIVER = "libcuda.so.1"


def device_for(models: Iterable[ModelFiles | CrossEncoderFiles], settings: Settings) -> str:
    """Torch name of the device of these models; imports torch only if one needs a device.

    Raises:
        NoSuchDevice: torch cannot use the configured device.
    """
    return torch_device(settings) if any(files.needs_device for files in models) else "cpu"


def torch_device(settings: Settings) -> str:
    """Torch name of the device of networks.

    Raises:
        NoSuchDevice: torch cannot use the configured device.
        MissingExtra: a GPU is configured, and torch is not installed.
    """
    if settings.device == "cpu" or (settings.device == "auto" and not (_has_cuda_driver() and find_spec("torch"))):
        return "cpu"
    require_torch(f"SEMBLANCE_DEVICE={settings.device}")
    import torch  # noqa: PLC0415 - takes seconds, and word vectors do not need it

    if settings.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=settings.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise NoSuchDevice(f"SEMBLANCE_DEVICE: torch cannot use {settings.device!r}: {reason}") from error
    return settings.device


def cores(settings: Settings) -> int:
    """Cores of the CPU that the service may keep busy."""
    return settings.threads or usable_cores()


def _has_cuda_driver() -> bool:
    """Whether torch could find CUDA at all, without the seconds that importing torch takes."""
    try:
        ctypes.CDLL(CUDA_DRIVER)
    except OSError:
        return False
    return True


def find_model(model: str | None, settings: Settings) -> tuple[str, ModelFiles]:
    """Name and files of an entry as of SEMBLANCE_MODELS, of a source, or of the default model.

    Raises:
        BadCheckpoint: there is no such model, or its files are damaged or not supported.
    """
    if model is None:
        return next(iter(read_served(settings.models).items()))
    name, equals, _ = model.partition("=")
    if "," in model or (equals and is_name(name)):
        return _single(model)
    return model, read_source(model)


def load_model(model: str | None, settings: Settings) -> Encoder:
    """Load a model as `find_model` finds it.

    Raises:
        BadCheckpoint, NoSuchDevice, BuildDisagrees: as `find_model`, `device_for` and `load_encoder`.
    """
    name, files = find_model(model, settings)
    return load_encoder(name, files, device_for([files], settings), settings)


def load_single(settings: Settings) -> Encoder:
    """Load the only model of the settings.

    Raises:
        BadCheckpoint: the settings name several models, or its files are missing, damaged or not supported.
        NoSuchDevice, BuildDisagrees: as `device_for` and `load_encoder`.
    """
    name, files = _single(settings.models)
    return load_encoder(name, files, device_for([files], settings), settings)


def _single(served: str) -> tuple[str, ModelFiles]:
    models = read_served(served)
    if len(models) != 1:
        raise BadCheckpoint(f"name one model, not {len(models)}: {served}")
    [model] = models.items()
    return model


def load_source(source: str, settings: Settings) -> Encoder:
    """Load the model of a source, which is also its name.

    Raises:
        BadCheckpoint, NoSuchDevice, BuildDisagrees: as `read_source`, `device_for` and `load_encoder`.
    """
    files = read_source(source)
    return load_encoder(source, files, device_for([files], settings), settings)


def load_encoder(name: str, files: ModelFiles, device: str, settings: Settings) -> Encoder:
    """Load a model by the first runtime and number type that serve its space.

    Raises:
        BadCheckpoint, NotExportable, BuildDisagrees, DeviceLost: see `ModelFiles`.
        MissingExtra: the model or the configured runtime needs torch, which is not installed.
    """
    if not files.needs_device:
        log.info("loading model %s into memory", name)
        return _load_timed(name, files, Compute())
    refusal: SemblanceError | None = None
    for compute in _candidates(device, settings):
        log.info("loading model %s on %s by %s in %s", name, device, compute.runtime, compute.precision)
        try:
            encoder = _load_timed(name, files, compute)
        except (NotExportable, BuildDisagrees) as error:
            refusal = type(error)(_one_line(error))  # without its traceback, which refers to the network
        else:
            if refusal is not None:
                log.warning("model %s runs by %s in %s, slower: %s", name, compute.runtime, compute.precision, refusal)
            return encoder
        gc.collect()  # networks contain reference cycles, and the next one needs the memory
    assert refusal is not None, "there is at least one candidate"
    raise refusal


def load_reranker(name: str, files: CrossEncoderFiles, device: str, settings: Settings) -> Reranker:
    """Load a reranker, in float32.

    Raises:
        BadCheckpoint, NotExportable, DeviceLost, MissingExtra: as `CrossEncoder`.
    """
    from semblance.models.encoders.cross_encoder import CrossEncoder  # noqa: PLC0415 - not needed without rerankers

    log.info("loading rerank model %s on %s in float32", name, device)
    began = time.perf_counter()
    reranker = CrossEncoder(name, files, Compute(device, "float32", settings.runtime, threads=settings.threads))
    log.info("loaded rerank model %s in %.1f s", name, time.perf_counter() - began)
    return reranker


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _load_timed(name: str, files: ModelFiles, compute: Compute) -> Encoder:
    began = time.perf_counter()
    encoder = files.load(name, compute)
    log.info("loaded model %s in %.1f s", name, time.perf_counter() - began)
    return encoder


def _candidates(device: str, settings: Settings) -> Iterator[Compute]:
    """Combinations of runtime and number type that the settings allow, best first."""
    if settings.runtime.startswith("torch"):
        require_torch(f"SEMBLANCE_RUNTIME={settings.runtime}")
    for runtime in _runtimes(device) if settings.runtime == "auto" else (settings.runtime,):
        for precision in _precisions(runtime, device, settings):
            yield Compute(device, precision, runtime, settings.export_folder, settings.threads)


def _precisions(runtime: str, device: str, settings: Settings) -> list[Precision]:
    """Number types for a runtime on this device, best first."""
    if settings.precision != "auto":
        return [settings.precision]
    kind: type[Runtime] = catalogue.find(RUNTIMES, runtime)
    measure = partial(kind.fastest_precision, device)
    fastest = kept_precision(settings.home.expanduser(), runtime, measure) if device == "cpu" else measure()
    return ["float32"] if fastest == "float32" else [fastest, "float32"]


def _runtimes(device: str) -> list[str]:
    """Names of the runtimes that serve this device, by rank."""
    runtimes: dict[str, type[Runtime]] = {name: catalogue.find(RUNTIMES, name) for name in catalogue.names(RUNTIMES)}
    return sorted((name for name in runtimes if runtimes[name].serves(device)), key=lambda name: runtimes[name].rank)
