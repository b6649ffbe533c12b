"""Faults of Redis, PostgreSQL and Milvus."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

import httpx2
import redis

from tests.soak.fault_injection.fault import FaultContext, Violation, outage
from tests.soak.traffic.ledger import Stored, parse_version
from tests.soak.traffic.request_log import WRITES
from tests.support.running_service import Service
from tests.support.servers.deployment import Deployment, readiness
from tests.support.waiting import CEILING_S, until

FULL_DISK = frozenset({"503 store_full", "in the stream store_full"})  # how writes are refused
MAX_WRITES = 60  # some of which a full disk refuses
WRITES_AFTERWARDS = 10
DEGRADED = (HTTPStatus.OK, "degraded")
DOCUMENT, WRITTEN = "after the recovery", Stored("written after the recovery")


def await_degraded(context: FaultContext) -> None:
    """Wait until every replica reports 200 `degraded`, and for the duration of the fault."""

    def is_degraded(replica: Service) -> bool:
        if (state := readiness(replica))[0] != HTTPStatus.OK:
            raise Violation(f"without a server that it needs {replica.url} reports {state}, not 200 degraded")
        return state == DEGRADED

    for replica in context.deployment.replicas:
        until(partial(is_degraded, replica), f"{replica.url} that is degraded without a server that it needs")
    context.wait()


kill_redis = outage(lambda it: it.redis.kill(), lambda it: it.redis.start())  # it is empty afterwards
suspend_redis = outage(lambda it: it.redis.pause(), lambda it: it.redis.resume())  # it accepts everything meanwhile
restart_database = outage(lambda it: it.postgres.stop(), lambda it: it.postgres.start(), lambda _: None)
kill_database = outage(lambda it: it.postgres.kill(), lambda it: it.postgres.start())  # it recovers
stop_database = outage(lambda it: it.postgres.stop(), lambda it: it.postgres.start(), await_degraded)
suspend_database = outage(lambda it: it.postgres.pause(), lambda it: it.postgres.resume(), await_degraded)
kill_milvus = outage(lambda it: it.milvus.kill(), lambda it: it.milvus.start(), await_degraded)
suspend_milvus = outage(lambda it: it.milvus.pause(), lambda it: it.milvus.resume(), await_degraded)
# requests are carried out, and their answers lost
lose_answers = outage(lambda it: it.relay.lose_answers(), lambda it: it.relay.recover(), await_degraded)


def corrupt_cache(context: FaultContext) -> None:
    """Repeatedly flip one bit of every cached value."""
    lasting = context.lasting()
    with redis.Redis.from_url(context.deployment.redis.url) as client:

        def flip_bits() -> bool:
            for key in client.scan_iter(count=1000):
                if value := client.get(key):
                    place = context.rng.randrange(len(value))
                    client.setrange(key, place, bytes([value[place] ^ 1 << context.rng.randrange(8)]))
            return not lasting()

        until(flip_bits, "reads from a corrupt cache")


def small_disk_missing(deployment: Deployment) -> str | None:
    """What `fill_disk` needs that this machine does not have."""
    return None if deployment.postgres.disk else "the right to mount a small disk"


def fill_disk(context: FaultContext) -> None:
    """Fill the disk of PostgreSQL's tables: writes are refused until it has room again.

    Its write-ahead log has room on another disk: where that is full too, PostgreSQL stops, as in `stop_database`.
    Writes that fit into pages that a table already has still succeed, so not every write is refused.
    """
    disk = context.deployment.postgres.disk
    assert disk is not None
    context.deployment.postgres.compact("documents")
    log = context.target.log
    before, sent = _refused(context), log.total(WRITES)
    with disk.full():
        until(lambda: _refused(context) > before or log.total(WRITES) >= sent + MAX_WRITES, "writes to a full disk")
        if _refused(context) == before:
            raise Violation(f"the disk of PostgreSQL was filled, and none of {MAX_WRITES} writes was refused")
        # a replica is degraded from a refused write to the next one that fits
        until(lambda: DEGRADED in _states(context), "a degraded replica while the disk of PostgreSQL is full")
        states = _states(context)
        if any(status != HTTPStatus.OK for status, _ in states):
            raise Violation(f"while the disk of PostgreSQL is full, the replicas report {states}")
        context.wait()
    with context.traffic.without_writers():  # those that were sent while the disk was full have ended
        refused, acknowledged = _refused(context), log.succeeded(WRITES)
    until(lambda: log.succeeded(WRITES) >= acknowledged + WRITES_AFTERWARDS, "writes after a full disk")
    if more := _refused(context) - refused:
        raise Violation(f"{more} writes were refused although the disk of PostgreSQL had room again")


def _states(context: FaultContext) -> list[tuple[int, str]]:
    return [readiness(replica) for replica in context.deployment.replicas]


def _refused(context: FaultContext) -> int:
    failures = context.target.log.failures(WRITES)
    return sum(failures[reason] for reason in FULL_DISK)


def recover_database(context: FaultContext) -> None:
    """Put PostgreSQL back to an earlier state, as from a physical backup, and write on from there."""
    postgres, ledger, log = context.deployment.postgres, context.target.ledger, context.target.log
    with context.traffic.without_writers():
        context.audit.settle()
        contents, names = ledger.contents(), dict(context.target.names.now)
        saved = postgres.save_state()
        context.deployment.await_health()
    context.wait()
    with context.traffic.without_writers():
        context.audit.settle()
        lost = str(ledger.latest)
        postgres.stop()
        postgres.recover_state(saved)
        postgres.start()
        context.deployment.await_health()
        ledger.begin(_write_until_past(context, lost), contents | {DOCUMENT: WRITTEN})
        context.target.names.begin(names)
        for replica in context.deployment.replicas:
            until(partial(_finds, context, replica), f"version {ledger.latest} of {replica.url}")
            status = _search(context, replica, lost)
            if status != HTTPStatus.CONFLICT:
                raise Violation(f"{replica.url} answers {status} to a min_version of a lost history")
        # until a replica had noticed, its answers were right in the lost history
        log.searches.clear()
        log.documents.clear()


def _write_until_past(context: FaultContext, lost: str) -> str:
    address = f"{context.deployment.url}/collections/{context.target.collection}/documents"
    body = {"documents": [{"id": DOCUMENT, "text": WRITTEN.text}]}
    version = ""
    while not version or parse_version(version).number <= parse_version(lost).number:
        answer = httpx2.post(address, json=body, timeout=CEILING_S)
        version = str(answer.raise_for_status().json()["version"])
    return version


def _finds(context: FaultContext, replica: Service) -> bool:
    return _search(context, replica, str(context.target.ledger.latest)) == HTTPStatus.OK


def _search(context: FaultContext, replica: Service, min_version: str) -> int:
    body = {"query": WRITTEN.text, "collection": context.target.collection, "min_version": min_version}
    return httpx2.post(f"{replica.url}/search", json=body, timeout=CEILING_S).status_code


def restore_earlier_milvus(context: FaultContext) -> None:
    milvus = context.deployment.milvus
    milvus.kill()
    saved = milvus.save_state()
    milvus.start()
    context.wait()
    milvus.kill()
    milvus.recover_state(saved)
    milvus.start()


def empty_milvus(context: FaultContext) -> None:
    context.deployment.milvus.kill()
    context.deployment.milvus.lose_state()
    await_degraded(context)
    context.deployment.milvus.start()


def kill_milvus_while_database_restarts(context: FaultContext) -> None:
    context.deployment.milvus.kill()
    context.deployment.postgres.stop()
    context.deployment.postgres.start()
    context.wait()
    context.deployment.milvus.start()
