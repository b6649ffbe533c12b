"""Faults of a replica."""

from __future__ import annotations

import resource
import time
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx2

from tests.soak.injected.fault import Broken, Scene

DAY_S = 24 * 3600
FULL_BYTES = 4096  # no file may grow beyond
UNDER_WAY_S = 0.2  # what a snapshot that was just being published may still take
NOTICED_S = 20.0


def killed(scene: Scene) -> None:
    """As by `kill -9`, and started again later."""
    replica = scene.some_replica()
    replica.kill()
    scene.wait()
    replica.start()
    scene.deployment.await_health()


def stopped(scene: Scene) -> None:
    """It still accepts connections, and answers nothing."""
    replica = scene.some_replica()
    replica.pause()
    try:
        scene.wait()
    finally:
        replica.resume()


def all_restarted_in_turn(scene: Scene) -> None:
    """As for an upgrade: each is asked to end, started, and waited for before the next."""
    for replica in scene.deployment.replicas:
        replica.stop()
        replica.start()
        scene.deployment.await_health()


def clock_jumped(scene: Scene) -> None:
    """The clock of one replica goes a day ahead, then a day back, then right again."""
    for seconds in (DAY_S, -DAY_S):
        scene.deployment.jump_clock(seconds)
        _await_clock(scene, seconds)
        scene.wait()
    scene.deployment.jump_clock(0)
    _await_clock(scene, 0)


def disk_full(scene: Scene) -> None:
    """No file of one replica can be written to any more, those of its snapshots neither; then they can again."""
    replica = scene.some_replica()
    manifest = replica.log.parent / "indexes" / scene.collection / "manifest.json"
    pid = replica.process.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (FULL_BYTES, hard))
    try:
        time.sleep(UNDER_WAY_S)
        before = manifest.stat().st_mtime_ns
        scene.wait()
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    give_up = time.monotonic() + NOTICED_S
    while manifest.stat().st_mtime_ns == before:
        if time.monotonic() > give_up:
            raise Broken(f"{replica.url} keeps no snapshots any more, although its disk has room again")
        time.sleep(0.1)


def snapshot_corrupted(scene: Scene) -> None:
    """What a replica kept of its indexes is damaged while it is down."""
    replica = scene.some_replica()
    replica.stop()
    files = [*(replica.log.parent / "indexes").rglob("index-*"), *(replica.log.parent / "indexes").rglob("rows-*")]
    if not files:
        raise Broken(f"{replica.log.parent} holds no snapshot although the replica ended in order")
    for file in files:
        _flip_a_byte(file, scene)
    replica.start()
    scene.deployment.await_health()


def _await_clock(scene: Scene, seconds: int) -> None:
    """The last replica shows that time to its clients."""
    replica = scene.deployment.replicas[-1]
    give_up = time.monotonic() + NOTICED_S
    while True:
        shown = parsedate_to_datetime(httpx2.get(f"{replica.url}/live", timeout=10).headers["date"])
        if abs(shown.timestamp() - time.time() - seconds) < NOTICED_S:
            return
        if time.monotonic() > give_up:
            raise Broken(f"the clock of {replica.url} was to go {seconds} s wrong, and it says {shown}")
        time.sleep(0.1)


def _flip_a_byte(file: Path, scene: Scene) -> None:
    content = bytearray(file.read_bytes())
    content[scene.chance.randrange(len(content))] ^= 1 << scene.chance.randrange(8)
    file.write_bytes(content)
