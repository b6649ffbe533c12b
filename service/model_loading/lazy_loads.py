"""Models that are loaded on first use, in a thread; callers wait for a load up to a limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Generic, TypeVar

from semblance.models.errors import SemblanceError
from semblance.service.errors import ModelLoading, ModelUnavailable
from semblance.service.model_loading.refused_models import reason_of

log = logging.getLogger(__name__)

Model = TypeVar("Model")


class LazyLoads(Generic[Model]):
    """Loads by name.

    Args:
        load: loads the model of that name.
        wait_s: seconds that a caller waits for a load.
    """

    def __init__(self, load: Callable[[str], Model], wait_s: float) -> None:
        self._load = load
        self._wait_s = wait_s
        self._loads: dict[str, asyncio.Task[Model]] = {}
        self._begun: dict[str, Future[Model]] = {}

    def begin(self, name: str, threads: Executor) -> None:
        """Begin the load of that model before there is an event loop; `load` then waits for it."""
        self._begun[name] = threads.submit(self._load_logged, name)

    async def get(self, name: str) -> Model:
        """The model of that name.

        Raises:
            ModelLoading: loading takes longer than the limit; it continues.
            ModelUnavailable: loading failed.
        """
        task = self.load(name)
        try:
            if not task.done():
                async with asyncio.timeout(self._wait_s):
                    await asyncio.shield(task)
            return task.result()
        except TimeoutError as error:
            raise ModelLoading(f"model {name!r} is still loading; retry") from error
        except Exception as error:
            raise ModelUnavailable(f"model {name!r} could not be loaded; see the log") from error

    def load(self, name: str) -> asyncio.Task[Model]:
        """The load of that model, pending or done.

        A refusal is final, as its files do not change; after another failure, as for lack of memory, it is tried again.
        """
        if name not in self._loads or _may_succeed(self._loads[name]):
            self._loads[name] = asyncio.create_task(self._loaded(name))
        return self._loads[name]

    async def _loaded(self, name: str) -> Model:
        begun = self._begun.pop(name, None)
        return await (asyncio.to_thread(self._load_logged, name) if begun is None else asyncio.wrap_future(begun))

    def _load_logged(self, name: str) -> Model:
        try:
            return self._load(name)
        except SemblanceError as error:
            log.error("model %s could not be loaded: %s", name, error)  # noqa: TRY400 - the message says all
            raise
        except Exception:
            log.exception("model %s could not be loaded", name)
            raise

    def loaded(self) -> dict[str, Model]:
        """Models in memory, by name."""
        return {
            name: task.result()
            for name, task in self._loads.items()
            if task.done() and not task.cancelled() and task.exception() is None
        }

    def refused(self) -> dict[str, str]:
        """Name -> why a model was refused when it was loaded, for good."""
        errors = {name: _error(task) for name, task in self._loads.items()}
        return {name: reason_of(error) for name, error in errors.items() if isinstance(error, SemblanceError)}


def _error(load: asyncio.Task[Model]) -> BaseException | None:
    return load.exception() if load.done() and not load.cancelled() else None


def _may_succeed(load: asyncio.Task[Model]) -> bool:
    """Whether a load failed for a reason that may pass."""
    error = _error(load)
    return error is not None and not isinstance(error, SemblanceError)
