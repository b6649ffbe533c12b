"""Deployment files: validity by schemas and linters, least privilege, and consistency."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from semblance.service.settings import CLIENT_KEY, Settings
from tests.conftest import missing
from tests.deploy.deployment import (
    COMPOSE_FILE,
    DEPLOY,
    DOCKERFILE,
    KUBERNETES,
    MANIFESTS,
    MILVUS_COMPOSE_FILE,
    UNITS,
    compose,
    every_file,
    manifests,
    stages,
    unit,
    workloads,
)
from tests.support.project import PROJECT
from tests.support.running_service import reserved_port

REQUIRED = set(re.findall(r"\$\{(\w+):\?", COMPOSE_FILE.read_text()))
REPLICAS = [DEPLOY / "nginx" / f"upstreams{kind}.conf" for kind in ("", ".compose", ".kubernetes")]
STATELESS_REPLICAS = KUBERNETES / "stateless" / "upstreams.conf"


def check(*command: str) -> str:
    """Run a tool, which must find nothing, and return what it prints."""
    tool = Path(sys.executable).with_name(command[0])
    run = subprocess.run([tool, *command[1:]], capture_output=True, text=True, check=False)
    printed = run.stdout + run.stderr
    assert run.returncode == 0, printed
    return printed


def test_compose_follows_its_schema() -> None:
    check("check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE_FILE), str(MILVUS_COMPOSE_FILE))


def test_manifests_follow_the_kubernetes_schemas() -> None:
    printed = check("kubernetes-validate", "--strict", *map(str, MANIFESTS))
    assert "WARN " not in printed, printed  # the tool exits with 0 after "Couldn't find schema for kind"


def test_the_dockerfile_has_no_findings() -> None:
    check("hadolint", str(DOCKERFILE))


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_units_are_valid_and_hardened(path: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze")
    copy = tmp_path / path.name
    copy.write_text(re.sub("/opt/semblance/bin/semblance|/usr/sbin/nginx", "/bin/true", path.read_text()))
    for verb in (["verify"], ["security", "--offline=true", "--threshold=15"]):  # 10 is 1.0 of at most 10
        run = subprocess.run(["systemd-analyze", *verb, str(copy)], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr
        assert not run.stderr


@pytest.mark.parametrize("path", [*REPLICAS, STATELESS_REPLICAS], ids=lambda path: path.name)
@pytest.mark.parametrize("listen", ["listen.conf", "listen.container.conf"])
def test_nginx_accepts_each_configuration(path: Path, listen: str, tmp_path: Path) -> None:
    if shutil.which("nginx") is None:
        missing("nginx")
    shutil.copy(DEPLOY / "nginx" / "nginx.conf", tmp_path)
    names = re.sub(r"semblance-(0|1|replicas):", "127.0.0.1:", path.read_text())
    (tmp_path / "upstreams.conf").write_text(names)  # the names do not resolve here
    here = f"listen 127.0.0.1:{reserved_port()}"
    listener = re.sub(r"listen (127.0.0.1:)?8000", here, (DEPLOY / "nginx" / listen).read_text())
    (tmp_path / "listen.conf").write_text(listener)
    command = ["nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "warn" not in run.stderr


def test_nginx_lists_each_replica_three_times() -> None:
    addresses = [service["networks"]["front"]["ipv4_address"] for name, service in replicas_of(compose())]
    pods = [f"semblance-{i}" for i in range(stateful_set()["replicas"])]
    assert set(pods) <= {each["metadata"]["name"] for each in manifests() if each["kind"] == "Service"}
    for path, hosts in zip(REPLICAS[1:], (addresses, pods), strict=True):
        servers = re.findall(r"server (\S+) max_fails=(\d).*?( backup)?;", path.read_text())
        first = [(f"{host}:8000", "1", "") for host in hosts]
        assert servers == [*first, *((host, "0", " backup") for host, _, _ in [*first, *first])]


def stateful_set() -> Any:
    return next(each["spec"] for each in workloads() if each["kind"] == "StatefulSet")


def replicas_of(compose_file: Any) -> list[tuple[str, Any]]:
    return [(name, each) for name, each in compose_file["services"].items() if each["image"].startswith("semblance")]


def test_every_environment_variable_is_a_setting() -> None:
    settings = {CLIENT_KEY, *(f"SEMBLANCE_{name.upper()}" for name in Settings.model_fields)}
    named = {
        variable: path.relative_to(PROJECT)
        for path in every_file()
        for variable in re.findall(r"\bSEMBLANCE_[A-Z0-9_]+\b", path.read_text())
    }
    assert {variable: path for variable, path in named.items() if variable not in settings} == {}


@pytest.mark.parametrize(("name", "service"), compose()["services"].items())
def test_compose_containers_have_least_privilege(name: str, service: Any) -> None:
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert int(service["user"].partition(":")[0]) > 0, f"{name} runs as root"
    assert service["mem_limit"]
    assert service["pids_limit"]
    assert not {"privileged", "cap_add", "devices", "network_mode", "pid", "ipc"} & set(service)
    mounted = [volume for volume in service["volumes"] if volume.startswith((".", "/"))] if "volumes" in service else []
    assert all(volume.endswith(":ro") for volume in mounted)
    assert name.startswith("api-") or "healthcheck" in service, "that of a replica is in its image"


def test_compose_publishes_only_nginx_and_grafana_on_loopback() -> None:
    services = compose(dict.fromkeys(REQUIRED, "x"))["services"]
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"nginx": ["127.0.0.1:8000:8000"], "grafana": ["127.0.0.1:3000:3000"]}
    outside = {name for name, network in compose()["networks"].items() if not (network or {}).get("internal")}
    members = {name: set(services[name]["networks"]) & outside for name in services}
    assert {name: networks for name, networks in members.items() if networks} == {
        "nginx": {"outside"},
        "grafana": {"dashboard"},
    }


def test_grafana_reaches_prometheus_and_no_replica() -> None:
    services = compose()["services"]
    networks = {name: set(service["networks"]) for name, service in services.items()}
    assert {name for name in services if networks[name] & networks["grafana"]} == {"grafana", "prometheus"}
    assert networks["prometheus"] & networks["api-1"] & networks["api-2"]


def test_monitoring_is_a_profile() -> None:
    optional = {name: service["profiles"] for name, service in compose()["services"].items() if "profiles" in service}
    assert optional == {"prometheus": ["monitoring"], "grafana": ["monitoring"]}
    needed = {other for service in compose()["services"].values() for other in service.get("depends_on", ())}
    assert not needed & optional.keys(), "the others start without it"


def test_grafana_has_its_source_and_dashboard() -> None:
    grafana = compose()["services"]["grafana"]
    mounts = {inside: PROJECT / outside for outside, inside, *_ in (each.split(":") for each in grafana["volumes"])}
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    [provider] = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/semblance.yml").read_text())["providers"]
    assert str(home.parent) == provider["options"]["path"]
    assert json.loads((mounts[str(home.parent)] / home.name).read_text())["uid"] == "semblance"
    [source] = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert mounts["/etc/grafana/provisioning"] == DEPLOY / "grafana" / "provisioning"


def test_compose_contains_no_secret() -> None:
    for name, service in compose()["services"].items():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|KEYS|_URL", variable):
                assert re.search(r"\$\{[A-Z_]+:\?", value), f"{variable} of {name} must come from a variable"


@pytest.mark.parametrize("workload", workloads(), ids=lambda each: each["metadata"]["name"])
def test_pods_have_least_privilege(workload: Any) -> None:
    pod = workload["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False, "service links would set SEMBLANCE_PORT and unknown variables"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert not any("hostPath" in volume for volume in pod["volumes"])
    for container in pod["containers"]:
        allowed = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert container["securityContext"] == allowed
        assert container["resources"]["limits"]["memory"]
        assert container["resources"]["requests"]["memory"]
        assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)


def test_workloads_have_network_policies_and_disruption_budgets() -> None:
    names = {workload["metadata"]["name"] for workload in workloads()}
    selected = {
        kind: {
            labels["app"]
            for each in manifests()
            if each["kind"] == kind
            and (labels := (each["spec"].get("selector") or each["spec"]["podSelector"]).get("matchLabels"))
        }
        for kind in ("PodDisruptionBudget", "NetworkPolicy")
    }
    assert selected == {"PodDisruptionBudget": names, "NetworkPolicy": names}
    assert all(each["spec"]["maxUnavailable"] == 1 for each in manifests() if each["kind"] == "PodDisruptionBudget")


def test_only_nginx_and_prometheus_may_reach_a_replica() -> None:
    policies = {each["metadata"]["name"]: each["spec"] for each in manifests() if each["kind"] == "NetworkPolicy"}
    [rule] = policies["semblance"]["ingress"]
    assert rule["from"] == [
        {"podSelector": {"matchLabels": {"app": "semblance-nginx"}}},
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
        },
    ]


def test_kustomizations_name_existing_files() -> None:
    for path in DEPLOY.rglob("kustomization.yaml"):
        kustomization = yaml.safe_load(path.read_text())
        generated = [name for each in kustomization.get("configMapGenerator", []) for name in each["files"]]
        names = [*(name.rpartition("=")[2] for name in generated), *kustomization.get("resources", [])]
        assert names
        for name in names:
            assert (path.parent / name).exists(), f"{path} names {name}"


def test_orchestrators_wait_longer_than_the_drain() -> None:
    drain_s = float(Settings.model_fields["drain_s"].default)
    for _, service in replicas_of(compose()):
        assert int(service["stop_grace_period"].removesuffix("s")) > drain_s
    pod = stateful_set()["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > drain_s
    probe = pod["containers"][0]["livenessProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] > drain_s, "/live is not answered at the end of the drain"
    assert int(unit(DEPLOY / "systemd" / "semblance@.service")["TimeoutStopSec"][0]) > drain_s


def test_a_start_may_wait_for_the_database_for_a_day() -> None:
    """It waits as long as PostgreSQL is away, and answers no probe before it has read the documents."""
    containers = [pod["spec"]["template"]["spec"]["containers"][0] for pod in workloads()]
    probes = [each["startupProbe"] for each in containers if each["name"] == "semblance"]
    assert [probe["periodSeconds"] * probe["failureThreshold"] for probe in probes] == [86400, 86400]


def test_the_image_runs_unprivileged_with_serving_dependencies_only() -> None:
    for name, steps in stages().items():
        for instruction, rest in steps:
            if instruction == "RUN" and "pip install" in rest:
                extras = {"install-cpu": "$EXTRAS", "install-gpu": "models,tracing,openai-tokens"}[name]
                assert f'--constraint constraints.txt ./assets ./clients/python ".[{extras}]"' in rest
    arguments = [rest for instruction, rest in stages()["install-cpu"] if instruction == "ARG"]
    assert arguments == ["EXTRAS=tracing,openai-tokens", "ASSETS="]
    runtime = dict(stages()["runtime"])
    assert runtime["USER"] == "10001:10001"
    assert "/ready" in runtime["HEALTHCHECK"]
    assert list(stages())[-1] == "cpu", "the default target"
