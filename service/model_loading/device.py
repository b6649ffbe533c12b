"""Where models run, and in which number type: what the settings leave open is decided here."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import logging
from collections.abc import Iterable, Iterator

from semblance.models import catalogue
from semblance.models.errors import BadCheckpoint, BuildDisagrees, NotExportable, SemblanceError
from semblance.models.model_files.source import ModelFiles
from semblance.models.protocols import Encoder
from semblance.models.runtime import RUNTIMES, Compute, Precision
from semblance.service.errors import NoSuchDevice
from semblance.service.model_loading.registry import read_served, read_source
from semblance.service.names import is_name
from semblance.service.settings import Settings

log = logging.getLogger(__name__)

FASTEST_FIRST = ("openvino", "torch_packed", "torch")  # benchmarks/speed/runtimes.py, benchmarks/speed/gpu.py
CUDA_DRIVER = "libcuda.so.1"


def device_for(models: Iterable[ModelFiles], settings: Settings) -> str:
    """The device of these models, as torch names it; torch itself is imported only if one of them needs a device.

    Raises:
        NoSuchDevice: torch cannot use the configured one.
    """
    return torch_device(settings) if any(files.needs_device for files in models) else "cpu"


def torch_device(settings: Settings) -> str:
    """The device of a network, as torch names it.

    Raises:
        NoSuchDevice: torch cannot use the configured one.
    """
    if settings.device == "cpu" or (settings.device == "auto" and not _has_cuda_driver()):
        return "cpu"
    import torch  # noqa: PLC0415 - it takes seconds, which tables of word vectors need not wait for

    if settings.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=settings.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise NoSuchDevice(f"SEMBLANCE_DEVICE: torch cannot use {settings.device!r}: {reason}") from error
    return settings.device


def _has_cuda_driver() -> bool:
    """Without one torch finds no CUDA; and to ask torch takes it seconds."""
    try:
        ctypes.CDLL(CUDA_DRIVER)
    except OSError:
        return False
    return True


def load_asked(model: str, settings: Settings) -> Encoder:
    """One model, as `semblance serve` takes it or by its source alone, which is its name then.

    Raises:
        BadCheckpoint, NoSuchDevice, BuildDisagrees: as `load_only` and `load_source`.
    """
    name, equals, _ = model.partition("=")
    if "," in model or (equals and is_name(name)):
        return load_only(settings.model_copy(update={"models": model}))
    return load_source(model, settings)


def load_only(settings: Settings) -> Encoder:
    """The one model that the settings name.

    Raises:
        BadCheckpoint: they name several, or its files will not do.
        NoSuchDevice, BuildDisagrees: as `device_for` and `load`.
    """
    found = read_served(settings.models)
    if len(found) != 1:
        raise BadCheckpoint(f"name one model, not {len(found)}: {settings.models}")
    [(name, files)] = found.items()
    return load(name, files, device_for([files], settings), settings)


def load_default(settings: Settings) -> Encoder:
    """The model that the settings name first, which is the one that a service answers by.

    Raises:
        BadCheckpoint, NoSuchDevice, BuildDisagrees: as `read_served`, `device_for` and `load`.
    """
    name, files = next(iter(read_served(settings.models).items()))
    return load(name, files, device_for([files], settings), settings)


def load_source(source: str, settings: Settings) -> Encoder:
    """The model of a source, which is its name as well.

    Raises:
        BadCheckpoint, NoSuchDevice, BuildDisagrees: as `read_source`, `device_for` and `load`.
    """
    files = read_source(source)
    return load(source, files, device_for([files], settings), settings)


def load(name: str, files: ModelFiles, device: str, settings: Settings) -> Encoder:
    """The encoder of these files, under that name, in the first of the ways to compute that serves its space.

    Raises:
        BadCheckpoint, NotExportable, BuildDisagrees, DeviceLost: see `ModelFiles`.
    """
    if not files.needs_device:
        log.info("loading model %s into memory", name)
        return files.load(name, Compute())
    refusal: SemblanceError | None = None
    for compute in _ways(device, settings):
        log.info("loading model %s on %s by %s in %s", name, device, compute.runtime, compute.precision)
        try:
            return files.load(name, compute)
        except (NotExportable, BuildDisagrees) as error:
            refusal = type(error)(str(error))  # without its traceback, which holds the network
            log.warning("model %s does not run by %s in %s: %s", name, compute.runtime, compute.precision, refusal)
        gc.collect()  # a network may refer to itself, and the next needs the room
    assert refusal is not None, "there is a way at least"
    raise refusal


def _ways(device: str, settings: Settings) -> Iterator[Compute]:
    """How a network may run, best first, where the settings leave it open. Each runtime is imported when needed."""
    runtimes = FASTEST_FIRST if settings.runtime == "auto" else (settings.runtime,)
    for runtime in runtimes:
        if settings.runtime == "auto" and not _serves(runtime, device):
            continue
        fastest: Precision = catalogue.find(RUNTIMES, runtime).fastest(device)
        precisions = dict.fromkeys((fastest, "float32")) if settings.precision == "auto" else (settings.precision,)
        for precision in precisions:
            yield Compute(device, precision, runtime, settings.export_folder, settings.threads)


def _serves(runtime: str, device: str) -> bool:
    """Whether it is worth a try there."""
    match runtime:
        case "openvino":
            return device == "cpu" and importlib.util.find_spec(runtime) is not None
        case "torch_packed":
            return device != "cpu"
        case _:
            return True
