"""Limits and names agree between nginx, the service and the documents."""

from __future__ import annotations

import re

from semblance.service.api.edge.keys import scope_of
from semblance.service.app import create_app
from semblance.service.settings import CLIENT_KEY, Settings
from tests.deploy.deployment import DEPLOY
from tests.deploy.test_monitoring import alerts
from tests.support.project import PROJECT

NGINX = (DEPLOY / "nginx" / "nginx.conf").read_text()
PAGES = [PROJECT / "docs" / "deployment.md", *(PROJECT / "docs" / "deployment").glob("*.md")]
UNITS = {"s": 1.0, "m": 1024.0 * 1024, "k": 1024.0}


def values_of(directive: str, configuration: str = NGINX) -> list[float]:
    """All values of a directive, in seconds or bytes."""
    values = re.findall(rf"^ *{directive} (?:4 )?(\d+)([smk]);", configuration, re.MULTILINE)
    return [int(value) * UNITS[unit] for value, unit in values]


def default(name: str) -> float:
    return float(Settings.model_fields[name].default)


def test_nginx_has_the_limits_of_the_service() -> None:
    assert values_of("client_header_timeout") == [default("header_timeout_s")]
    assert values_of("client_body_timeout") == [default("body_pause_s")]
    assert values_of("large_client_header_buffers") == [default("max_header_bytes")]
    assert values_of("client_max_body_size") == [default("max_body_bytes"), default("max_file_bytes")]


def test_nginx_retries_the_requests_that_keys_may_only_read_by() -> None:
    classes = [(re.compile(pattern), way) for pattern, way in re.findall(r'"~(\^\S.*)" /=(\w+);', NGINX)]
    reads: dict[str, bool] = {}
    for path, methods in create_app(Settings()).openapi()["paths"].items():
        for method in methods:
            line = f"{method.upper()} {path.replace('{', '').replace('}', '')} application/json"
            way = next((way for pattern, way in classes if pattern.match(line)), "change")
            reads[line] = way in ("read", "long_read")
    assert reads == {line: scope_of(*line.split()[:2]) == "read" for line in reads}
    assert 10 < sum(reads.values()) < len(reads)


def test_nginx_closes_connections_before_the_service_does() -> None:
    for path in (DEPLOY / "nginx").glob("upstreams*.conf"):
        kept = values_of("keepalive_timeout", path.read_text())
        assert len(kept) == 1
        assert 2 * kept[0] < default("keep_alive_s")


def test_reads_are_retried_in_time_and_writes_outlast_the_database() -> None:
    reads = NGINX.partition("location = /=read {")[2].partition("}")[0]
    [hangs], [until] = values_of("proxy_read_timeout", reads), values_of("proxy_next_upstream_timeout", reads)
    assert default("min_version_wait_s") < hangs < until
    writes = NGINX.partition("location = /=write {")[2].partition("}")[0]
    [limit] = values_of("proxy_read_timeout", writes)
    assert default("database_timeout_s") < limit


def test_every_alert_is_documented_and_no_other() -> None:
    page = (PROJECT / "docs" / "operation.md").read_text("utf-8")
    explained = re.findall(r"^### (\w+)$", page.partition("\n## Alerts\n")[2].partition("\n## ")[0], re.MULTILINE)
    assert sorted(explained) == sorted(rule["alert"] for rule in alerts())


def test_documents_name_existing_files_and_settings() -> None:
    for page in PAGES:
        text = page.read_text()
        for named in re.findall(r"\bdeploy/[\w./@-]*\w", text):
            assert (PROJECT / named).exists(), f"{page.name} names {named}"
        for linked in re.findall(r"\]\(([\w./-]+)\)", text):
            assert (page.parent / linked).exists(), f"{page.name} links to {linked}"
        for variable in re.findall(r"\bSEMBLANCE_([A-Z_]+)\b", text):
            is_known = variable.lower() in Settings.model_fields or f"SEMBLANCE_{variable}" == CLIENT_KEY
            assert is_known, f"{page.name} names SEMBLANCE_{variable}"
