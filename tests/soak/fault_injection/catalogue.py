"""All faults, with the errors that each may cause; others for replicas that keep no copy and search a Milvus."""

from __future__ import annotations

from tests.soak.fault_injection import callers, collections, replicas, stores
from tests.soak.fault_injection.fault import Fault, together
from tests.support.servers.deployment import DATABASE_TIMEOUT_S

HALF_SENT = frozenset({"cut off"})  # the replica died while it sent the answer, too late for nginx to ask another
CUT_OFF = HALF_SENT | {"502 bad_gateway"}  # the replica died
LEAVING = CUT_OFF | {"503 not_ready", "in the stream not_ready"}  # it shuts down, or copies the primary again
NO_DATABASE = frozenset({"503 store_unavailable", "in the stream store_unavailable"})
LAGGING = frozenset({"503 version_not_reached"})  # the requested version has not reached this replica
# a search for duplicates that began in the former epoch says so
NEW_EPOCH = LAGGING | {"404 unknown_collection", "409 version_mismatch", "duplicates: 409 write_conflict"}

REFUSED_WITHIN_S = DATABASE_TIMEOUT_S + 3.0
# of replicas that keep no copy
REFUSED = LAGGING | {"503 index_unavailable"}
NO_PRIMARY = NO_DATABASE | {"503 not_ready"}
WITHIN_S = 2 * DATABASE_TIMEOUT_S + 3.0  # nginx asks another replica once the first one has refused

FAULTS = (
    Fault("a replica killed", replicas.kill_replica, 5, HALF_SENT, CUT_OFF),
    # it may hold the lock
    Fault("a replica stopped for a while", replicas.suspend_replica, 10, frozenset(), NO_DATABASE | CUT_OFF),
    Fault("all replicas restarted in turn", replicas.restart_all_in_turn),
    Fault("the clock of a replica jumps", replicas.shift_clock, 5),
    Fault("the disk of a replica full", replicas.fill_disk, 5),
    Fault("a snapshot corrupt", replicas.corrupt_snapshot, writers_may_see=LEAVING),
    Fault("a copy damaged", replicas.damage_copy, writers_may_see=LEAVING),
    Fault("a copy damaged at rest", replicas.damage_copy_at_rest, 2, writers_may_see=LEAVING),
    Fault("Redis killed and restarted", stores.kill_redis, 5),
    Fault("Redis accepts and never answers", stores.suspend_redis, 10),
    Fault("cache entries corrupt", stores.corrupt_cache, 5),
    Fault("PostgreSQL restarted", stores.restart_database, 0, LAGGING, NO_DATABASE, REFUSED_WITHIN_S),
    Fault("PostgreSQL killed and restarted", stores.kill_database, 2, LAGGING, NO_DATABASE, REFUSED_WITHIN_S),
    Fault("PostgreSQL away", stores.stop_database, 15, LAGGING, NO_DATABASE, REFUSED_WITHIN_S),
    Fault("PostgreSQL accepts and never answers", stores.suspend_database, 15, LAGGING, NO_DATABASE, REFUSED_WITHIN_S),
    Fault(
        "the disk of PostgreSQL full",
        stores.fill_disk,
        10,
        writers_may_see=stores.FULL_DISK,
        writes_within_s=REFUSED_WITHIN_S,
        lacks=stores.small_disk_missing,
    ),
    Fault("PostgreSQL recovered to an earlier state", stores.recover_database, 3, NEW_EPOCH, NO_DATABASE | LAGGING),
    Fault("the collection deleted and recreated", collections.recreate_collection, 2, NEW_EPOCH),
    Fault("a backup restored", collections.restore_backup, 2, NEW_EPOCH),
    Fault("an unfair caller", callers.flood, 10),
    Fault(
        "a replica killed while PostgreSQL restarts",
        together(replicas.kill_replica, stores.restart_database),
        2,
        # nginx asks all replicas for a version that has reached none, and may end at the dead one
        LAGGING | HALF_SENT | {"search after: 502 bad_gateway"},
        NO_DATABASE | CUT_OFF,
    ),
    Fault(
        "a copy damaged while Redis does not answer",
        together(replicas.damage_copy, stores.suspend_redis),
        5,
        writers_may_see=LEAVING,
    ),
    Fault("a re-embedding, killed half-way and resumed", collections.reembed, 1, writers_may_see=CUT_OFF),
)
STATELESS_FAULTS = (
    Fault("Milvus killed and restarted", stores.kill_milvus, 5, REFUSED, reads_within_s=WITHIN_S),
    Fault("Milvus accepts and never answers", stores.suspend_milvus, 10, REFUSED, reads_within_s=WITHIN_S),
    Fault("answers of Milvus lost", stores.lose_answers, 10, REFUSED, reads_within_s=WITHIN_S),
    Fault(
        "Milvus set back to an earlier state",
        stores.restore_earlier_milvus,
        5,
        REFUSED,
        reads_within_s=WITHIN_S,
        may_miss=True,
    ),
    Fault("Milvus loses its data", stores.empty_milvus, 3, REFUSED, reads_within_s=WITHIN_S, may_miss=True),
    Fault("a replica killed", replicas.kill_replica, 5, REFUSED | CUT_OFF, CUT_OFF),
    Fault("a replica stopped for a while", replicas.suspend_replica, 10, REFUSED, NO_PRIMARY | CUT_OFF),
    Fault("PostgreSQL killed and restarted", stores.kill_database, 2, REFUSED | NO_PRIMARY, NO_PRIMARY),
    Fault(
        "Milvus killed while PostgreSQL restarts",
        stores.kill_milvus_while_database_restarts,
        3,
        REFUSED | NO_PRIMARY,
        NO_PRIMARY,
        reads_within_s=2 * WITHIN_S,
    ),
)
