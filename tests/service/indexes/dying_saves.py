"""Replace a snapshot in processes that die one step later each time; see test_snapshots.py.

    python -m tests.service.indexes.dying_saves FOLDER ENGINE...

prints for each engine its name, a line for every death, with the snapshot found afterwards ("old" or "new") and the
number of files, and a last line, "survived". A death loses what was not flushed to disk: files written but not synced
are truncated to half.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from semblance.models.embeddings import unit_rows
from semblance.models.tokenization.terms import query_terms
from semblance.service.indexes import snapshots
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.ports.documents import Collection, CollectionSettings, VectorChange, Version
from tests.support.crash_point import CRASHED, CrashPoint, run_in_fork
from tests.support.stored_index import StoredIndex

DIM = 4


def settings(engine: str) -> CollectionSettings:
    return CollectionSettings("minilm", "space", DIM, "cosine", engine, "none")


def two_states(engine: str) -> tuple[CollectionIndex, CollectionIndex]:
    """An index, and the same one after some more writes."""
    rng = np.random.default_rng(0)
    vectors = unit_rows(rng.normal(size=(60, DIM))).astype(np.float32)
    first = [
        VectorChange(
            f"d{i}", 1, vectors[i : i + 1 + i % 2], {"n": i, "tags": ["a", "ü"]}, ["A text.", f"No. {i}"][: 1 + i % 2]
        )
        for i in range(40)
    ]
    second = [
        VectorChange("d3", 2, None, {}),
        VectorChange("d4", 2, vectors[4][None], {"n": "relabelled"}, ["A text."]),
    ]
    second += [VectorChange(f"d{i}", 2, vectors[i + 20][None], {"n": -i}, [f"Other text {i}"]) for i in range(10, 40)]
    states = []
    for changes, number in ((first, 1), (first + second, 2)):
        index = StoredIndex(engine, DIM)
        for change in changes:
            index.apply([change])
        index.advance(Version("epoch", number))
        states.append(index)
    return states[0], states[1]


def content(index: CollectionIndex) -> dict[str, Any]:
    """Complete contents of an index, with vectors as bytes."""
    vectors = index.vectors([f"d{i}" for i in range(60)])
    rows = index._documents
    metadata = {rows.document(row): dict(rows._metadata_of(row)) for row in rows._live if not rows.number(row)}
    return {
        "version": index.version,
        "live": list(rows._live),
        "rows": index.rows,
        "terms": rows.terms(query_terms("a no text 12"), range(index.rows)),
        "documents": {doc_id: (rows.of(doc_id), vectors[doc_id].tobytes(), metadata[doc_id]) for doc_id in metadata},
    }


def count_steps(folder: Path, at: int) -> None:
    """Die at that step of this process; writing an index counts as a step."""
    crash, write = CrashPoint(folder, at, loses_unsynced=True), faiss.write_index
    crash.install()

    def counted(index: Any, name: str) -> None:
        write(index, name)
        crash.step()

    faiss.write_index = counted  # type: ignore[assignment]


def main(engine: str, folder: Path) -> None:
    old, new = two_states(engine)
    collection = Collection("c", Version("epoch", 2), settings(engine))
    expected = {str(content(old)): "old", str(content(new)): "new"}
    status, step = CRASHED, 0
    while status == CRASHED:
        step += 1
        shutil.rmtree(folder, ignore_errors=True)
        snapshots.save(folder, old, settings(engine))

        def save_and_die(at: int = step) -> None:
            count_steps(folder, at)
            snapshots.save(folder, new, settings(engine))

        status = run_in_fork(save_and_die)
        loaded = snapshots.load(folder, collection)
        print(expected.get(str(loaded and content(loaded)), "neither"), len(list(folder.iterdir())))
    print("survived" if status == 0 else f"failed with {status}")


if __name__ == "__main__":
    for name in sys.argv[2:]:  # in one process, since importing takes longer than dying
        print(name)
        main(name, Path(sys.argv[1], name))
