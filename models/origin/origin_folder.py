"""The origin folder: a folder a step, and `origin.json`, which says what every step was made of and gave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock

from semblance.models.errors import BadCheckpoint
from semblance.models.files.atomic import write_json
from semblance.models.files.json_file import read_json
from semblance.models.origin.errors import BadOrigin

ORIGIN = "origin.json"
CORPUS = "corpus"
VOCABULARY = "vocabulary"
TOKENS = "tokens"
SCREENING = "screening"
COHERENCE = "coherence"
GENERATION = "generation"

ABOUT = "about.json"  # in the folder of a step
MADE_OF = "made_of"


def read_about(folder: Path) -> dict[str, Any]:
    """What `origin.json` says: an entry for each step that is done; empty where there is none yet.

    Raises:
        BadOrigin: it is there, but cannot be read.
    """
    return _read(folder / ORIGIN)


def add_about(folder: Path, step: str, what: Mapping[str, Any]) -> None:
    """Put the entry of a step into `origin.json`, in the place of an earlier one; the others stay as they are.

    The file is replaced as a whole, and processes wait for each other.

    Raises:
        BadOrigin: the file is there, but cannot be read.
        OSError: it cannot be written.
    """
    file = folder / ORIGIN
    with FileLock(folder / f".{ORIGIN}.lock"):
        write_json(file, {**read_about(folder), step: dict(what)})


def write_step_about(folder: Path, made_of: Mapping[str, Any], what: Mapping[str, Any]) -> None:
    """Say in the folder of a step what it was made of, and what came of it."""
    write_json(folder / ABOUT, {MADE_OF: dict(made_of), **what})


def read_step_about(folder: Path) -> dict[str, Any]:
    """What `write_step_about` wrote; empty where the step is not done.

    Raises:
        BadOrigin: it cannot be read.
    """
    return _read(folder / ABOUT)


def is_made(folder: Path, made_of: Mapping[str, Any]) -> bool:
    """Whether the step is done already, of just this.

    Args:
        folder: of the step, such as `runs/origin/corpus`.
        made_of: settings and digests of what it reads, as JSON values.

    Raises:
        BadOrigin: it is done of something else.
    """
    about = read_step_about(folder)
    if not about:
        return False
    found, wanted = about.get(MADE_OF, {}), json.loads(json.dumps(made_of))
    if changed := sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key)):
        raise BadOrigin(
            f"{folder} was made with another value of {', '.join(changed)}: name another folder, or remove this one "
            "and what was made of it"
        )
    return True


def _read(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        return dict(read_json(file, dict))
    except BadCheckpoint as error:
        raise BadOrigin(str(error)) from error
