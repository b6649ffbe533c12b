"""Registry of served models: parse their list, and load each model on first use."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import cast, get_args

from semblance.models import catalogue
from semblance.models.adaptation.adapted_model import read_model
from semblance.models.errors import BadCheckpoint, SemblanceError
from semblance.models.model_files.source import ModelFiles, Source
from semblance.models.protocols import Encoder
from semblance.models.text import Truncate
from semblance.service.errors import ModelLoading, ModelUnavailable, UnknownModel
from semblance.service.model_loading.builtin import BUILT_IN, built_in_source
from semblance.service.model_loading.pulled import hub_name, pulled_folder
from semblance.service.names import is_name
from semblance.service.ports.calibration import Calibrations
from semblance.service.ports.embedding import ModelChoice

log = logging.getLogger(__name__)


def read_served(served: str) -> dict[str, ModelFiles]:
    """Served name -> checked files, from a comma-separated list; the first is the default.

    An entry is a built-in name, or NAME=SOURCE with a source as in `source_of`. A model with options needs a new name,
    so that `minilm` always means the same.

    Raises:
        BadCheckpoint: an entry is malformed, or its files are missing, damaged or not supported.
    """
    models: dict[str, ModelFiles] = {}
    for entry in filter(None, (part.strip() for part in served.split(","))):
        name, equals, source = entry.partition("=")
        if not is_name(name) or (not equals and name not in BUILT_IN):
            raise BadCheckpoint(
                f"SEMBLANCE_MODELS: {entry!r} is neither built in ({', '.join(BUILT_IN)}) nor of the form "
                "name=source?option=value&option=value, with a new name of lower-case letters, digits, '.', '_' and '-'"
            )
        if name in models:
            raise BadCheckpoint(f"SEMBLANCE_MODELS: {name!r} is listed twice")
        if equals and name in BUILT_IN:
            raise BadCheckpoint(f"SEMBLANCE_MODELS: {entry!r} needs another name: {name} is a built-in model")
        models[name] = read_source(source if equals else name)
    if not models:
        raise BadCheckpoint(
            f"SEMBLANCE_MODELS lists no model: give a built-in name ({', '.join(BUILT_IN)}) or name=source"
        )
    return models


def read_aliases(listed: str, models: Collection[str]) -> dict[str, ModelChoice]:
    """Alias -> its model and measure, from a list of `alias=model` and `alias=model@measure`.

    Raises:
        BadCheckpoint: an entry is malformed, repeated or the name of a model, or its model or measure does not exist.
    """
    aliases: dict[str, ModelChoice] = {}
    measures = catalogue.measures()
    for entry in filter(None, (part.strip() for part in listed.split(","))):
        alias, _, target = (part.strip() for part in entry.partition("="))
        choice = _choice(target)
        if not alias or alias in (*models, *aliases):
            raise BadCheckpoint(f"SEMBLANCE_MODEL_ALIASES: {entry!r} needs a new name before '='")
        if choice.model not in models:
            raise BadCheckpoint(f"SEMBLANCE_MODEL_ALIASES: {entry!r} names none of the served {', '.join(models)}")
        if choice.measure is not None and choice.measure not in measures:
            raise BadCheckpoint(f"SEMBLANCE_MODEL_ALIASES: {entry!r} names none of the measures {', '.join(measures)}")
        aliases[alias] = choice
    return aliases


def read_truncations(listed: str, models: Collection[str]) -> dict[str, Truncate]:
    """Parse a list of `MODE` and `model=MODE`: the treatment of long texts by each model.

    Raises:
        BadCheckpoint: an entry names no mode or no served model.
    """
    truncations: dict[str, Truncate] = {}
    for entry in filter(None, (part.strip() for part in listed.split(","))):
        name, equals, mode = entry.rpartition("=")
        if mode not in get_args(Truncate) or (equals and name not in models):
            raise BadCheckpoint(
                f"SEMBLANCE_TRUNCATE: {entry!r} is neither one of {', '.join(get_args(Truncate))} nor of the form "
                f"model=MODE with one of the models {', '.join(models)}"
            )
        named = [name] if equals else [model for model in models if model not in truncations]
        truncations |= dict.fromkeys(named, cast("Truncate", mode))
    return truncations


def read_source(source: str) -> ModelFiles:
    """Read and check the files of one model, given as in `source_of`.

    Raises:
        BadCheckpoint: an option is malformed, or the files are missing, damaged or not supported.
    """
    return read_model(source_of(source))


def source_of(source: str) -> Source:
    """Parse a built-in name, a path or a pulled name with its options: `minilm?pooling=max`.

    Options follow as ?OPTION=VALUE&OPTION=VALUE. Built-in names precede paths: write ./minilm for a folder of that
    name. Paths precede names that were pulled, and must not contain any of `,?&`.

    Raises:
        BadCheckpoint: an option is malformed, the package of a built-in model is not installed, or there is neither a
            file nor a pulled model of that name.
    """
    place, mark, listed = source.partition("?")
    options: dict[str, str] = {}
    for option in listed.split("&") if mark else ():
        name, equals, value = option.partition("=")
        if not (name and equals and value) or name in options:
            raise BadCheckpoint(f"{option!r} in {source!r} is not of the form option=value, or is repeated")
        options[name] = value
    if place in BUILT_IN:
        return built_in_source(place, options)
    path, pulled = Path(place).expanduser(), hub_name(place)
    return Source(path if pulled is None or path.exists() else pulled_folder(pulled), options)


class LazyModels:
    """Load models on first use, in a thread; callers wait for a load up to a limit.

    Args:
        files: the served models by name; the first is the default.
        load: loads a model of that name and files.
        wait_s: seconds that a caller waits for a load.
        aliases: further names of models.
        calibrations: maps from scores to probabilities.

    Attributes:
        default: the model that is meant where none is named.
        since: Unix time from which they are served.
    """

    def __init__(
        self,
        files: Mapping[str, ModelFiles],
        load: Callable[[str, ModelFiles], Encoder],
        wait_s: float,
        aliases: Mapping[str, ModelChoice] = MappingProxyType({}),
        calibrations: Calibrations = MappingProxyType({}),
    ) -> None:
        self.files = files
        self.aliases = aliases
        self.calibrations = calibrations
        self.default = next(iter(files))
        self.since = int(time.time())
        self._load = load
        self._wait_s = wait_s
        self._loads: dict[str, asyncio.Task[Encoder]] = {}

    @property
    def names(self) -> list[str]:
        """Names of the models, then their aliases."""
        return [*self.files, *self.aliases]

    def resolve(self, name: str | None) -> ModelChoice:
        """The model and the measure that a name asks for; the model may be unknown."""
        if name is None:
            return ModelChoice(None)
        return self.aliases.get(name) or _choice(name)

    async def get(self, name: str | None) -> Encoder:
        """The model of that name or alias, or the default.

        Raises:
            UnknownModel: no such model is served.
            ModelLoading: loading takes longer than the limit; it continues.
            ModelUnavailable: loading failed.
        """
        name = self.aliases.get(name, ModelChoice(name)).model if name else name
        name = self.default if name is None else name
        if name not in self.files:
            raise UnknownModel(f"no model {name!r} is served: choose one of {', '.join(self.names)}")
        task = self.load(name)
        try:
            async with asyncio.timeout(self._wait_s):
                return await asyncio.shield(task)
        except TimeoutError as error:
            raise ModelLoading(f"model {name!r} is still loading; retry") from error
        except Exception as error:
            raise ModelUnavailable(f"model {name!r} could not be loaded; see the log") from error

    def load(self, name: str) -> asyncio.Task[Encoder]:
        """The load of that model, pending or done.

        A refusal is final, as its files do not change; after another failure, as for lack of memory, it is tried again.
        """
        if name not in self._loads or _may_succeed(self._loads[name]):
            self._loads[name] = asyncio.create_task(asyncio.to_thread(self._load_logged, name))
        return self._loads[name]

    def _load_logged(self, name: str) -> Encoder:
        try:
            return self._load(name, self.files[name])
        except SemblanceError as error:
            log.error("model %s could not be loaded: %s", name, error)  # noqa: TRY400 - the message says all
            raise
        except Exception:
            log.exception("model %s could not be loaded", name)
            raise

    def loaded(self) -> dict[str, Encoder]:
        """Models in memory, by name."""
        return {
            name: task.result()
            for name, task in self._loads.items()
            if task.done() and not task.cancelled() and task.exception() is None
        }


def _may_succeed(load: asyncio.Task[Encoder]) -> bool:
    """Whether a load failed for a reason that may pass."""
    error = load.exception() if load.done() and not load.cancelled() else None
    return error is not None and not isinstance(error, SemblanceError)


def _choice(name: str) -> ModelChoice:
    model, at, measure = name.rpartition("@")
    return ModelChoice(model, measure) if at else ModelChoice(name)
