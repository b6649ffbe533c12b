"""Alerts and dashboards: valid PromQL about existing metrics and labels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from promql_parser import MatchOp, VectorSelector

from semblance.service.api.errors import OTHER_CODES, STATUS
from semblance.service.observability.metrics import Metrics
from tests.deploy.deployment import DEPLOY
from tests.support.project import PROJECT

PROMETHEUS = DEPLOY / "prometheus"
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
ROUTES = [f"/{each}" for each in ("similarity", "search", "explain", "explain/difference", "ready", "live", "metrics")]
ROUTES += [f"/{each}" for each in ("rerank", "v1/rerank", "v2/rerank", "v1/embeddings")]


def alerts() -> list[Any]:
    groups = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[Any]:
    return [panel for path in DASHBOARDS for panel in json.loads(path.read_text())["panels"] if panel["type"] != "row"]


QUERIES = [(rule["alert"], rule["expr"]) for rule in alerts()] + [
    (panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]
]


def selectors(query: str) -> list[VectorSelector]:
    """All selectors of a query, at any depth."""
    found: list[VectorSelector] = []

    def visit(node: Any) -> None:
        if isinstance(node, VectorSelector):
            found.append(node)
            return
        for name in ("lhs", "rhs", "expr", "param", "vector_selector"):
            if (part := getattr(node, name, None)) is not None:
                visit(part)
        for part in getattr(node, "args", None) or []:
            visit(part)

    visit(promql_parser.parse(query))
    return found


def series() -> Iterator[tuple[str, dict[str, str]]]:
    """Names and labels of all series of a fresh service as Prometheus stores them, and those of Prometheus itself."""
    scraped = {"job": "semblance"}
    metrics = Metrics()
    metrics.initialize([(route, "GET") for route in ROUTES], [*(leaf.code for leaf in STATUS), *OTHER_CODES])
    metrics.set_build("minilm", "5f3a")
    metrics.add_caller("ops", 200)
    for family in text_string_to_metric_families(metrics.exposition().decode()):
        yield family.name, scraped  # gauges per collection have no series yet
        for sample in family.samples:
            yield sample.name, sample.labels | scraped
    yield "up", scraped


SERIES = list(series())


@pytest.mark.parametrize("query", [query for _, query in QUERIES if "process_" in query])
def test_queries_select_the_processes_of_replicas_only(query: str) -> None:
    """Every program that Prometheus scrapes may have series of these names."""
    for selector in selectors(query):
        assert [(each.name, each.value) for each in selector.matchers.matchers] == [("job", "semblance")]


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[f"{title}: {query[:40]}" for title, query in QUERIES])
def test_queries_use_existing_metrics_and_labels(title: str, query: str) -> None:
    found = selectors(query)
    assert found, f"{title} selects nothing"
    for selector in found:
        assert selector.name in {name for name, _ in SERIES}, f"{title}: there is no metric {selector.name}"
        for matcher in selector.matchers.matchers:
            values = {
                labels[matcher.name] for name, labels in SERIES if name == selector.name and matcher.name in labels
            }
            assert values, f"{title}: {selector.name} has no label {matcher.name}"
            expected = matcher.value.split("|") if matcher.op in (MatchOp.Re, MatchOp.NotRe) else [matcher.value]
            assert matcher.name == "status" or set(expected) <= values, f"{title}: {matcher.name} is never {expected}"


def test_every_alert_has_a_severity_and_a_summary() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names)
    for rule in alerts():
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]


def test_every_alert_names_its_place_in_the_page_of_operation() -> None:
    headings = re.findall(r"^#+ (.+)$", (PROJECT / "docs" / "operation.md").read_text("utf-8"), re.MULTILINE)
    places = {f"docs/operation.md#{heading.lower()}": heading for heading in headings if " " not in heading}
    for rule in alerts():
        assert places.get(rule["annotations"]["runbook_url"]) == rule["alert"]


def test_the_dashboard_shows_every_metric_of_an_alert() -> None:
    def names(queries: Iterable[str]) -> set[str]:
        return {str(selector.name) for query in queries for selector in selectors(query)}

    shown = names(target["expr"] for panel in panels() for target in panel["targets"])
    assert names(rule["expr"] for rule in alerts()) <= shown


def test_prometheus_scrapes_each_replica_of_compose() -> None:
    configuration = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    [[configured]] = [each["static_configs"] for each in configuration["scrape_configs"]]
    assert configured["targets"] == ["api-1:8000", "api-2:8000"]
    assert all((PROMETHEUS / name).exists() for name in configuration["rule_files"])


def test_panels_do_not_overlap_and_use_the_provisioned_datasource() -> None:
    source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"][0]
    covered: set[tuple[int, int]] = set()
    for panel in panels():
        assert panel["datasource"]["uid"] == source["uid"]
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & covered
        assert max(x for x, _ in cells) < 24
        covered |= cells
