"""The page of metrics: its format, its series, and their values."""

from __future__ import annotations

import platform
import re
import resource
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import httpx2
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as as_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from semblance.service.app import create_app
from semblance.service.observability.metrics import MAX_CALLERS, OTHER_CALLERS, Metrics
from semblance.service.observability.stages import start_stages
from semblance.service.settings import Settings
from tests.support.project import PROJECT
from tests.support.servers.word_models import write_model

PREFIXES = ("semblance_", "process_")
MIB = 2**20
CLOCK_TICK_S = 0.02  # the user's and the system's seconds are rounded down to hundredths, each


def filled() -> Metrics:
    metrics = Metrics()
    metrics.initialize([("/search", "POST")], ["not_ready"])
    metrics.set_build("minilm", "5f3a")
    metrics.add_request("/search", "POST", 200, 0.01, start_stages().seconds)
    metrics.add_caller("ci", 200)
    metrics.add_batch([3, 4], 0.002)
    metrics.add_lookups(["hit", "absent"])
    metrics.set_queued("bulk", 7)
    return metrics


def families(metrics: Metrics) -> Iterable[Metric]:
    return text_string_to_metric_families(metrics.exposition().decode())


def value(metrics: Metrics, name: str) -> float:
    [found] = [sample.value for family in families(metrics) for sample in family.samples if sample.name == name]
    return float(found)


def test_names_units_and_help_follow_the_conventions() -> None:
    """What `promtool check metrics` demands: help, base units, and _total for counters only."""
    for family in families(filled()):
        assert family.name.startswith(PREFIXES), family.name
        assert family.documentation, family.name
        assert family.type in ("counter", "gauge", "histogram"), family.name
        assert not re.search(r"_(ms|milliseconds|minutes|hours|kb|mb|megabytes|percent|count|sum|bucket)$", family.name)
        for sample in family.samples:
            assert not sample.name.endswith("_created"), "no series tells when another was created"
            assert sample.name.endswith("_total") == (family.type == "counter"), sample.name


def test_labels_of_a_fresh_page_are_plain_words() -> None:
    labels = {label for family in families(Metrics()) for sample in family.samples for label in sample.labels.values()}
    assert labels >= {"hit", "empty", "wording", "absent", "bulk"}
    assert [label for label in labels if not re.fullmatch(r"[\w.+/{}-]+", label)] == []


def test_the_page_is_valid_openmetrics_too() -> None:
    """Its parser also checks the order of buckets, and refuses a series that comes twice."""
    metrics = filled()
    page = as_openmetrics(metrics.registry).decode()  # type: ignore[no-untyped-call]  # the library has no types here
    strict = {family.name for family in parse_openmetrics(page)}  # type: ignore[no-untyped-call]  # likewise
    assert strict == {family.name.removesuffix("_total") for family in families(metrics)}


def test_callers_beyond_a_hundred_share_a_series() -> None:
    metrics = Metrics()
    for i in [*range(MAX_CALLERS + 20), 3]:
        metrics.add_caller(f"key-{i}", 200)
    [family] = [family for family in families(metrics) if family.name == "semblance_caller_requests"]
    counted = {sample.labels["caller"]: sample.value for sample in family.samples}
    assert len(counted) == MAX_CALLERS + 1
    assert (counted["key-3"], counted["key-4"], counted[OTHER_CALLERS]) == (2, 1, 20)


def test_the_build_is_named() -> None:
    [build] = [family for family in families(filled()) if family.name == "semblance_build_info"]
    [sample] = build.samples
    assert sample.value == 1
    assert sample.labels == {
        "version": version("semblance-server"),
        "python": platform.python_version(),
        "model": "minilm",
        "build": "5f3a",
    }


async def test_a_service_shows_the_build_of_its_default_model(tmp_path: Path) -> None:
    models = f"words={write_model(tmp_path / 'words.npz', seed=1)},other={write_model(tmp_path / 'other.npz', seed=2)}"
    app = create_app(Settings(models=models, home=tmp_path))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://localhost") as client,
    ):
        page = (await client.get("/metrics")).text
        [default, _] = (await client.get("/models")).json()["models"]
    [family] = [each for each in text_string_to_metric_families(page) if each.name == "semblance_build_info"]
    [labels] = [sample.labels for sample in family.samples]
    assert (labels["model"], labels["build"]) == ("words", default["build"])


def test_cpu_and_memory_are_those_of_this_process() -> None:
    metrics = Metrics()
    before = time.process_time()  # what the kernel counts, too
    shown = value(metrics, "process_cpu_seconds_total")
    after = time.process_time()  # likewise
    assert before - CLOCK_TICK_S <= shown <= after + CLOCK_TICK_S
    held = b"x" * (64 * MIB)
    resident = value(metrics, "process_resident_memory_bytes")
    assert len(held) < resident <= 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + MIB
    assert value(metrics, "process_open_fds") <= value(metrics, "process_max_fds")
    assert value(metrics, "process_start_time_seconds") <= time.time()  # a point in time, not a duration


def test_the_page_of_operation_describes_every_series() -> None:
    table = (PROJECT / "docs" / "operation.md").read_text("utf-8").partition("## Metrics")[2].partition("\n## ")[0]
    described = {name.removesuffix("_total") for name in re.findall(r"`(\w+)(?:\{[\w,]*\})?`", table)}
    shown = {family.name for family in families(filled())}
    assert shown - described == set()
    assert {name for name in described if name.startswith(PREFIXES)} - shown == set()
