"""txtai with documents whose vectors are given: neither it nor its queries wait for a model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.peers.environments import environment, variables
from semblance.models.embeddings import Floats
from tests.support.running_service import address_of, free_port

PROGRAM = Path(__file__).with_name("txtai_program.py")


@contextmanager
def running_txtai(
    folder: Path, texts: Sequence[str], vectors: Floats, asked: Sequence[str], about: Floats
) -> Iterator[str]:
    """Its address: it has (n, d) vectors of documents, whose ids are their numbers, and knows those of the queries."""
    python = environment("txtai", ("txtai[api]",))
    given = folder / "txtai"
    given.mkdir()
    (given / "texts.json").write_text(json.dumps({"documents": list(texts), "queries": list(asked)}), "utf-8")
    np.save(given / "vectors.npy", np.vstack([vectors, about]))
    command = [str(python), str(PROGRAM), str(given), str(free_port())]
    log = given / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, env=variables(), stdout=subprocess.PIPE, stderr=errors)
    try:
        yield address_of(process, log)
    finally:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
