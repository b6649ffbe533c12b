"""`semblance size --milvus`: rows as they are written, and the page about growth."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from semblance.service.cli.milvus_size import GRAPH, KEYS, TERMS, MilvusEstimate, Prices, estimate_milvus
from semblance.service.indexes.remote.milvus_index import rows_of
from semblance.service.ports.documents import VectorChange
from tests.support.command_line import semblance
from tests.support.project import PROJECT

PRICES = Prices(128e9, 500, 50)
METADATA, DIM = 60, 384  # the defaults of the command


def on_milvus(documents: int, prices: Prices = PRICES) -> MilvusEstimate:
    return estimate_milvus(documents, DIM, METADATA, 2428 * documents, prices)


@pytest.mark.parametrize(
    "metadata",
    [
        {"source": "reuters"},
        {"source": "reuters", "year": 2021},
        {"source": "reuters", "year": 2021, "tags": ["a", "b"]},
    ],
)
def test_rows_have_about_the_estimated_size(metadata: dict[str, object]) -> None:
    change = VectorChange("document-123456789", 1_234_567, np.zeros((1, DIM), np.float32), metadata)
    [row] = rows_of(change)
    assert len(row.pop("vector")) == DIM
    size = sum(len(value) if isinstance(value, str) else len(json.dumps(value)) for value in row.values())
    expected = KEYS + TERMS * (len(change.id) + len(json.dumps(metadata)))
    assert expected == pytest.approx(size, rel=0.3)


def test_query_nodes_grow_with_documents_and_shrink_with_memory() -> None:
    few, many = on_milvus(10**8), on_milvus(10**9)
    assert many.memory == 10 * few.memory == 10**9 * (DIM + GRAPH + KEYS + TERMS * METADATA)
    larger = on_milvus(10**9, Prices(256e9, 500, 50))
    nodes = [each.machines["query nodes of Milvus"] for each in (many, larger)]
    assert nodes[1] == math.ceil(nodes[0] / 2)
    assert larger.cost == many.cost - 500 * (nodes[0] - nodes[1])


def test_the_page_about_growth_has_the_printed_figures() -> None:
    text = (PROJECT / "docs" / "deployment" / "growth.md").read_text()
    header, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"
    )
    for column, number in enumerate(header[1:], 1):
        printed = semblance("size", number.replace(",", ""), "--milvus").stdout.splitlines()
        cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed if line.startswith("│")]
        assert [[row[0], row[column]] for row in rows] == cells
