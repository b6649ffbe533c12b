"""All faults."""

from __future__ import annotations

from tests.soak.injected import collections, replicas, stores
from tests.soak.injected.fault import Fault
from tests.support.servers.deployment import DATABASE_TIMEOUT_S

CUT_OFF = frozenset({"502 bad_gateway", "cut off"})  # sent to a replica that dies
LEAVING = CUT_OFF | {"503 not_ready"}  # sent to one that is going down: a write is not tried elsewhere
AWAY = frozenset({"503 store_unavailable", "in the stream store_unavailable"})
LEFT_BEHIND = frozenset({"503 version_not_reached"})  # the version asked for is on its way to who is left
OTHER_LIFE = LEFT_BEHIND | {"404 unknown_collection", "409 version_mismatch"}

REFUSED_WITHIN_S = DATABASE_TIMEOUT_S + 3.0

FAULTS = (
    Fault("a replica killed", replicas.killed, 5, writers_may_see=CUT_OFF),
    Fault(
        "a replica stopped for a while", replicas.stopped, 10, writers_may_see=AWAY | CUT_OFF
    ),  # it may hold the lock
    Fault("all replicas restarted in turn", replicas.all_restarted_in_turn, writers_may_see=LEAVING),
    Fault("the clock of a replica jumps", replicas.clock_jumped, 5),
    Fault("the disk of a replica full", replicas.disk_full, 5),
    Fault("a snapshot corrupt", replicas.snapshot_corrupted, writers_may_see=LEAVING),
    Fault("Redis killed and restarted", stores.redis_killed, 5),
    Fault("Redis accepts and never answers", stores.redis_silent, 10),
    Fault("cache entries corrupt", stores.cache_corrupted, 5),
    Fault("PostgreSQL restarted", stores.database_restarted, 0, LEFT_BEHIND, AWAY, REFUSED_WITHIN_S),
    Fault("PostgreSQL killed and restarted", stores.database_killed, 2, LEFT_BEHIND, AWAY, REFUSED_WITHIN_S),
    Fault("PostgreSQL away", stores.database_away, 15, LEFT_BEHIND, AWAY, REFUSED_WITHIN_S),
    Fault("PostgreSQL accepts and never answers", stores.database_silent, 15, LEFT_BEHIND, AWAY, REFUSED_WITHIN_S),
    Fault("the collection deleted and made anew", collections.recreated, 2, OTHER_LIFE),
    Fault("a backup restored", collections.restored, 2, OTHER_LIFE),
    Fault("a roll-over, killed half-way and resumed", collections.moved_to_another_model, 1, writers_may_see=CUT_OFF),
)
