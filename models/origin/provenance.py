"""Whether the steps of an origin folder were made of each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from semblance.models.files.digests import file_sha256
from semblance.models.origin.corpus.corpus import PARTS
from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.origin_folder import COHERENCE, CORPUS, GENERATION, SCREENING, TOKENS, VOCABULARY


def read_by_networks(folder: Path) -> dict[str, Any]:
    """Digests of what both kinds of networks are trained on, as they stand in their `made_of`.

    Raises:
        BadCheckpoint: a file cannot be read.
    """
    return {
        "corpus": [file_sha256(folder / CORPUS / f"{part}.arrow") for part in PARTS],
        "tokens": [file_sha256(folder / TOKENS / f"{part}-ids.npy") for part in PARTS],
    }


def require_one_making(folder: Path, made_of: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse steps that were made of other files than lie in the folder.

    Args:
        folder: the origin folder.
        made_of: what each step says that it was made of.

    Raises:
        BadOrigin: a step belongs to another making.
        BadCheckpoint: a file cannot be read.
    """
    read = read_by_networks(folder)
    train = read["corpus"][0]
    wanted: dict[str, Mapping[str, Any]] = {
        # one that was taken from an encoder is of no corpus
        VOCABULARY: {"corpus": train} if "corpus" in made_of[VOCABULARY] else {},
        TOKENS: {
            "corpus": dict(zip(PARTS, read["corpus"], strict=True)),
            "vocabulary": file_sha256(folder / VOCABULARY / "tokenizer.json"),
        },
        SCREENING: {"corpus": train},
        COHERENCE: read,
        GENERATION: read,
    }
    for step, digests in wanted.items():
        if changed := [name for name, digest in digests.items() if made_of[step].get(name) != digest]:
            raise BadOrigin(
                f"{folder / step} belongs to another {' and '.join(changed)} than {folder} holds: remove it, and make "
                "it again"
            )
