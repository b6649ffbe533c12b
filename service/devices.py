"""Where models run, and in which number type: what the settings leave open is decided here."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from models.errors import BadCheckpoint
from models.model_files import ModelFiles, Precision
from models.protocols import Encoder
from service.errors import NoSuchDevice
from service.names import is_name
from service.served_models import read_served, read_source
from service.settings import Settings

log = logging.getLogger(__name__)


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
    import torch  # noqa: PLC0415 - it takes seconds, which tables of word vectors need not wait for

    if settings.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=settings.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise NoSuchDevice(f"SEMBLANCE_DEVICE: torch cannot use {settings.device!r}: {reason}") from error
    return settings.device


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
    """The encoder of these files, under that name.

    Raises:
        BadCheckpoint, BuildDisagrees: see `ModelFiles`.
    """
    on_device: Precision = "bfloat16" if device.startswith("cuda") else "float32"
    precision = on_device if settings.precision == "auto" else settings.precision
    how = f"on {device} in {precision}" if files.needs_device else "into memory"
    log.info("loading model %s %s", name, how)
    return files.load(name, device, precision)
