"""Faults of Redis and of PostgreSQL."""

from __future__ import annotations

from http import HTTPStatus

import httpx2
import redis

from tests.soak.fault_injection.fault import FaultContext, Violation
from tests.soak.traffic.ledger import parse_version
from tests.soak.traffic.request_log import WRITES
from tests.support.running_service import Service
from tests.support.servers.deployment import Deployment, readiness
from tests.support.waiting import CEILING_S, until

FULL_DISK = frozenset({"503 store_full", "in the stream store_full"})  # how writes are refused
MOST_WRITES = 60  # some of which a full disk refuses
WRITES_AFTERWARDS = 10
DEGRADED = (HTTPStatus.OK, "degraded")
DOCUMENT, TEXT = "after the recovery", "written after the recovery"


def kill_redis(context: FaultContext) -> None:
    """Kill Redis, and start it again, empty."""
    context.deployment.redis.kill()
    context.wait()
    context.deployment.redis.start()


def suspend_redis(context: FaultContext) -> None:
    """Suspend Redis: it accepts everything and answers nothing."""
    context.deployment.redis.pause()
    try:
        context.wait()
    finally:
        context.deployment.redis.resume()


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


def restart_database(context: FaultContext) -> None:
    """Shut PostgreSQL down in order, and start it at once."""
    context.deployment.postgres.stop()
    context.deployment.postgres.start()


def kill_database(context: FaultContext) -> None:
    """Kill PostgreSQL, as in a crash; it recovers."""
    context.deployment.postgres.kill()
    context.wait()
    context.deployment.postgres.start()


def stop_database(context: FaultContext) -> None:
    """Stop PostgreSQL; the replicas report degraded and stay ready."""
    context.deployment.postgres.stop()
    try:
        await_degraded(context)
    finally:
        context.deployment.postgres.start()
    context.deployment.await_health()


def suspend_database(context: FaultContext) -> None:
    """Suspend PostgreSQL, so that it answers nothing; the replicas report degraded."""
    context.deployment.postgres.pause()
    try:
        await_degraded(context)
    finally:
        context.deployment.postgres.resume()
    context.deployment.await_health()


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
    log = context.traffic.log
    before, sent = _refused(context), log.total(WRITES)
    with disk.full():
        until(lambda: _refused(context) > before or log.total(WRITES) >= sent + MOST_WRITES, "writes to a full disk")
        if _refused(context) == before:
            raise Violation(f"the disk of PostgreSQL was filled, and none of {MOST_WRITES} writes was refused")
        # a replica is degraded from a refused write to the next one that fits
        until(lambda: DEGRADED in _states(context), "a degraded replica while the disk of PostgreSQL is full")
        states = _states(context)
        if any(status != HTTPStatus.OK for status, _ in states):
            raise Violation(f"while the disk of PostgreSQL is full, the replicas report {states}")
        context.wait()
    with context.traffic.without_writers():  # those that were sent while the disk was full have ended
        refused, acknowledged = _refused(context), log.acknowledged
    until(lambda: log.acknowledged >= acknowledged + WRITES_AFTERWARDS, "writes after a full disk")
    if more := _refused(context) - refused:
        raise Violation(f"{more} writes were refused although the disk of PostgreSQL had room again")


def _states(context: FaultContext) -> list[tuple[int, str]]:
    return [readiness(replica) for replica in context.deployment.replicas]


def _refused(context: FaultContext) -> int:
    """Number of writes refused because of a full disk."""
    failures = context.traffic.log.failures(WRITES)
    return sum(failures[reason] for reason in FULL_DISK)


def recover_database(context: FaultContext) -> None:
    """Put PostgreSQL back to an earlier state, as from a physical backup, and write on from there."""
    with context.traffic.without_writers():
        context.settle()
        contents = context.ledger.contents()
        saved = context.deployment.postgres.save_state()
        context.deployment.await_health()
    context.wait()
    with context.traffic.without_writers():
        context.settle()
        lost = context.ledger.latest
        context.deployment.postgres.stop()
        context.deployment.postgres.recover_state(saved)
        context.deployment.postgres.start()
        context.deployment.await_health()
        context.ledger.begin(_write_until_past(context, str(lost)), contents | {DOCUMENT: TEXT})
        for replica in context.deployment.replicas:
            _await_version(context, replica, str(context.ledger.latest))
            status = _search(context, replica, str(lost))
            if status != HTTPStatus.CONFLICT:
                raise Violation(f"{replica.url} answers {status} to a min_version of a lost history")
        # until a replica had noticed, its answers were right in the lost history
        context.traffic.log.searches.clear()
        context.traffic.log.documents.clear()


def _write_until_past(context: FaultContext, lost: str) -> str:
    """Write a document until its version has a higher number than the lost one."""
    address = f"{context.deployment.url}/collections/{context.collection}/documents"
    version = ""
    while not version or parse_version(version).number <= parse_version(lost).number:
        answer = httpx2.post(address, json={"documents": [{"id": DOCUMENT, "text": TEXT}]}, timeout=CEILING_S)
        version = str(answer.raise_for_status().json()["version"])
    return version


def _await_version(context: FaultContext, replica: Service, version: str) -> None:
    until(lambda: _search(context, replica, version) == HTTPStatus.OK, f"version {version} of {replica.url}")


def _search(context: FaultContext, replica: Service, min_version: str) -> int:
    body = {"query": TEXT, "collection": context.collection, "min_version": min_version}
    return httpx2.post(f"{replica.url}/search", json=body, timeout=CEILING_S).status_code


def await_degraded(context: FaultContext) -> None:
    """Wait until every replica reports 200 `degraded`, and for the duration of the fault."""
    for replica in context.deployment.replicas:

        def is_degraded(replica: Service = replica) -> bool:
            if (state := readiness(replica))[0] != HTTPStatus.OK:
                raise Violation(f"without a server that it needs {replica.url} reports {state}, not 200 degraded")
            return state == DEGRADED

        until(is_degraded, f"{replica.url} that is degraded without a server that it needs")
    context.wait()
