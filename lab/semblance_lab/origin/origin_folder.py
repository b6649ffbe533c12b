"""Layout of an origin folder: a folder per step, and `origin.json` with their results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from filelock import FileLock

from semblance.models.errors import BadCheckpoint
from semblance.models.files.atomic import write_json
from semblance.models.files.digests import file_sha256
from semblance.models.files.json_file import read_json
from semblance_lab.origin.errors import BadOrigin

CorpusPart: TypeAlias = Literal["train", "held_out"]

CORPUS_PARTS: tuple[CorpusPart, ...] = ("train", "held_out")
ORIGIN = "origin.json"
CORPUS = "corpus"
VOCABULARY = "vocabulary"
TOKENS = "tokens"
SCREENING = "screening"
COHERENCE = "coherence"
GENERATION = "generation"

ABOUT = "about.json"  # in the folder of a step
PROVENANCE = "made_of"


def read_about(folder: Path) -> dict[str, Any]:
    """Read `origin.json`: one entry per finished step; empty if the file does not exist.

    Raises:
        BadOrigin: it exists, but cannot be read.
    """
    return _read(folder / ORIGIN)


def add_about(folder: Path, step: str, entry: Mapping[str, Any]) -> None:
    """Add or replace the entry of a step in `origin.json`, and keep the others.

    The file is replaced atomically, under a lock between processes.

    Raises:
        BadOrigin: the file exists, but cannot be read.
        OSError: it cannot be written.
    """
    file = folder / ORIGIN
    with FileLock(folder / f".{ORIGIN}.lock"):
        write_json(file, {**read_about(folder), step: dict(entry)})


def write_step_about(folder: Path, provenance: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Write the provenance and the results of a step into its folder."""
    write_json(folder / ABOUT, {PROVENANCE: dict(provenance), **results})


def read_step_about(folder: Path) -> dict[str, Any]:
    """Read what `write_step_about` wrote; empty if the step is not finished.

    Raises:
        BadOrigin: it cannot be read.
    """
    return _read(folder / ABOUT)


def step_is_done(folder: Path, provenance: Mapping[str, Any]) -> bool:
    """Whether the step is finished, with the same provenance.

    Args:
        folder: of the step, such as `runs/origin/corpus`.
        provenance: settings and digests of the step's inputs, as JSON values.

    Raises:
        BadOrigin: it is finished with another provenance.
    """
    about = read_step_about(folder)
    if not about:
        return False
    stored, current = about.get(PROVENANCE, {}), json.loads(json.dumps(provenance))
    if changed := sorted(key for key in {*stored, *current} if stored.get(key) != current.get(key)):
        raise BadOrigin(
            f"{folder} was made with another value of {', '.join(changed)}: choose another folder, or remove this one "
            "and all that depends on it"
        )
    return True


def _read(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    try:
        return dict(read_json(file, dict))
    except BadCheckpoint as error:
        raise BadOrigin(str(error)) from error


def network_inputs(folder: Path) -> dict[str, Any]:
    """Digests of the files that both kinds of networks are trained on, as in their provenance.

    Raises:
        BadCheckpoint: a file cannot be read.
    """
    return {
        "corpus": [file_sha256(folder / CORPUS / f"{part}.arrow") for part in CORPUS_PARTS],
        "tokens": [file_sha256(folder / TOKENS / f"{part}-ids.npy") for part in CORPUS_PARTS],
    }


def require_consistent_steps(folder: Path, provenance: Mapping[str, Mapping[str, Any]]) -> None:
    """Reject steps that were built from other files than those in the folder.

    Args:
        folder: the origin folder.
        provenance: stored provenance of each step.

    Raises:
        BadOrigin: a step was built from other files.
        BadCheckpoint: a file cannot be read.
    """
    inputs = network_inputs(folder)
    train = inputs["corpus"][0]
    expected: dict[str, Mapping[str, Any]] = {
        # a vocabulary taken from an encoder does not depend on the corpus
        VOCABULARY: {"corpus": train} if "corpus" in provenance[VOCABULARY] else {},
        TOKENS: {
            "corpus": dict(zip(CORPUS_PARTS, inputs["corpus"], strict=True)),
            "vocabulary": file_sha256(folder / VOCABULARY / "tokenizer.json"),
        },
        SCREENING: {"corpus": train},
        COHERENCE: inputs,
        GENERATION: inputs,
    }
    for step, digests in expected.items():
        if changed := [name for name, digest in digests.items() if provenance[step].get(name) != digest]:
            raise BadOrigin(
                f"{folder / step} was built from another {' and '.join(changed)} than {folder} contains: remove it and "
                "build it again"
            )
