"""A deployment on loopback: PostgreSQL, Redis, replicas, and nginx in front of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self

import httpx2

from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, Service
from tests.support.servers.milvus_server import MilvusServer
from tests.support.servers.nginx_server import NginxServer
from tests.support.servers.postgres_server import PostgresServer
from tests.support.servers.redis_server import RedisServer
from tests.support.servers.relay import Relay
from tests.support.servers.word_models import write_model
from tests.support.waiting import CEILING_S, until

DATABASE_TIMEOUT_S = 2.0
DISK_BYTES = 128 << 20  # of the tables of PostgreSQL, which take a tenth of it after minutes of load
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
SETTINGS = {
    "cache": "redis",
    "database_timeout_s": str(DATABASE_TIMEOUT_S),
    "drain_notice_s": "0.5",
    "drain_s": "10",
    "poll_s": "0.2",
    "snapshot_s": "1",
}


class Deployment:
    """Runs while the block runs; the file `clock` shifts the clock of the last replica, unless they are stateless.

    Args:
        folder: folder for models and for the home folders of replicas.
        replicas: number of replicas.
        stateless: whether they keep no copy, and search a Milvus behind a relay.
        settings: further settings of the replicas.
    """

    def __init__(self, folder: Path, replicas: int, *, stateless: bool = False, **settings: str) -> None:
        self.stateless = stateless
        self.models = {name: write_model(folder / f"{name}.npz", seed) for seed, name in enumerate(("plain", "other"))}
        (folder / "redis").mkdir()
        self.redis = RedisServer(folder / "redis")
        self.postgres = PostgresServer()
        (folder / "milvus").mkdir()
        self.milvus = MilvusServer(folder / "milvus")
        self.relay = Relay(self.milvus.port)
        self.clock = folder / "clock"
        self.settings = SETTINGS | {
            "database_url": self.postgres.url,
            "redis_url": self.redis.url,
            "models": ",".join(f"{name}={file}" for name, file in self.models.items()),
        }
        self.settings |= settings
        if stateless:
            self.settings["index_url"] = f"milvus://127.0.0.1:{self.relay.port}"
        self.replicas = [
            self._replica(folder / f"replica-{i}", shifts=i == replicas - 1 and not stateless) for i in range(replicas)
        ]
        self.nginx = NginxServer([replica.url.removeprefix("http://") for replica in self.replicas])
        self.url = self.nginx.url

    def _replica(self, home: Path, *, shifts: bool) -> Service:
        home.mkdir()
        environment = {"OMP_NUM_THREADS": "1"}
        if shifts:
            environment |= {
                "LD_PRELOAD": str(FAKETIME),
                "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                "FAKETIME_CACHE_DURATION": "1",
                "FAKETIME_FORCE_MONOTONIC_FIX": "0",  # otherwise Python's threads wait for each other far too long
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",  # setting a clock does not affect monotonic ones
            }
        return Service(home, PROJECT, SEMBLANCE, environment, **self.settings)

    def __enter__(self) -> Self:
        try:
            self.jump_clock(0)
            self.redis.start()
            self.postgres.start()
            self.postgres.use_small_disk(DISK_BYTES)
            self.postgres.create_database()
            if self.stateless:
                self.milvus.start()
                self.relay.start()
            with ThreadPoolExecutor() as pool:  # concurrently: each of them may be the one that creates the tables
                list(pool.map(Service.start, self.replicas))
            self.nginx.start()
            self.await_health()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for replica in self.replicas:
            replica.kill()
        self.redis.kill()
        self.nginx.remove()
        self.relay.stop()
        self.milvus.kill()
        self.postgres.remove()

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for `semblance` commands on this deployment."""
        return {f"SEMBLANCE_{name.upper()}": value for name, value in self.settings.items()}

    def jump_clock(self, seconds: int) -> None:
        """Set the clock of the last replica this many seconds ahead of the true time."""
        self.clock.write_text(f"{seconds:+d}\n")

    def restart_stopped(self) -> None:
        for replica in self.replicas:
            if replica.pid is None:
                replica.start()
        self.await_health()

    def await_health(self) -> None:
        for replica in self.replicas:
            until(partial(is_ready, replica), f"health of {replica.url}, whose log is {replica.log}")


def is_ready(replica: Service) -> bool:
    return readiness(replica)[1] == "ready"


def readiness(replica: Service) -> tuple[int, str]:
    """Status and state that /ready of a replica reports."""
    with suppress(httpx2.HTTPError, ValueError, KeyError):
        answer = httpx2.get(f"{replica.url}/ready", timeout=CEILING_S)
        body = answer.json()
        return answer.status_code, str(body.get("status") or body.get("code"))
    return 0, "no answer"
