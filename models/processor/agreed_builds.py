"""Builds whose vectors agreed with float32 here: they are compared once, not at each start."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from semblance.models.embeddings import Precision
from semblance.models.files.digests import digest
from semblance.models.networks.agreement import MIN_COSINE, PROBES
from semblance.models.processor.identity import processor

log = logging.getLogger(__name__)


def build_of(space: str, runtime: str, precision: Precision, versions: Mapping[str, str]) -> str:
    """Digest of all that decides the bits of a network's vectors, apart from the processor."""
    return digest(space=space, runtime=runtime, precision=precision, versions=dict(versions))


def has_agreed(records: Path | None, build: str) -> bool:
    """Whether a build agreed here before, by the same probes and limits."""
    return records is not None and _record(records, build).exists()


def record_agreement(records: Path | None, build: str) -> None:
    """Record that a build agreed, if there is a folder for it."""
    if records is None:
        return
    file = _record(records, build)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    except OSError as error:
        log.info("each start compares the build with float32, since this cannot be recorded: %s", error)


def _record(records: Path, build: str) -> Path:
    """The file of a record, of which its name says all."""
    judged = digest(build=build, processor=processor(), probes=PROBES, min_cosine=dict(MIN_COSINE))
    return records / "agreed" / judged
