"""Check that the steps of an origin folder were built from each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from semblance.models.files.digests import file_sha256
from semblance_lab.origin.corpus.corpus import CORPUS_PARTS
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.origin_folder import COHERENCE, CORPUS, GENERATION, SCREENING, TOKENS, VOCABULARY


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
    """Refuse steps that were built from other files than those in the folder.

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
