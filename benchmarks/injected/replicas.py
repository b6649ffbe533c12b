"""Faults of a replica."""

from __future__ import annotations

import resource
from pathlib import Path

from benchmarks.injected.fault import Broken, Scene

DAY_S = 24 * 3600
FULL_BYTES = 4096  # no file may grow beyond


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
        scene.wait()
    scene.deployment.jump_clock(0)


def disk_full(scene: Scene) -> None:
    """No file of one replica can be written to any more, those of its snapshots neither; then they can again."""
    replica = scene.some_replica()
    pid = replica.process.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (FULL_BYTES, hard))
    try:
        scene.wait()
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


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


def _flip_a_byte(file: Path, scene: Scene) -> None:
    content = bytearray(file.read_bytes())
    content[scene.chance.randrange(len(content))] ^= 1 << scene.chance.randrange(8)
    file.write_bytes(content)
