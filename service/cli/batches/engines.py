"""Engines that run the tasks of a batch: this process, or the processes of Ray."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from secrets import token_hex
from typing import Annotated, Any, Literal, Protocol, TypeAlias, TypeVar

import typer

from semblance.models.errors import SemblanceError
from semblance.models.processor.usable_cores import usable_cores
from semblance.service.settings import Settings

RETRIES = 10  # of a task whose worker process was killed
CONNECT_S = 10.0  # to reach a running cluster
WAITING = 1000  # tasks that Ray knows at a time
OBJECT_BYTES = 100 * 1024 * 1024  # of the object store of a local cluster, which holds descriptions of tasks only

Engine: TypeAlias = Literal["local", "ray"]
EngineOption: TypeAlias = Annotated[
    Engine, typer.Option(help="What runs the tasks: this process, or Ray, which needs the extra `ray`.")
]
Address: TypeAlias = Annotated[
    str | None,
    typer.Option(
        envvar="RAY_ADDRESS",
        help="Running Ray cluster, such as 10.0.0.5:6379; its nodes must see the same files under the same paths.",
        show_default="a cluster on this machine for the time of the command",
    ),
]


class BatchFailed(SemblanceError):
    """A task failed in a worker process; raised by commands only."""

    code = "batch_failed"


class BatchTask(Protocol):
    """A task of a batch.

    It is sent to worker processes, so it holds paths and settings, neither models nor data.
    """

    @property
    def size(self) -> int:
        """The amount of work, in any unit."""

    @property
    def label(self) -> str:
        """Its name in a message."""


Task = TypeVar("Task", bound=BatchTask)
Result = TypeVar("Result")
Report: TypeAlias = Callable[[float], None]
"""Progress callback: receives how much is done, in the unit of the sizes."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """The message of an error of a task, since not all errors can be sent between processes."""

    message: str


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs tasks by an engine; `settings` has the cores and the device of a worker process."""

    engine: Engine
    address: str | None
    settings: Settings

    def run(
        self, work: Callable[[Task, Report], Result], tasks: Sequence[Task], report: Report
    ) -> Iterator[tuple[Task, Result]]:
        """Yield each task with its result, as they finish.

        Args:
            work: a function of a module. A worker process that is killed begins its task again, so what `work` writes
                must not depend on how often it ran.
            tasks: what to do.
            report: progress callback. Ray reports finished tasks only.

        Raises:
            SemblanceError, OSError: a task failed, or its worker process was killed too often.
            ModuleNotFoundError: Ray is not installed.
        """
        done = 0
        for task, result in self._by_ray(work, tasks) if self.engine == "ray" else _here(work, tasks, report):
            done += task.size
            report(done)
            yield task, result

    def _by_ray(self, work: Callable[[Task, Report], Result], tasks: Sequence[Task]) -> Iterator[tuple[Task, Result]]:
        _configure_ray(own_cluster=self.address is None)
        import ray  # noqa: PLC0415 - installed by the extra `ray`, and takes a second
        from ray.exceptions import NodeDiedError, OutOfMemoryError, WorkerCrashedError  # noqa: PLC0415 - likewise

        cores, gpus = self.settings.threads or 1, int(self.settings.device.startswith("cuda"))
        with _cluster(ray, self.address):
            remote: Any = ray.remote(num_cpus=cores, num_gpus=gpus, max_retries=RETRIES)(_in_worker)
            queued, waiting = iter(tasks), dict[Any, Task]()
            while waiting or len(waiting) < WAITING:
                waiting |= {remote.remote(work, each, cores): each for each in islice(queued, WAITING - len(waiting))}
                if not waiting:
                    return
                [finished], _ = ray.wait(list(waiting), num_returns=1)
                task = waiting.pop(finished)
                try:
                    result = ray.get(finished)
                except (WorkerCrashedError, OutOfMemoryError, NodeDiedError) as error:
                    raise BatchFailed(
                        f"{task.label}: its worker process was killed {RETRIES + 1} times; has it too little memory? "
                        f"{error}"
                    ) from error
                if isinstance(result, _Failure):
                    raise BatchFailed(f"{task.label}: {result.message}")
                yield task, result


def _here(
    work: Callable[[Task, Report], Result], tasks: Sequence[Task], report: Report
) -> Iterator[tuple[Task, Result]]:
    done = 0
    for task in tasks:
        yield task, work(task, lambda of_task, before=done: report(before + of_task))  # type: ignore[misc]
        done += task.size


def _in_worker(work: Callable[[Task, Report], Result], task: Task, cores: int) -> Result | _Failure:
    """Run a task in a process of Ray, which shares the machine with others."""
    os.environ["SEMBLANCE_THREADS"] = str(cores)
    try:
        return work(task, lambda _: None)
    except (SemblanceError, OSError) as error:
        return _Failure(str(error))


def _configure_ray(*, own_cluster: bool) -> None:
    """Set the environment that Ray reads when it is imported.

    Its processes listen on all addresses, whatever address the node has, and run any code sent to them. Those of our
    own cluster demand a token that only they know.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if own_cluster:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex(32)}


@contextmanager
def _cluster(ray: Any, address: str | None) -> Iterator[None]:
    """Connect to a cluster, or start one on this machine without a dashboard."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    own = {
        "num_cpus": usable_cores(),
        "include_dashboard": False,
        "object_store_memory": OBJECT_BYTES,
    }
    if address:
        _require_listener(address)
    try:
        ray.init(address=address or "local", **quiet, **({} if address else own))
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise BatchFailed(f"cannot use Ray at {address or 'this machine'}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _require_listener(address: str) -> None:
    """Raise BatchFailed if no process listens at host:port; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()):
        return  # another form, such as `auto`
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except OSError as error:
        raise BatchFailed(f"no Ray cluster answers at {address}: {error}") from error
