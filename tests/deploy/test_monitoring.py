"""Alerts and panels: PromQL that parses, about metrics and labels that there are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from promql_parser import MatchOp, VectorSelector

from semblance.service.api.errors import OTHER_CODES, STATUS
from semblance.service.observability.metrics import Metrics
from tests.deploy.deployment import DEPLOY

PROMETHEUS = DEPLOY / "prometheus"
DASHBOARDS = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
ROUTES = ("/similarity", "/search", "/explain", "/v1/embeddings", "/ready", "/live", "/metrics")


def alerts() -> list[Any]:
    """Every rule."""
    return [
        rule for group in yaml.safe_load((PROMETHEUS / "alerts.yml").read_text())["groups"] for rule in group["rules"]
    ]


def panels() -> list[Any]:
    """Every panel of every dashboard that asks something."""
    return [panel for path in DASHBOARDS for panel in json.loads(path.read_text())["panels"] if panel["type"] != "row"]


QUERIES = [(rule["alert"], rule["expr"]) for rule in alerts()] + [
    (panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]
]


def selectors(query: str) -> list[VectorSelector]:
    """Those of the query, in whatever they stand."""
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
    """The names and labels of all that the service shows from its start, and those of Prometheus itself."""
    metrics = Metrics()
    metrics.expect([(route, "GET") for route in ROUTES], [*(leaf.code for leaf in STATUS), *OTHER_CODES])
    for family in text_string_to_metric_families(metrics.exposition().decode()):
        yield family.name, {}  # gauges of collections have no series yet
        for sample in family.samples:
            yield sample.name, sample.labels
    yield "up", {"job": "semblance"}


SERIES = list(series())


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[f"{title}: {query[:40]}" for title, query in QUERIES])
def test_a_query_asks_for_metrics_and_labels_that_there_are(title: str, query: str) -> None:
    asked = selectors(query)
    assert asked, f"{title} asks for nothing"
    for selector in asked:
        assert selector.name in {name for name, _ in SERIES}, f"{title}: there is no metric {selector.name}"
        for matcher in selector.matchers.matchers:
            known = {
                labels[matcher.name] for name, labels in SERIES if name == selector.name and matcher.name in labels
            }
            assert known, f"{title}: {selector.name} has no label {matcher.name}"
            wanted = matcher.value.split("|") if matcher.op in (MatchOp.Re, MatchOp.NotRe) else [matcher.value]
            assert matcher.name == "status" or set(wanted) <= known, f"{title}: {matcher.name} is never {wanted}"


def test_every_alert_says_how_bad_it_is_and_what_happened() -> None:
    names = [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names)
    for rule in alerts():
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]


def test_prometheus_asks_each_replica_of_compose_itself() -> None:
    said = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
    targets = [
        target for each in said["scrape_configs"] for config in each["static_configs"] for target in config["targets"]
    ]
    assert targets == ["api-1:8000", "api-2:8000"]
    assert all((PROMETHEUS / name).exists() for name in said["rule_files"])


def test_panels_do_not_overlap_and_have_the_datasource_that_is_provisioned() -> None:
    source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"][0]
    covered: set[tuple[int, int]] = set()
    for panel in panels():
        assert panel["datasource"]["uid"] == source["uid"]
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & covered
        assert max(x for x, _ in cells) < 24
        covered |= cells
