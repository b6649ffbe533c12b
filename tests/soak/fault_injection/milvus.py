"""Faults of a Milvus behind a relay, for replicas that keep no copy."""

from __future__ import annotations

from tests.soak.fault_injection.fault import Fault, FaultContext
from tests.soak.fault_injection.replicas import kill_replica, suspend_replica
from tests.soak.fault_injection.stores import await_degraded, kill_database, restart_database
from tests.support.servers.deployment import DATABASE_TIMEOUT_S

REFUSED = frozenset({"503 index_unavailable", "503 version_not_reached"})
NO_DATABASE = frozenset({"503 store_unavailable", "503 not_ready", "in the stream store_unavailable"})
CUT_OFF = frozenset({"cut off", "502 bad_gateway"})
WITHIN_S = 2 * DATABASE_TIMEOUT_S + 3.0  # nginx asks another replica once the first one has refused


def kill(context: FaultContext) -> None:
    """Kill Milvus, and start it again on its data."""
    context.deployment.milvus.kill()
    await_degraded(context)
    context.deployment.milvus.start()


def suspend(context: FaultContext) -> None:
    """Suspend Milvus: it accepts connections and answers nothing."""
    context.deployment.milvus.pause()
    try:
        await_degraded(context)
    finally:
        context.deployment.milvus.resume()


def lose_answers(context: FaultContext) -> None:
    """Pass requests to Milvus, which carries them out, and lose its answers."""
    context.deployment.relay.lose_answers()
    try:
        await_degraded(context)
    finally:
        context.deployment.relay.recover()


def restore_earlier(context: FaultContext) -> None:
    """Set Milvus back to what it held when the fault began."""
    milvus = context.deployment.milvus
    milvus.kill()
    saved = milvus.save_state()
    milvus.start()
    context.wait()
    milvus.kill()
    milvus.recover_state(saved)
    milvus.start()


def lose_data(context: FaultContext) -> None:
    """Replace Milvus by an empty one."""
    context.deployment.milvus.kill()
    context.deployment.milvus.lose_state()
    await_degraded(context)
    context.deployment.milvus.start()


def kill_while_database_restarts(context: FaultContext) -> None:
    """Kill Milvus, restart PostgreSQL meanwhile, and start Milvus again."""
    context.deployment.milvus.kill()
    restart_database(context)
    context.wait()
    context.deployment.milvus.start()


FAULTS = (
    Fault("Milvus killed and restarted", kill, 5, REFUSED, reads_within_s=WITHIN_S),
    Fault("Milvus accepts and never answers", suspend, 10, REFUSED, reads_within_s=WITHIN_S),
    Fault("answers of Milvus lost", lose_answers, 10, REFUSED, reads_within_s=WITHIN_S),
    Fault("Milvus set back to an earlier state", restore_earlier, 5, REFUSED, reads_within_s=WITHIN_S, may_miss=True),
    Fault("Milvus loses its data", lose_data, 3, REFUSED, reads_within_s=WITHIN_S, may_miss=True),
    Fault("a replica killed", kill_replica, 5, REFUSED | CUT_OFF, CUT_OFF),
    Fault("a replica stopped for a while", suspend_replica, 10, REFUSED, NO_DATABASE | CUT_OFF),
    Fault("PostgreSQL killed and restarted", kill_database, 2, REFUSED | NO_DATABASE, NO_DATABASE),
    Fault(
        "Milvus killed while PostgreSQL restarts",
        kill_while_database_restarts,
        3,
        REFUSED | NO_DATABASE,
        NO_DATABASE,
        reads_within_s=2 * WITHIN_S,
    ),
)
