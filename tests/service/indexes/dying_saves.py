"""Saves one snapshot over another and dies at every step of it, one step further each time; see test_snapshots.py.

    python -m tests.service.indexes.dying_saves ENGINE FOLDER

prints a line for every death: what the folder held afterwards, "old" or "new", and how many files; and a last line,
"survived". A death takes with it all that was not yet brought to disk: files written but not synced are cut in half.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from semblance.models import catalogue
from semblance.models.embeddings import unit_rows
from semblance.service.indexes import snapshots
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.ports.documents import Change, Collection, CollectionSettings, Version
from tests.support.dying import DEAD, Death, in_a_process

DIM = 4


def settings(engine: str) -> CollectionSettings:
    """Of a collection that an engine is chosen for."""
    return CollectionSettings("minilm", "space", DIM, "cosine", engine, "none")


def two_states(engine: str) -> tuple[CollectionIndex, CollectionIndex]:
    """An index as it was saved, and after some more writes."""
    rng = np.random.default_rng(0)
    vectors = unit_rows(rng.normal(size=(60, DIM))).astype(np.float32)
    first = [Change(f"d{i}", 1, vectors[i], {"n": i, "tags": ["a", "ü"]}) for i in range(40)]
    second = [Change("d3", 2, None, {}), Change("d4", 2, vectors[4], {"n": "relabelled"})]
    second += [Change(f"d{i}", 2, vectors[i + 20], {"n": -i}) for i in range(10, 40)]
    states = []
    for changes, number in ((first, 1), (first + second, 2)):
        index = CollectionIndex(catalogue.find("semblance.service.indexes.engines", engine)(DIM), "epoch", engine)
        for change in changes:
            index.apply([change])
        index.advance(Version("epoch", number))
        states.append(index)
    return states[0], states[1]


def content(index: CollectionIndex) -> dict[str, Any]:
    """All that an index holds, vectors bit by bit."""
    vectors = index.vectors([f"d{i}" for i in range(60)])
    metadata = {index._ids[row]: dict(index._metadata[row]) for row in index._live}
    return {
        "version": index.version,
        "live": list(index._live),
        "rows": index.rows,
        "documents": {
            doc_id: (row, vectors[doc_id].tobytes(), metadata[doc_id]) for doc_id, row in index._row_of.items()
        },
    }


def count_steps(folder: Path, at: int) -> None:
    """Die at that step of this process; the writing of an index is a step as well."""
    death, write = Death(folder, at, loses_unsynced=True), faiss.write_index
    death.take_over()

    def counted(index: Any, name: str) -> None:
        write(index, name)
        death.step()

    faiss.write_index = counted  # type: ignore[assignment]


def main(engine: str, folder: Path) -> None:
    """Die and look, until a save survives."""
    old, new = two_states(engine)
    collection = Collection("c", Version("epoch", 2), settings(engine))
    expected = {str(content(old)): "old", str(content(new)): "new"}
    status, step = DEAD, 0
    while status == DEAD:
        step += 1
        shutil.rmtree(folder, ignore_errors=True)
        snapshots.save(folder, old, settings(engine))

        def save_and_die(at: int = step) -> None:
            count_steps(folder, at)
            snapshots.save(folder, new, settings(engine))

        status = in_a_process(save_and_die)
        loaded = snapshots.load(folder, collection)
        print(expected.get(str(loaded and content(loaded)), "neither"), len(list(folder.iterdir())))
    print("survived" if status == 0 else f"failed with {status}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
