"""Output folder of a resumable job, locked to one process."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from semblance.models.errors import SemblanceError
from semblance.models.files.atomic import partial_path, write_json
from semblance.models.files.json_file import read_json

LOCK = "lock"


@contextmanager
def process_lock(lock: Path, busy: SemblanceError) -> Iterator[None]:
    """Hold a lock against other processes; the system releases it if this process dies.

    Args:
        lock: the lock file, created if missing.
        busy: the error to raise if another process holds the lock.

    Raises:
        OSError: the file cannot be created.
    """
    file_lock = FileLock(lock)
    try:
        file_lock.acquire(timeout=0)
    except Timeout as error:
        raise busy from error
    try:
        yield
    finally:
        file_lock.release()


@contextmanager
def resumable_folder(about: Path, job: Mapping[str, Any], error_type: type[SemblanceError]) -> Iterator[None]:
    """Lock the output folder of a new job or, to resume it, of the same job.

    Args:
        about: a JSON file in the folder that describes the job.
        job: its content: the inputs and settings of the job, as JSON values.
        error_type: the error to raise if the folder contains something else, is in use, or cannot be written.

    Raises:
        BadCheckpoint: `about` cannot be read.
    """
    folder = about.parent
    with ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(process_lock(folder / LOCK, error_type(f"another process is using {folder}")))
            _require_same(about, job, error_type)
        except OSError as error:
            raise error_type(f"{folder} cannot be written: {error}") from error
        yield


def _require_same(about: Path, job: Mapping[str, Any], error_type: type[SemblanceError]) -> None:
    folder = about.parent
    if not about.exists():
        own = (LOCK, partial_path(about).name)  # what a crash before the first write can leave
        if others := [each.name for each in folder.iterdir() if each.name not in own]:
            raise error_type(f"{folder} already contains {others[0]}; choose an empty folder")
        write_json(about, job)
    elif changed := changed_keys(json.loads(json.dumps(job)), read_json(about, dict)):
        raise error_type(
            f"the job in {folder} was started with another value of {', '.join(changed)}; repeat the original call, "
            "remove the folder, or choose another one"
        )


def changed_keys(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """Dotted keys whose values differ between two jobs; the version of Semblance is ignored.

    >>> changed_keys({"seed": 1, "teacher": {"size": 100}}, {"seed": 1, "teacher": {"size": 500}})
    ['teacher.size']
    """
    ours, theirs = dict(_flattened(left)), dict(_flattened(right))
    keys = sorted((ours.keys() | theirs.keys()) - {"semblance"})
    return [key for key in keys if ours.get(key) != theirs.get(key)]


def _flattened(job: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in job.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
