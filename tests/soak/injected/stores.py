"""Faults of Redis and of PostgreSQL."""

from __future__ import annotations

import time

import redis

from tests.soak.injected.fault import Broken, Scene
from tests.support.servers.deployment import readiness

NOTICED_S = 10.0  # until a replica says that its database is away, or here again


def redis_killed(scene: Scene) -> None:
    """It is gone, and comes back empty."""
    scene.deployment.redis.kill()
    scene.wait()
    scene.deployment.redis.start()


def redis_silent(scene: Scene) -> None:
    """It accepts everything and answers nothing."""
    scene.deployment.redis.pause()
    try:
        scene.wait()
    finally:
        scene.deployment.redis.resume()


def cache_corrupted(scene: Scene) -> None:
    """One bit of every cached value is flipped, again and again."""
    over = time.monotonic() + scene.lasts_s
    with redis.Redis.from_url(scene.deployment.redis.url) as client:
        while time.monotonic() < over:
            for key in client.scan_iter(count=1000):
                value = client.get(key)
                if value:
                    place = scene.chance.randrange(len(value))
                    client.setrange(key, place, bytes([value[place] ^ 1 << scene.chance.randrange(8)]))
            time.sleep(0.1)


def database_restarted(scene: Scene) -> None:
    """It ends in order, and is started at once."""
    scene.deployment.postgres.stop()
    scene.deployment.postgres.start()


def database_killed(scene: Scene) -> None:
    """It ends as in a crash, and recovers."""
    scene.deployment.postgres.kill()
    scene.wait()
    scene.deployment.postgres.start()


def database_away(scene: Scene) -> None:
    """Nobody listens on its port; the replicas say so, and stay ready."""
    began = time.monotonic()
    scene.deployment.postgres.stop()
    try:
        _await_degraded(scene, began)
    finally:
        scene.deployment.postgres.start()
    scene.deployment.await_health()


def database_silent(scene: Scene) -> None:
    """It accepts everything and answers nothing; the replicas say so, and stay ready."""
    began = time.monotonic()
    scene.deployment.postgres.pause()
    try:
        _await_degraded(scene, began)
    finally:
        scene.deployment.postgres.resume()
    scene.deployment.await_health()


def _await_degraded(scene: Scene, began: float) -> None:
    """Every replica comes to say 200 `degraded`; wait until the fault lasted long enough."""
    for replica in scene.deployment.replicas:
        while (said := readiness(replica)) != (200, "degraded"):
            if said[0] != 200 or time.monotonic() > began + NOTICED_S:
                raise Broken(f"without its database {replica.url} says {said}, not 200 degraded")
            time.sleep(0.05)
    time.sleep(max(0.0, began + scene.lasts_s - time.monotonic()))
