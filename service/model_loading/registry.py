"""Registry of served models: parse their list, and load each model on first use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from pathlib import Path
from types import MappingProxyType
from typing import cast, get_args

from semblance.models import catalogue
from semblance.models.adaptation.adapted_model import read_model
from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.cross_encoder import CrossEncoderFiles, read_cross_encoder
from semblance.models.model_files.source import ModelFiles, Source
from semblance.models.protocols import Encoder
from semblance.models.text import Truncate
from semblance.service.errors import ModelUnavailable, UnknownModel
from semblance.service.model_loading.builtin import BUILT_IN, built_in_hint, built_in_source
from semblance.service.model_loading.lazy_loads import LazyLoads
from semblance.service.model_loading.pulled import hub_name, pulled_folder
from semblance.service.model_loading.refused_models import RefusedModels
from semblance.service.model_loading.rerankers import NO_RERANKERS, LazyRerankers
from semblance.service.names import did_you_mean, is_name
from semblance.service.ports.calibration import Calibrations
from semblance.service.ports.embedding import ModelChoice

_ALIAS = ", or give one that name, too, by SEMBLANCE_MODEL_ALIASES=NAME=MODEL"
_LETTERS = "lower-case letters, digits, '.', '_' and '-'"


def read_served(served: str, refused: RefusedModels | None = None) -> dict[str, ModelFiles]:
    """Served name -> checked files, from a comma-separated list; the first is the default.

    An entry is a built-in name, NAME=SOURCE with a source as in `source_of`, or a source with a slash, whose last part
    in lower case is its name. A built-in model with options needs a new name, so that `minilm` always means the same.

    Args:
        served: the list.
        refused: keeps what is wrong with files, except those of the default; None raises it.

    Raises:
        BadCheckpoint: an entry is malformed, or its files are missing, damaged or not supported.
    """
    refused = RefusedModels(fatal=True) if refused is None else refused
    models: dict[str, ModelFiles] = {}
    for entry in filter(None, (part.strip() for part in served.split(","))):
        name, source = _name_and_source(entry, "SEMBLANCE_MODELS")
        if not is_name(name) or (entry == name and name not in BUILT_IN):
            raise BadCheckpoint(
                f"SEMBLANCE_MODELS: {entry!r} is neither built in ({', '.join(BUILT_IN)}), nor a path with a slash or "
                f"org/name, nor of the form name=source?option=value&option=value, with a new name of {_LETTERS}"
                f"{built_in_hint(entry)}"
            )
        if name in (*models, *refused):
            raise BadCheckpoint(f"SEMBLANCE_MODELS: {name!r} is listed twice: give one another name, by name=source")
        if entry != name and name in BUILT_IN:
            raise BadCheckpoint(f"SEMBLANCE_MODELS: {entry!r} needs another name: {name} is a built-in model")
        files = refused.keep(name, source, read_source) if models else read_source(source)
        if files is not None:
            models[name] = files
    if not models:
        raise BadCheckpoint(
            f"SEMBLANCE_MODELS lists no model: give a built-in name ({', '.join(BUILT_IN)}) or name=source"
        )
    return models


def read_rerankers(
    listed: str, encoders: Collection[str], refused: RefusedModels | None = None
) -> dict[str, CrossEncoderFiles]:
    """Name -> checked files, from a list as `read_served` reads, without built-in names.

    Args:
        listed: the list.
        encoders: names of the encoders.
        refused: keeps what is wrong with files; None raises it.

    Raises:
        BadCheckpoint: an entry is malformed, has the name of another model, or is not a cross-encoder of one label.
    """
    refused = RefusedModels(fatal=True) if refused is None else refused
    rerankers: dict[str, CrossEncoderFiles] = {}
    for entry in filter(None, (part.strip() for part in listed.split(","))):
        name, source = _name_and_source(entry, "SEMBLANCE_RERANK_MODELS")
        if not is_name(name) or entry == name:
            raise BadCheckpoint(
                f"SEMBLANCE_RERANK_MODELS: {entry!r} is neither a path with a slash, nor org/name, nor of the form "
                f"name=folder?max_tokens=number, with a name of {_LETTERS}"
            )
        if name in (*encoders, *rerankers, *refused):
            raise BadCheckpoint(f"SEMBLANCE_RERANK_MODELS: {entry!r} needs another name: there is a model {name}")
        files = refused.keep(name, source, lambda each: read_cross_encoder(source_of(each)))
        if files is not None:
            rerankers[name] = files
    return rerankers


def _name_and_source(entry: str, setting: str) -> tuple[str, str]:
    """Both parts of NAME=SOURCE, or the name of a path or of a pulled model, and all.

    >>> _name_and_source("mine=org/name?pooling=cls", "M"), _name_and_source("org/Name@v1", "M")
    (('mine', 'org/name?pooling=cls'), ('name', 'org/Name@v1'))

    Raises:
        BadCheckpoint: the last part of a path cannot be a name.
    """
    place, _, _ = entry.partition("?")
    given, equals, _ = place.partition("=")
    if equals and "/" not in given:
        return given, entry.removeprefix(f"{given}=")
    if "/" not in place:
        return entry, entry
    pulled = hub_name(place)
    name = Path(pulled.repository if pulled else place).name.lower()
    if not is_name(name):
        raise BadCheckpoint(f"{setting}: the last part of {entry!r} cannot be a name of {_LETTERS}: write name={entry}")
    return name, entry


def read_aliases(listed: str, models: Collection[str]) -> dict[str, ModelChoice]:
    """Alias -> its model and measure, from a list of `alias=model` and `alias=model@measure`.

    Raises:
        BadCheckpoint: an entry is malformed, repeated or the name of a model, or its model or measure does not exist.
    """
    aliases: dict[str, ModelChoice] = {}
    for entry in filter(None, (part.strip() for part in listed.split(","))):
        alias, _, target = (part.strip() for part in entry.partition("="))
        choice = _choice(target)
        if not alias or alias in (*models, *aliases):
            raise BadCheckpoint(f"SEMBLANCE_MODEL_ALIASES: {entry!r} needs a new name before '='")
        if choice.model not in models:
            raise BadCheckpoint(f"SEMBLANCE_MODEL_ALIASES: {entry!r} names none of the served {', '.join(models)}")
        if choice.measure is not None and choice.measure not in (measures := catalogue.measures()):
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
    if path.name == place and not path.exists():
        known = [*BUILT_IN]
        guess = built_in_hint(place) or did_you_mean(place, known)
        raise BadCheckpoint(f"no built-in model ({', '.join(known)}), file or folder is named {place!r}{guess}")
    try:
        return Source(path if pulled is None or path.exists() else pulled_folder(pulled), options)
    except BadCheckpoint as error:
        raise BadCheckpoint(f"{error}{built_in_hint(place)}") from error


class LazyModels:
    """Load models on first use, in a thread; callers wait for a load up to a limit.

    Args:
        files: the served models by name; the first is the default.
        loads: the loads of these models.
        aliases: further names of models.
        calibrations: maps from scores to probabilities.
        rerankers: those of the same process.
        refused: name -> why the model is not served.

    Attributes:
        default: the model that is meant where none is named.
        since: Unix time from which they are served.
    """

    def __init__(
        self,
        files: Mapping[str, ModelFiles],
        loads: LazyLoads[Encoder],
        aliases: Mapping[str, ModelChoice] = MappingProxyType({}),
        calibrations: Calibrations = MappingProxyType({}),
        rerankers: LazyRerankers = NO_RERANKERS,
        refused: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.files = files
        self.rerankers = rerankers
        self.aliases = aliases
        self.calibrations = calibrations
        self.default = next(iter(files))
        self.since = int(time.time())
        self._refused = refused
        self._loads = loads

    @property
    def refused(self) -> dict[str, str]:
        """Name -> why a model cannot be served, of any kind: by its files, or since it was loaded."""
        return {**self._refused, **self._loads.refused(), **self.rerankers.refused()}

    @property
    def names(self) -> list[str]:
        """Names of the models, then their aliases."""
        return [*self.files, *(alias for alias in self.aliases if alias not in self.rerankers.names)]

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
        if name in self.rerankers.files:
            raise UnknownModel(
                f"{name!r} is a rerank model, which has no vectors: name it as rerank_model of POST /search or POST "
                f"/rerank, and as model one of {', '.join(self.names)}"
            )
        if name in self._refused:
            raise ModelUnavailable(f"model {name!r} is not served: {self._refused[name]}")
        if name not in self.files:
            raise UnknownModel(f"no model {name!r} is served: choose one of {', '.join(self.names)}{_ALIAS}")
        return await self._loads.get(name)

    def serves(self, name: str, space: str) -> bool:
        """Whether a model of that name or alias is served, and makes vectors of that space."""
        name = self.aliases.get(name, ModelChoice(name)).model or self.default
        return name in self.files and name not in self.refused and self.files[name].space == space

    def begin(self, name: str, threads: Executor) -> None:
        """Begin to load that model before there is an event loop."""
        self._loads.begin(name, threads)

    def load(self, name: str) -> asyncio.Task[Encoder]:
        """The load of that model, pending or done."""
        return self._loads.load(name)

    def loaded(self) -> dict[str, Encoder]:
        """Models in memory, by name."""
        return self._loads.loaded()


def _choice(name: str) -> ModelChoice:
    model, at, measure = name.rpartition("@")
    return ModelChoice(model, measure) if at else ModelChoice(name)
