"""Size of a Milvus deployment for a number of documents: machines, hours and money."""

from __future__ import annotations

import math
from dataclasses import dataclass

# bytes of a passage in the memory of Milvus, beside a byte for each number of its vector
GRAPH = 144  # 36 neighbors (M = 18), as deploy/kubernetes/milvus sets
KEYS = 110  # primary key, digest and version, as service/indexes/remote/milvus_index.py writes them
TERMS = 5  # for each byte of id and metadata: digests of fields and values, and their ranges
LOADED = 0.7  # of the memory of a machine; the rest is for new segments, merges and queries

OTHER_MACHINES = 3  # of Milvus: coordinators and etcd, writers and mergers, the log
DATABASES = 2  # a primary and a standby
REPLICAS = 2  # of Semblance; more as its queue grows
FILLED_PER_S = 1000  # benchmarks/speed/remote_index.py --documents 2000, on Milvus Lite
ENCODED_PER_CORE_S = 75  # sentences; benchmarks/speed/batches.py

TB = 1e12


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a month, in any currency.

    Attributes:
        machine_bytes: memory of a machine.
        machine: price of such a machine.
        terabyte: price of a terabyte of disk or object storage.
    """

    machine_bytes: float
    machine: float
    terabyte: float


@dataclass(frozen=True, slots=True)
class MilvusEstimate:
    """Needs of a collection on Milvus.

    Attributes:
        memory: bytes of all query nodes.
        objects: bytes of object storage, with those that a merge replaces.
        machines: of all kinds, each with its number.
        fill_h: hours until a Milvus that lost everything has it again, from PostgreSQL; nothing is found meanwhile.
        encoding_h: hours of a core to encode all texts, once.
        cost: of a month.
    """

    memory: int
    objects: int
    machines: dict[str, int]
    fill_h: float
    encoding_h: float
    cost: float


def estimate_milvus(rows: int, dim: int, metadata: int, database: int, prices: Prices) -> MilvusEstimate:
    """Estimate what a collection needs.

    Args:
        rows: passages.
        dim: numbers of a vector.
        metadata: bytes of id and metadata of a document.
        database: bytes of it in PostgreSQL.
        prices: of machines and storage.
    """
    scalars = KEYS + TERMS * metadata
    memory = rows * (dim + GRAPH + scalars)
    objects = 2 * rows * (4 * dim + scalars)
    machines = {
        "query nodes of Milvus": math.ceil(memory / (LOADED * prices.machine_bytes)),
        "other nodes of Milvus": OTHER_MACHINES,
        "PostgreSQL and its standby": DATABASES,
        "replicas of Semblance": REPLICAS,
    }
    stored = objects + DATABASES * database
    return MilvusEstimate(
        memory,
        objects,
        machines,
        fill_h=rows / FILLED_PER_S / 3600,
        encoding_h=rows / ENCODED_PER_CORE_S / 3600,
        cost=sum(machines.values()) * prices.machine + stored / TB * prices.terabyte,
    )
