"""What tests share: the real model, the data, and the rule for what is missing."""

from __future__ import annotations

import gc
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import chain, groupby, zip_longest
from pathlib import Path
from typing import NoReturn

import pytest
from _pytest.nodeid import NodeId
from hypothesis import settings
from sqlalchemy import Engine

from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadCheckpoint
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.checkpoint import Checkpoint, read_checkpoint
from semblance.models.runtime import Compute
from semblance.service.documents.databases.postgresql import postgresql_engine
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.model_loading.registry import source_of
from tests.support.browser import find_chromium
from tests.support.project import PROJECT
from tests.support.servers.milvus_server import MilvusServer, milvus_elsewhere
from tests.support.servers.postgres_server import PostgresServer
from tests.support.servers.redis_server import RedisServer
from tests.support.small_model import BUILT_IN_FOLDER, make_small

TOGETHER = ("tests/clients/python/", "tests/integration/edge/")  # folders whose files share a service

gc.disable()  # until all tests are collected: until then, hardly anything becomes garbage

# networks in the form of their runtime: made once for all tests, and for the services that they start
EXPORTS = Path(os.environ.setdefault("SEMBLANCE_EXPORTS", str(PROJECT / ".pytest_cache" / "exports")))

# so that scores compare with those of oracles to 1e-5; tests/integration/test_default_build.py looks at the default
os.environ.setdefault("SEMBLANCE_PRECISION", "float32")

# workers share the cores: OpenVINO compiles a network twice for several; tests of concurrent clients ask for all
os.environ.setdefault("SEMBLANCE_THREADS", "1")

# the check of every commit ends in a minute, on a busy machine too; `pytest --hypothesis-profile=default` tries more
settings.register_profile("quick", settings.default, max_examples=30, deadline=None)
settings.load_profile("quick")


def missing(what: str) -> NoReturn:
    """A test needs something that this machine lacks: skip it here, and say so at the end; fail it under CI=true."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing, and CI=true demands it")
    pytest.skip(f"needs {what}")


@pytest.hookimpl(trylast=True)  # when pytest has left out what `-m` does not choose
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest, by its timeout, or waits; every other file is one that computes.

    So workers that wait, or that install one after the other, never have the processor for themselves. The tests of a
    file stay on one worker. All tests of pages share a worker, since a browser and a service take seconds to start, and
    so do those of TOGETHER.
    """

    def seconds(item: pytest.Item) -> float:
        timeout = item.get_closest_marker("timeout")
        return timeout.args[0] if timeout else 0.0

    def files_of(chosen: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
        return [list(file) for _, file in groupby(chosen, _group_of)]

    timed = sorted(filter(seconds, items), key=seconds, reverse=True)
    waiting = [item for item in items if item.get_closest_marker("waits")]
    early = dict.fromkeys([*timed, *waiting])
    computing = [item for item in items if item.get_closest_marker("slow") and item not in early]
    in_turn = chain.from_iterable(zip_longest(files_of(early), files_of(computing), fillvalue=[]))
    items[:] = dict.fromkeys([*chain.from_iterable(in_turn), *items])
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(_group_of(item)))
        if config.getoption("loadgroup", False):  # pytest-xdist 3.8 writes the group where pytest 9.2 does not look
            group = item.get_closest_marker("xdist_group")
            item._id = NodeId.parse(f"{item.nodeid}@{group.args[0] if group else ''}")


def _group_of(item: pytest.Item) -> str:
    """The group of tests that share a worker: a file's tests share its servers and models."""
    if marked := item.get_closest_marker("xdist_group"):
        return str(marked.args[0])
    shared = "browser" if {"browser", "browse"} & {*getattr(item, "fixturenames", ())} else item.location[0]
    return next(filter(shared.startswith, TOGETHER), shared)


def pytest_collection_finish() -> None:
    """Leave modules and collected tests out of all garbage collections."""
    gc.freeze()
    gc.set_threshold(20_000)  # objects; with the default of 700, a file of small tests collects thousands of times
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []))
    for reason, count in reasons.items():
        terminalreporter.write_line(f"!!! {count} tests did NOT run: {reason}", red=True, bold=True)


def built_in_checkpoint() -> Checkpoint:
    """What the folder of the untuned built-in model says."""
    return read_checkpoint(BUILT_IN_FOLDER)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop that runs async tests."""
    return "asyncio"


@pytest.fixture(scope="session")
def minilm() -> Transformer:
    """The built-in model without an adapter, whose figures are known, in float32 on the CPU."""
    return Transformer("minilm", built_in_checkpoint(), Compute(threads=1))


@pytest.fixture(scope="session")
def multilingual() -> Transformer:
    """The built-in model for many languages, in float32 on the CPU."""
    try:
        checkpoint = read_transformer(source_of("multilingual"))
    except BadCheckpoint:
        missing("the model multilingual (scripts/install multilingual)")
    return Transformer("multilingual", checkpoint, Compute(threads=1))


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of benchmark data."""
    if "SEMBLANCE_DATA" not in os.environ:
        missing("SEMBLANCE_DATA, a folder of benchmark data (docs/measures.md)")
    return Path(os.environ["SEMBLANCE_DATA"])


@pytest.fixture(scope="session")
def chromium() -> str:
    """A Chromium to open pages in."""
    return find_chromium() or missing("Chromium")


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of this test's own, empty and running."""
    if shutil.which("redis-server") is None:
        missing("redis-server")
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def milvus_server(tmp_path: Path) -> Iterator[MilvusServer]:
    """A Milvus Lite of this test's own, empty and running."""
    _require_milvus()
    (tmp_path / "milvus").mkdir()
    server = MilvusServer(tmp_path / "milvus")
    server.start()
    yield server
    server.resume()
    server.kill()


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Milvus that runs, whatever it holds: the one of SEMBLANCE_TEST_MILVUS, or Milvus Lite."""
    if elsewhere := milvus_elsewhere():
        yield elsewhere
        return
    _require_milvus()
    server = MilvusServer(tmp_path_factory.mktemp("milvus"))
    server.start()
    yield server.url
    server.kill()


def _require_milvus() -> None:
    if find_spec("milvus_lite") is None:
        missing("the package milvus-lite")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL that runs."""
    try:
        server = PostgresServer()
    except FileNotFoundError as error:
        missing(str(error))
    server.start()
    yield server
    server.remove()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> str:
    """The URL of a database in it, empty, whose role may do nothing elsewhere."""
    postgres_server.create_database()
    return postgres_server.url


@pytest.fixture
def database(postgres_server: PostgresServer, postgres: str) -> Iterator[PostgresServer]:
    """The same as a server, which a test may pause, or kill and start again."""
    assert postgres == postgres_server.url
    yield postgres_server
    postgres_server.resume()


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty database, of either kind."""
    if request.param == "sqlite":
        made = sqlite_engine(tmp_path / "documents.sqlite")
    else:
        made = postgresql_engine(request.getfixturevalue("postgres"), connections=5, timeout_s=300)
    yield made
    made.dispose()


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network of two layers and random weights; read-only."""
    return make_small(tmp_path_factory.mktemp("small") / "model")


@pytest.fixture
def folder(small: Path, tmp_path: Path) -> Path:
    """A copy that the test may change."""
    return shutil.copytree(small, tmp_path / "model")
