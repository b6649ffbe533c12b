"""PostgreSQL and Redis as deployed: the service has the privileges it needs and no others."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from semblance.service.documents.databases.postgresql import postgresql_engine
from semblance.service.documents.migrations import migrate
from tests.conftest import missing
from tests.deploy.deployment import DEPLOY
from tests.integration.redis.checked_lookups import ENTRIES, KEYS, caching
from tests.support.running_service import reserved_port
from tests.support.servers.postgres_server import PASSWORD, PostgresServer
from tests.support.servers.server_process import ServerProcess
from tests.support.vectors import bits
from tests.support.waiting import CEILING_S

FORBIDDEN = [
    "CREATE TABLE public.more (a INT)",
    "CREATE SCHEMA more",
    "CREATE TEMPORARY TABLE more (a INT)",
    "CREATE DATABASE more",
    "CREATE ROLE more",
    "ALTER ROLE semblance SUPERUSER",
    "CREATE EXTENSION pg_trgm",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT * FROM pg_authid",
]


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """URL of the database and role created by deploy/postgres/role.sql."""
    try:
        server = PostgresServer()
    except FileNotFoundError as error:
        missing(str(error))
    server.start()
    address = ["--host=127.0.0.1", f"--port={server.port}", "--username=postgres", "--dbname=postgres"]
    command = ["psql", "--no-psqlrc", "--quiet", *address, f"--file={DEPLOY / 'postgres' / 'role.sql'}"]
    secrets = {"PGPASSWORD": PASSWORD, "DATABASE_PASSWORD": 'it\'s "quoted"'}
    subprocess.run(command, check=True, env=os.environ | secrets, timeout=CEILING_S)
    yield f"postgresql://semblance:it%27s%20%22quoted%22@127.0.0.1:{server.port}/semblance"
    server.remove()


def test_the_role_may_create_the_tables_of_the_service(database: str) -> None:
    engine = postgresql_engine(database, connections=2, timeout_s=10)
    migrate(engine)
    with engine.connect() as connection:
        schemas = connection.exec_driver_sql("SELECT DISTINCT schemaname FROM pg_tables WHERE tableowner = 'semblance'")
        assert schemas.scalars().all() == ["semblance"]
        connection.exec_driver_sql("NOTIFY anything")
    engine.dispose()


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_role_may_do_nothing_else(database: str, statement: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_no_other_role_may_connect(database: str) -> None:
    with psycopg.connect(database) as connection:
        granted = connection.execute("SELECT datacl::text FROM pg_database WHERE datname = 'semblance'").fetchone()
    assert granted == ("{postgres=CTc/postgres,semblance=c/postgres}",)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[int]:
    """Port of a Redis started by deploy/redis/start.sh."""
    if shutil.which("redis-server") is None:
        missing("redis-server")
    port = reserved_port()
    command = ["env", "REDIS_PASSWORD=secret", "sh", str(DEPLOY / "redis" / "start.sh"), "--port", str(port)]
    server = ServerProcess(command, lambda: _answers(port), tmp_path)
    server.start()
    yield port
    server.kill()


def _answers(port: int) -> bool:
    async def ping() -> bool:
        async with Redis(port=port, username="semblance", password="secret") as client:
            return bool(await client.ping())

    try:
        return asyncio.run(ping())
    except (OSError, ConnectionError):
        return False


async def test_the_cache_works_with_the_redis_user(redis: int) -> None:
    async with caching(f"redis://semblance:secret@127.0.0.1:{redis}/0") as cache:
        await cache.set_many(ENTRIES)
        found = await cache.get_many(KEYS)
        assert await cache.ping()
        for key, each in zip(KEYS, found, strict=True):
            assert not isinstance(each, str), each
            assert bits(each) == bits(ENTRIES[key])


async def test_redis_refuses_other_commands_and_other_users(redis: int) -> None:
    async with Redis(port=redis, username="semblance", password="secret") as client:
        for command in ("KEYS *", "FLUSHALL", "CONFIG GET *", "GET other", "SET other x", "EVAL return 0", "ACL LIST"):
            with pytest.raises(NoPermissionError):
                await client.execute_command(*command.split())
    async with Redis(port=redis) as client:
        with pytest.raises(AuthenticationError):
            await client.ping()
