"""Faults of a single replica, and restarts of all."""

from __future__ import annotations

import resource
import time
from email.utils import parsedate_to_datetime

import httpx2

from tests.soak.fault_injection.fault import FaultContext, Violation
from tests.support.damaged_pages import overwrite_leaf_pages
from tests.support.waiting import CEILING_S, until

DAY_S = 24 * 3600
FULL_BYTES = 4096  # no file can grow beyond
HOUR_S = 3600  # a clock that is a day off is off by more, however late an answer comes
SUSPENDED_S = 1.0  # least duration: requests that reach the replica wait, so that their number does not grow
SKIPPED_S = 2.5  # nginx skips a replica that refused a connection, for a little less: fail_timeout
DAMAGED = "is damaged; copying the primary again"
DAMAGED_PAGES = 11


def kill_replica(context: FaultContext) -> None:
    """Kill a replica, as by `kill -9`, and start it later."""
    replica = context.some_replica()
    replica.kill()
    context.wait()
    replica.start()
    context.deployment.await_health()


def suspend_replica(context: FaultContext) -> None:
    """Suspend a replica: it accepts connections and answers nothing."""
    replica = context.some_replica()
    replica.pause()
    try:
        time.sleep(max(SUSPENDED_S, context.lasts_s))  # how long it is suspended, and no verdict
    finally:
        replica.resume()


def restart_all_in_turn(context: FaultContext) -> None:
    """Restart replicas one by one, as for an upgrade, waiting for health and for nginx each time."""
    for replica in context.deployment.replicas:
        replica.stop()
        replica.start()
        context.deployment.await_health()
        time.sleep(SKIPPED_S)  # as docs/deployment has it


def shift_clock(context: FaultContext) -> None:
    """Set the clock of one replica a day ahead, then a day back, then right again."""
    for seconds in (DAY_S, -DAY_S, 0):
        context.deployment.jump_clock(seconds)
        _await_clock(context, seconds)
        context.wait()


def fill_disk(context: FaultContext) -> None:
    """Make all files of one replica unwritable, its snapshots included, and then writable again."""
    replica = context.some_replica()
    manifest = replica.log.parent / "indexes" / context.target.collection / "manifest.json"
    pid = replica.process.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (FULL_BYTES, hard))
    try:
        context.wait()
        before = manifest.stat().st_mtime_ns
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    until(lambda: manifest.stat().st_mtime_ns != before, f"a snapshot of {replica.url} when its disk has room again")


def corrupt_snapshot(context: FaultContext) -> None:
    replica = context.some_replica()
    replica.stop()
    files = [*(replica.log.parent / "indexes").rglob("index-*"), *(replica.log.parent / "indexes").rglob("rows-*")]
    if not files:
        raise Violation(f"{replica.log.parent} has no snapshot although the replica was shut down in order")
    for file in files:
        content = bytearray(file.read_bytes())
        content[context.rng.randrange(len(content))] ^= 1 << context.rng.randrange(8)
        file.write_bytes(content)
    replica.start()
    context.deployment.await_health()


def damage_copy(context: FaultContext) -> None:
    """Overwrite a part of the copy of a running replica; it is unready until it has copied the primary again."""
    replica = context.some_replica()
    file = replica.log.parent / "copy.sqlite"
    before = replica.log.read_text("utf-8").count(DAMAGED)
    overwrite_leaf_pages(file, DAMAGED_PAGES, context.rng)
    until(lambda: replica.log.read_text("utf-8").count(DAMAGED) > before, f"notice of the damage of {file}")
    context.deployment.await_health()


def damage_copy_at_rest(context: FaultContext) -> None:
    replica = context.some_replica()
    replica.stop()
    overwrite_leaf_pages(replica.log.parent / "copy.sqlite", DAMAGED_PAGES, context.rng)
    replica.start()
    context.wait()
    context.deployment.await_health()


def _await_clock(context: FaultContext, seconds: int) -> None:
    """Wait until the last replica reports this clock offset in its responses."""
    replica = context.deployment.replicas[-1]

    def is_off() -> bool:
        reported = parsedate_to_datetime(httpx2.get(f"{replica.url}/live", timeout=CEILING_S).headers["date"])
        return abs(reported.timestamp() - time.time() - seconds) < HOUR_S

    until(is_off, f"a clock of {replica.url} that is off by {seconds} s")
