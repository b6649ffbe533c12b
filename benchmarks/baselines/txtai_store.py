"""Run txtai on documents and queries with existing vectors, so that no model is involved."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.baselines.environments import child_environment, environment
from semblance.models.embeddings import Floats
from tests.support.running_service import reserved_port, wait_for_url

PROGRAM = Path(__file__).with_name("txtai_program.py")


@contextmanager
def running_txtai(
    folder: Path, texts: Sequence[str], vectors: Floats, queries: Sequence[str], query_vectors: Floats
) -> Iterator[str]:
    """Serve documents, whose ids are their positions, and known queries; yields the URL."""
    python = environment("txtai", ("txtai[api]",))
    input_folder = folder / "txtai"
    input_folder.mkdir()
    (input_folder / "texts.json").write_text(json.dumps({"documents": list(texts), "queries": list(queries)}), "utf-8")
    np.save(input_folder / "vectors.npy", np.vstack([vectors, query_vectors]))
    command = [str(python), str(PROGRAM), str(input_folder), str(reserved_port())]
    log = input_folder / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, env=child_environment(), stdout=subprocess.PIPE, stderr=errors)
    try:
        yield wait_for_url(process, log)
    finally:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
