"""Deployment files of replicas that search a Milvus: as those of replicas with copies, but for what they keep."""

from __future__ import annotations

import re
from typing import Any

import promql_parser
import yaml

from semblance.service.indexes.remote.milvus_address import MilvusAddress
from semblance.service.observability.metrics import Metrics
from semblance.service.settings import Settings
from tests.deploy.deployment import DEPLOY, KUBERNETES, MILVUS_CLUSTER, MILVUS_COMPOSE_FILE, compose, manifests, stages

POSTGRESQL_CONNECTIONS = 100 - 3  # its default, without those that only a superuser may use


def manifest(kind: str, name: str = "semblance") -> Any:
    """The manifest of a kind and a name, for stateless replicas if there are two."""
    return [each for each in manifests() if (each["kind"], each["metadata"]["name"]) == (kind, name)][-1]


def pod(kind: str) -> Any:
    return manifest(kind)["spec"]["template"]["spec"]


def test_stateless_pods_are_those_with_copies_without_a_volume() -> None:
    full, stateless = pod("StatefulSet"), pod("Deployment")
    [[replica], [stateless_replica]] = full.pop("containers"), stateless.pop("containers")
    assert [each["name"] for each in stateless.pop("volumes")] == ["data", "tmp"], "nothing outlives the pod"
    assert full.pop("volumes")
    full["securityContext"].pop("fsGroupChangePolicy")
    assert stateless == full
    variables = {each["name"]: each for each in stateless_replica.pop("env")}
    assert variables.pop("SEMBLANCE_INDEX_URL")["valueFrom"]["secretKeyRef"]["name"] == "semblance"
    assert variables == {each["name"]: each for each in replica.pop("env")}
    for container in (replica, stateless_replica):
        del container["resources"], container["startupProbe"]
    assert stateless_replica == replica


def test_the_autoscaler_counts_queued_tokens_of_stateless_replicas() -> None:
    autoscaler = manifest("HorizontalPodAutoscaler")["spec"]
    target = autoscaler["scaleTargetRef"]
    assert manifest(target["kind"], target["name"])["apiVersion"] == target["apiVersion"]
    [metric] = [each["pods"]["metric"]["name"] for each in autoscaler["metrics"]]
    assert f"# TYPE {metric} gauge" in Metrics().exposition().decode()
    [rule] = yaml.safe_load((DEPLOY / "prometheus" / "adapter.yml").read_text())["rules"]["custom"]
    series: Any = promql_parser.parse(rule["seriesQuery"])
    assert series.name == metric
    inserted = {"Series": metric, "LabelMatchers": 'namespace="semblance",pod=~"a|b"', "GroupBy": "pod"}
    query = rule["metricsQuery"]
    for name, value in inserted.items():
        query = query.replace(f"<<.{name}>>", value)
    parsed: Any = promql_parser.parse(query)
    [selected] = parsed.expr.args
    assert selected.vector_selector.name == metric
    most_connections = autoscaler["maxReplicas"] * Settings.model_fields["database_connections"].default
    assert most_connections <= POSTGRESQL_CONNECTIONS


def test_nginx_tries_the_service_of_stateless_replicas() -> None:
    service = manifest("Service", "semblance-replicas")
    assert "clusterIP" not in service["spec"], "nginx resolves a name once, and pods come and go"
    [port] = service["spec"]["ports"]
    address = f"{service['metadata']['name']}:{port['port']}"
    servers = re.findall(r"server (\S+) max_fails=0;", (KUBERNETES / "stateless" / "upstreams.conf").read_text())
    tries = re.findall(r"proxy_next_upstream_tries (\d+);", (DEPLOY / "nginx" / "nginx.conf").read_text())
    assert servers == [address] * int(tries[0]), "an address for each try: after the last one, nginx would answer 502"


def test_compose_adds_a_milvus_that_only_replicas_reach() -> None:
    services = compose({"MILVUS_PASSWORD": "x"}, MILVUS_COMPOSE_FILE)["services"]
    milvus = services.pop("milvus")
    assert services["api-1"] == services["api-2"]
    assert services.keys() == {name for name in compose()["services"] if name.startswith("api-")}
    address = MilvusAddress.parse(services["api-1"]["environment"]["SEMBLANCE_INDEX_URL"])
    assert (address.uri, address.password) == ("http://milvus:19530", "x")
    assert milvus["environment"]["COMMON_SECURITY_DEFAULTROOTPASSWORD"] == "x"
    assert milvus["environment"]["COMMON_SECURITY_AUTHORIZATIONENABLED"] == "true"
    assert milvus["networks"] == ["back"]
    assert compose()["networks"]["back"] == {"internal": True}
    assert "ports" not in milvus
    assert milvus["read_only"] is True
    assert milvus["cap_drop"] == ["ALL"]
    assert milvus["security_opt"] == ["no-new-privileges:true"]
    assert milvus["mem_limit"]


def test_images_of_stateless_replicas_are_built_with_the_client() -> None:
    build = compose({"MILVUS_PASSWORD": "x"}, MILVUS_COMPOSE_FILE)["services"]["api-1"]["build"]
    assert build["target"] in stages()
    default, _ = (rest for instruction, rest in stages()["install-cpu"] if instruction == "ARG")
    [(name, extras)] = build["args"].items()
    assert default.partition("=")[0] == name
    assert set(extras.split(",")) == {*default.partition("=")[2].split(","), "milvus"}


def test_compose_and_kubernetes_run_the_same_milvus() -> None:
    cluster = yaml.safe_load(MILVUS_CLUSTER.read_text())
    image = compose({"MILVUS_PASSWORD": "x"}, MILVUS_COMPOSE_FILE)["services"]["milvus"]["image"]
    assert cluster["spec"]["components"]["image"] == image
    assert cluster["spec"]["config"]["common"]["security"] == {"authorizationEnabled": True}
    assert cluster["spec"]["mode"] == "cluster"
