"""`semblance size` against the files of a real collection."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from semblance.models.tokenization.terms import document_terms
from semblance.service.cli.size import PROCESS, estimate
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import CollectionSettings, Document, Write
from semblance.service.replication.local_node import LocalNode
from tests.support.command_line import semblance
from tests.support.servers.word_models import sentence
from tests.support.synthetic_vectors import DIM, clustered_vectors
from tests.support.vectors import one_passage

DOCUMENTS, PAGE = 20_000, 1000


@pytest.mark.slow
async def test_estimates_are_near_the_sizes_of_real_files(tmp_path: Path) -> None:
    rng, vectors = random.Random(0), clustered_vectors(DOCUMENTS)
    texts = [sentence(rng) for _ in range(DOCUMENTS)]
    file = tmp_path / "documents.sqlite"
    store = SqlDocumentStore(sqlite_engine(file))
    store.create("c", CollectionSettings("minilm", "s" * 64, DIM, "cosine", "faiss_ivf_sq8", "none"))
    for start in range(0, DOCUMENTS, PAGE):
        numbers = range(start, start + PAGE)
        documents = [Document(f"document-{i}", texts[i], {"number": i}) for i in numbers]
        writes = [Write(each, one_passage(vectors[i])) for i, each in zip(numbers, documents, strict=True)]
        store.upsert(store.collection("c"), writes)
    local = LocalNode(store, IndexFolder(tmp_path / "indexes"))
    await local.rebuild("c")
    local.close()
    terms = [len({term.text for term in document_terms(text)}) for text in texts]
    needed = estimate(
        DOCUMENTS,
        passages=1,
        dim=DIM,
        engine="faiss_ivf_sq8",
        chars=sum(map(len, texts)) // DOCUMENTS,
        terms=sum(terms) // DOCUMENTS,
        metadata=len("document-12345") + len(json.dumps({"number": 12345})),
        token_codes=0,
    )
    snapshot = sum(each.stat().st_size for each in (tmp_path / "indexes" / "c").iterdir())
    assert needed.snapshot == pytest.approx(snapshot, rel=0.15)
    assert needed.database == pytest.approx(file.stat().st_size, rel=0.15)


def test_memory_grows_with_the_vectors_of_the_engine() -> None:
    shape = {"passages": 2.0, "dim": 100, "chars": 0, "terms": 0, "metadata": 0, "token_codes": 0}
    rows = 2_000_000
    flat, rounded = (estimate(rows // 2, engine=name, **shape).memory - PROCESS for name in ("exact", "faiss_ivf_sq8"))  # type: ignore[arg-type]
    assert flat - rounded == rows * (4 * 100 - (100 + 16))


def test_the_table_names_the_engine_that_auto_chooses() -> None:
    printed = semblance("size", "10000000").stdout
    assert "10,000,000 documents in faiss_ivf_sq8" in printed
    memory, limit, cached = (float(each) for each in re.findall(r"(\d+\.\d) +│", printed)[:3])
    assert limit == pytest.approx(memory + cached + 0.83, abs=0.15), "three models, batches, the cache of 256 MiB"
    refused = semblance("size", "1000", "--engine", "nosuch")
    assert refused.returncode != 0
    assert "no engine 'nosuch'; there are auto, exact" in refused.stderr
