"""Cache embeddings in a Redis that several processes share."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from redis import exceptions
from redis.asyncio.connection import AbstractConnection, ConnectionPool, parse_url

from semblance.models.embeddings import TokenEmbeddings
from semblance.service.caches.circuit_breaker import CircuitBreaker
from semblance.service.caches.record import CorruptRecord, SwappedRecord, pack, unpack
from semblance.service.ports.embedding import Miss

log = logging.getLogger(__name__)

PREFIX = "semblance:embedding:"
PAGE = 16  # values per command: bounds the memory of a connection, and what a timeout loses
CONNECTIONS = 8
FAILURES = 5
REST_S = 5.0

# These override options in the URL. Protocol 2 has no push messages, so all that arrives are replies. The client's own
# timeouts are off: one budget covers waiting for a connection, connecting, and commands.
_OPTIONS: Mapping[str, Any] = {
    "protocol": 2,
    "decode_responses": False,
    "driver_info": None,
    "socket_timeout": None,
    "socket_connect_timeout": None,
    "max_connections": CONNECTIONS,
}

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RedisLimits:
    """Time to live of values, time budget of an operation, and maximum size of a value."""

    ttl_s: int
    budget_s: float
    value_bytes: int


class RedisCache:
    """Cache in Redis, whose failures are misses: no errors, no waits beyond the budget.

    Reads and writes have a circuit breaker each, since a full or read-only Redis rejects writes but serves reads.
    """

    def __init__(self, url: str, limits: RedisLimits, clock: Callable[[], float] = time.monotonic) -> None:
        options = {**parse_url(url), **_OPTIONS}
        self._pool = ConnectionPool(**options)
        self._address = options.get("path") or f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
        self._limits = limits
        self._slots = asyncio.Semaphore(CONNECTIONS)
        self._reads = CircuitBreaker(FAILURES, REST_S, clock)
        self._writes = CircuitBreaker(FAILURES, REST_S, clock)
        self._logged: set[str] = set()  # failures since Redis last recovered: both circuits may find the same

    async def get_many(self, keys: Sequence[str]) -> list[TokenEmbeddings | Miss]:
        """Embeddings or a miss by key; when the budget ends, pages already read still count."""
        if not keys:
            return []
        if not self._reads.admits():
            return ["resting"] * len(keys)
        found: list[TokenEmbeddings | Miss] = []
        reason = await self._attempt(self._reads, lambda connection: self._read(connection, keys, found))
        return found if reason is None else [*found, *[reason] * (len(keys) - len(found))]

    async def set_many(self, entries: Mapping[str, TokenEmbeddings]) -> None:
        """Store embeddings for the time to live, except those above the maximum size."""
        if entries and not self._reads.resting and self._writes.admits():
            await self._attempt(self._writes, lambda connection: self._write(connection, entries))

    async def ping(self) -> bool:
        """Whether Redis is reachable."""
        return await self._attempt(self._reads, self._ping) is None

    async def close(self) -> None:
        """Close the connections."""
        with suppress(TimeoutError, OSError, exceptions.RedisError):
            async with asyncio.timeout(self._limits.budget_s):
                await self._pool.aclose()

    async def _attempt(
        self, circuit: CircuitBreaker, work: Callable[[AbstractConnection], Awaitable[None]]
    ) -> Miss | None:
        """Run `work` within the budget; returns the reason if it failed."""
        try:
            async with asyncio.timeout(self._limits.budget_s), self._slots, self._connection() as connection:
                await work(connection)
        except Exception as error:  # noqa: BLE001 - arbitrary bytes can raise anything
            if circuit.failed():
                self._log_failure(error, writing=circuit is self._writes)
            return _reason(error)
        self._answered(circuit)
        return None

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AbstractConnection]:
        """Connection for a command and all of its replies.

        After a cancellation or an error it is closed: unread replies would be taken for those of the next command.
        """
        connection = await self._pool.get_connection()
        try:
            yield connection
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        finally:
            await self._pool.release(connection)

    async def _read(
        self, connection: AbstractConnection, keys: Sequence[str], found: list[TokenEmbeddings | Miss]
    ) -> None:
        for page in _pages(keys):
            await connection.send_command("MGET", *(PREFIX + key for key in page))
            values = await connection.read_response()
            if not isinstance(values, list) or len(values) != len(page):
                raise SwappedRecord
            self._answered(self._reads)
            results = [_result(key, value) for key, value in zip(page, values, strict=True)]
            found += results
            if "swapped" in results:  # later replies on this connection may be swapped too
                raise SwappedRecord

    async def _write(self, connection: AbstractConnection, entries: Mapping[str, TokenEmbeddings]) -> None:
        records = ((key, pack(key, entry)) for key, entry in entries.items())
        for page in _pages((key, record) for key, record in records if len(record) <= self._limits.value_bytes):
            commands = [("SET", PREFIX + key, record, "EX", self._limits.ttl_s) for key, record in page]
            await connection.send_packed_command(connection.pack_commands(commands))
            for _ in page:
                if await connection.read_response() != b"OK":
                    raise SwappedRecord
            self._answered(self._writes)

    async def _ping(self, connection: AbstractConnection) -> None:
        await connection.send_command("PING")
        if await connection.read_response() != b"PONG":
            raise SwappedRecord

    def _log_failure(self, error: Exception, *, writing: bool) -> None:
        failure = "refuses writes" if writing and isinstance(error, exceptions.ResponseError) else "fails"
        if failure not in self._logged:
            self._logged.add(failure)
            remedy = "texts are encoded instead, and it is tried again every"
            log.warning("Redis at %s %s: %s; %s %g s", self._address, failure, _name(error), remedy, REST_S)

    def _answered(self, circuit: CircuitBreaker) -> None:
        """Close the circuit; where it was open, the other too, which may get no calls for long."""
        if circuit.succeeded():
            self._reads.succeeded()
            self._writes.succeeded()
            self._logged.clear()
            log.info("Redis at %s answers again", self._address)


def _pages(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while page := list(islice(rest, PAGE)):
        yield page


def _result(key: str, value: object) -> TokenEmbeddings | Miss:
    if value is None:
        return "absent"
    if not isinstance(value, bytes):
        return "swapped"
    try:
        return unpack(key, value)
    except CorruptRecord:
        return "corrupt"
    except SwappedRecord:
        return "swapped"


def _reason(error: Exception) -> Miss:
    match error:
        case TimeoutError() | exceptions.TimeoutError():
            return "timeout"
        case SwappedRecord():
            return "swapped"
        case exceptions.InvalidResponse():
            return "corrupt"
        case _:
            return "unreachable"


def _name(error: Exception) -> str:
    """Class and Redis code of an error, for the log; its message may quote the password."""
    code = str(error).partition(" ")[0] if isinstance(error, exceptions.ResponseError) else ""
    return f"{type(error).__name__} {code}".strip()
