"""A folder for what takes long: begun once, gone on with by the same call, and by one process at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from semblance.models.errors import SemblanceError
from semblance.models.files.atomic import partial, write_json
from semblance.models.files.json_file import read_json

LOCK = "lock"


@contextmanager
def only_process(lock: Path, busy: SemblanceError) -> Iterator[None]:
    """Keep other processes out for the time of the block; the system lets go of the lock if this one dies.

    Args:
        lock: a file of its own, made where there is none.
        busy: what is raised where another process is there.

    Raises:
        OSError: the file cannot be made.
    """
    held = FileLock(lock)
    try:
        held.acquire(timeout=0)
    except Timeout as error:
        raise busy from error
    try:
        yield
    finally:
        held.release()


@contextmanager
def claimed(about: Path, made_of: Mapping[str, Any], refused: type[SemblanceError]) -> Iterator[None]:
    """The folder of a file that says what is made there: new or of the same, while no other process has it.

    Args:
        about: the file.
        made_of: what it says, or will say, as JSON values.
        refused: the error of a folder that cannot be had: something else lies there, another process is at work, or
            the disk will not do.

    Raises:
        BadCheckpoint: the file cannot be read.
    """
    folder = about.parent
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(only_process(folder / LOCK, refused(f"another process is at work in {folder}")))
            _require_same(about, made_of, refused)
        except OSError as error:
            raise refused(f"{folder} cannot be written: {error}") from error
        yield


def _require_same(about: Path, made_of: Mapping[str, Any], refused: type[SemblanceError]) -> None:
    folder = about.parent
    if not about.exists():
        known = (LOCK, partial(about).name)
        if strangers := [each.name for each in folder.iterdir() if each.name not in known]:
            raise refused(f"{folder} holds {strangers[0]}, which was not left by such work: name another folder")
        write_json(about, made_of)
    elif changed := differing(json.loads(json.dumps(made_of)), read_json(about, dict)):
        raise refused(
            f"what was begun in {folder} has another value of {', '.join(changed)}: start it as it was, remove that "
            "folder, or name another one"
        )


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names under which two makings do not say the same, but for the version of Semblance.

    >>> differing({"seed": 1, "teacher": {"size": 100}}, {"seed": 1, "teacher": {"size": 500}})
    ['teacher.size']
    """
    left, right = dict(_flat(one)), dict(_flat(other))
    names = sorted((left.keys() | right.keys()) - {"semblance"})
    return [name for name in names if left.get(name) != right.get(name)]


def _flat(about: Mapping[str, Any], of: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in about.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{of}{name}.")
        else:
            yield f"{of}{name}", value
