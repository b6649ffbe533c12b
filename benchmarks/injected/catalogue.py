"""All faults."""

from __future__ import annotations

from benchmarks.injected import collections, replicas, stores
from benchmarks.injected.fault import Fault

LEFT_BEHIND = frozenset({"503 version_not_reached"})  # the version asked for is on its way to who is left
OTHER_LIFE = LEFT_BEHIND | {"404 unknown_collection", "409 version_mismatch"}

FAULTS = (
    Fault("a replica killed", replicas.killed, 5),
    Fault("a replica stopped for a while", replicas.stopped, 10),
    Fault("all replicas restarted in turn", replicas.all_restarted_in_turn),
    Fault("the clock of a replica jumps", replicas.clock_jumped, 5),
    Fault("the disk of a replica full", replicas.disk_full, 5),
    Fault("a snapshot corrupt", replicas.snapshot_corrupted),
    Fault("Redis killed and restarted", stores.redis_killed, 5),
    Fault("Redis accepts and never answers", stores.redis_silent, 10),
    Fault("cache entries corrupt", stores.cache_corrupted, 5),
    Fault("PostgreSQL restarted", stores.database_restarted),
    Fault("PostgreSQL killed and restarted", stores.database_killed, 2, LEFT_BEHIND),
    Fault("PostgreSQL away", stores.database_away, 15, LEFT_BEHIND),
    Fault("PostgreSQL accepts and never answers", stores.database_silent, 15, LEFT_BEHIND),
    Fault("the collection deleted and made anew", collections.recreated, 2, OTHER_LIFE),
    Fault("a backup restored", collections.restored, 2, OTHER_LIFE),
    Fault("a roll-over, killed half-way and resumed", collections.moved_to_another_model, 1),
)
