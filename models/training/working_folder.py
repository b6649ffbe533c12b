"""Where the checkpoints of a run lie until its model is finished: for one run, and one process at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from models.model_files import read_json
from models.training.errors import BadRecipe, CheckpointNotSaved
from models.training.run import Run

RUN = "run.json"
LOCK = "lock"


@contextmanager
def claimed(run: Run) -> Iterator[None]:
    """The working folder, new or that of the same run, while no other process has it.

    Raises:
        BadRecipe: another run lies there, or something else, or another process is training there.
        CheckpointNotSaved: it cannot be made.
    """
    try:
        run.work.mkdir(parents=True, exist_ok=True)
        with FileLock(run.work / LOCK, timeout=0):
            _require_same(run)
            yield
    except Timeout as error:
        raise BadRecipe(f"another process is training in {run.work}") from error
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise CheckpointNotSaved(f"{run.work} cannot be written: {error}") from error


def _require_same(run: Run) -> None:
    about = json.loads(json.dumps(run.about()))
    file = run.work / RUN
    if not file.exists():
        partial = run.work / f"{RUN}.partial"
        if strangers := [each.name for each in run.work.iterdir() if each.name not in (LOCK, partial.name)]:
            raise BadRecipe(f"{run.work} holds {strangers[0]}, which no run of ours left: name another folder")
        partial.write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        partial.replace(file)
        return
    found = read_json(file, dict)
    if changed := sorted(key for key in about if found.get(key) != about[key]):
        raise BadRecipe(
            f"{run.work} holds a run that was cut off, with another value of {', '.join(changed)}: start it as it was, "
            "remove that folder, or name another one"
        )
