"""The Helm chart: valid for each file of values, and what it runs is what deploy/kubernetes runs."""

from __future__ import annotations

import re
from typing import Any

import promql_parser
import pytest
import yaml

from semblance.service.settings import Settings
from tests.deploy.deployment import DEPLOY, KUBERNETES
from tests.support.rendered_chart import CHART, Rendering, rendered

NAMES = ("embedded", "replicas", "scaled")
OF_OPERATORS = (
    "ScaledObject",
    "ServiceMonitor",
    "PrometheusRule",
)  # kinds that Kubernetes has from KEDA and from Prometheus' operator
SHARED = {path.name: path.resolve() for path in (CHART / "files").iterdir()}


@pytest.fixture(scope="module")
def renderings() -> dict[str, Rendering]:
    made = rendered([CHART / "ci" / f"{name}.yaml" for name in NAMES])
    return dict(zip(NAMES, made, strict=True))


def found(rendering: Rendering, kind: str, name: str = "") -> Any:
    """The only manifest of a kind, and of a name if one is given."""
    [manifest] = [
        each
        for text in rendering.manifests.values()
        for each in yaml.safe_load_all(text)
        if each and each["kind"] == kind and name in ("", each["metadata"]["name"])
    ]
    return manifest


def plain(file: str, kind: str, name: str) -> Any:
    """A manifest of deploy/kubernetes."""
    documents = yaml.safe_load_all((KUBERNETES / file).read_text("utf-8"))
    [manifest] = [each for each in documents if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return manifest


def require_its_schema(manifest: Any) -> None:
    """Fail unless a manifest follows the schema of Kubernetes."""
    import kubernetes_validate  # which takes two seconds

    kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_chart_has_no_findings_and_valid_manifests(name: str, renderings: dict[str, Rendering]) -> None:
    rendering = renderings[name]
    assert (rendering.findings, rendering.error) == ([], "")
    parsed = [each for text in rendering.manifests.values() for each in yaml.safe_load_all(text) if each]
    assert {each["kind"] for each in parsed} >= {"Service", "ConfigMap", "NetworkPolicy", "PodDisruptionBudget"}
    for manifest in parsed:
        if manifest["kind"] not in OF_OPERATORS:
            require_its_schema(manifest)


@pytest.mark.parametrize(
    ("name", "file", "kind"),
    [("replicas", "replicas.yaml", "StatefulSet"), ("scaled", "stateless/replicas.yaml", "Deployment")],
)
def test_replicas_are_those_of_the_plain_manifests(
    name: str, file: str, kind: str, renderings: dict[str, Rendering]
) -> None:
    ours, theirs = found(renderings[name], kind, "semblance")["spec"], plain(file, kind, "semblance")["spec"]
    pod, plain_pod = ours["template"]["spec"], theirs["template"]["spec"]
    [container], [plain_container] = pod.pop("containers"), plain_pod.pop("containers")
    assert pod == plain_pod, "security context, time to drain, spread, volumes"
    for chosen in ("image", "env", "resources"):
        del container[chosen], plain_container[chosen]
    assert container == plain_container, "probes, security context, ports, mounts"
    for chosen in ("template", "replicas", "serviceName"):
        ours.pop(chosen, None)
        theirs.pop(chosen, None)
    assert ours == theirs, "selector, strategy, claims"


def test_nginx_is_that_of_the_plain_manifests(renderings: dict[str, Rendering]) -> None:
    ours = found(renderings["replicas"], "Deployment")
    theirs = plain("shared/nginx.yaml", "Deployment", "semblance-nginx")
    assert ours["spec"]["template"]["metadata"].pop("annotations")
    assert ours == theirs
    files = found(renderings["replicas"], "ConfigMap")["data"]
    assert {name: text.rstrip() for name, text in files.items()} == {
        name: SHARED[name].read_text("utf-8").rstrip() for name in ("nginx.conf", "listen.conf", "upstreams.conf")
    }


def variables(rendering: Rendering, kind: str, name: str = "semblance") -> dict[str, Any]:
    [container] = found(rendering, kind, name)["spec"]["template"]["spec"]["containers"]
    return {each["name"]: each.get("value") or each["valueFrom"]["secretKeyRef"] for each in container["env"]}


def test_values_choose_what_replicas_are_told(renderings: dict[str, Rendering]) -> None:
    embedded = variables(renderings["embedded"], "StatefulSet")
    assert embedded == {
        "SEMBLANCE_API_KEYS": {"name": "semblance", "key": "api-keys"},
        "SEMBLANCE_METRICS_OPEN": "1",
        "SEMBLANCE_THREADS": "2",
    }
    [container] = plain("replicas.yaml", "StatefulSet", "semblance")["spec"]["template"]["spec"]["containers"]
    assert set(variables(renderings["replicas"], "StatefulSet")) == {each["name"] for each in container["env"]}
    scaled = variables(renderings["scaled"], "Deployment")
    assert scaled["SEMBLANCE_INDEX_URL"] == {"name": "search-secrets", "key": "index-url"}
    assert (scaled["SEMBLANCE_THREADS"], scaled["SEMBLANCE_MODELS"]) == ("4", "minilm")
    assert {f"SEMBLANCE_{name.upper()}" for name in Settings.model_fields} >= scaled.keys()


def test_the_scaled_chart_is_watched_scaled_and_published(renderings: dict[str, Rendering]) -> None:
    scaled = renderings["scaled"]
    pods = found(scaled, "Deployment", "semblance")["spec"]
    assert "replicas" not in pods, "an upgrade would undo what the autoscaler has chosen"
    scaler = found(scaled, "ScaledObject")["spec"]
    assert scaler["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "semblance"}
    plain_scaler = plain("stateless/replicas.yaml", "HorizontalPodAutoscaler", "semblance")["spec"]
    assert (scaler["minReplicaCount"], scaler["maxReplicaCount"]) == (2, plain_scaler["maxReplicas"])
    [trigger] = scaler["triggers"]
    assert trigger["metadata"]["threshold"] == plain_scaler["metrics"][0]["pods"]["target"]["averageValue"]
    assert "semblance_queued_tokens" in str(promql_parser.parse(trigger["metadata"]["query"]))
    monitor = found(scaled, "ServiceMonitor")["spec"]
    labels = found(scaled, "Service", "semblance-replicas")["metadata"]["labels"]
    assert monitor["selector"] == {"matchLabels": labels}
    assert monitor["endpoints"][0]["relabelings"] == [{"targetLabel": "job", "replacement": "semblance"}]
    rule = found(scaled, "PrometheusRule")
    assert rule["metadata"]["labels"] == {"release": "prometheus"}
    assert rule["spec"] == yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text("utf-8"))
    backend = found(scaled, "Ingress")["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    assert backend["name"] == found(scaled, "Service", "semblance")["metadata"]["name"]


OTHERS = {
    "two-without-a-database": "replicas: 2",
    "scaled-copies": "{postgresql: {enabled: true}, autoscaling: {enabled: true}, persistence: {enabled: false}}",
    "open": "{keys: {enabled: false}, networkPolicy: {enabled: false}}",
    "typed": "settings: {SEMBLANCE_TRACING: true, SEMBLANCE_CACHE_BYTES: 268435456, SEMBLANCE_POLL_S: 0.5}",
    "pooled": "{postgresql: {enabled: true}, networkPolicy: {egressPorts: [6432, 6380]}}",
    "misspelled": "{postgres: {enabled: true}}",
    "untyped-tag": "{image: {tag: 1.10}}",
    "own-port": "{settings: {SEMBLANCE_PORT: 9000}}",
    "no-setting": "{settings: {models: minilm}}",
}


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rendering]:
    """Of other values, by a release of another name."""
    files = [tmp_path_factory.mktemp("values") / f"{name}.yaml" for name in OTHERS]
    for file, text in zip(files, OTHERS.values(), strict=True):
        file.write_text(text)
    return dict(zip(OTHERS, rendered(files, "shop"), strict=True))


def test_several_replicas_need_a_database(others: dict[str, Rendering]) -> None:
    assert re.search("need postgresql.enabled", others["two-without-a-database"].error)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("misspelled", "postgres"),
        ("untyped-tag", "tag.*string"),
        ("own-port", "settings.SEMBLANCE_PORT: the chart sets it"),
        ("no-setting", "models"),
    ],
)
def test_values_that_would_have_no_effect_are_refused(name: str, message: str, others: dict[str, Rendering]) -> None:
    assert re.search(message, others[name].error, re.DOTALL)


def test_settings_may_be_numbers_and_truth_values(
    others: dict[str, Rendering], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = variables(others["typed"], "StatefulSet", "shop-semblance")
    chosen = {name: told[name] for name in ("SEMBLANCE_TRACING", "SEMBLANCE_CACHE_BYTES", "SEMBLANCE_POLL_S")}
    assert chosen == {"SEMBLANCE_TRACING": "true", "SEMBLANCE_CACHE_BYTES": "268435456", "SEMBLANCE_POLL_S": "0.5"}
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    assert (Settings().tracing, Settings().cache_bytes, Settings().poll_s) == (True, 2**28, 0.5)


def test_replicas_reach_the_ports_that_are_chosen(others: dict[str, Rendering]) -> None:
    allowed = found(others["pooled"], "NetworkPolicy", "shop-semblance")["spec"]["egress"]
    assert [each["port"] for each in allowed[0]["ports"]] == [6432, 6380]


def test_replicas_with_copies_scale_by_their_queue(others: dict[str, Rendering]) -> None:
    scaler = found(others["scaled-copies"], "HorizontalPodAutoscaler")
    require_its_schema(scaler)
    assert scaler["spec"]["scaleTargetRef"]["kind"] == "StatefulSet"
    assert scaler["spec"]["metrics"][0]["pods"]["metric"]["name"] == "semblance_queued_tokens"
    pods = found(others["scaled-copies"], "StatefulSet")["spec"]
    assert "replicas" not in pods, "as above"
    assert {"name": "data", "emptyDir": {"sizeLimit": "20Gi"}} in pods["template"]["spec"]["volumes"]


def test_every_name_and_label_is_of_the_release(others: dict[str, Rendering]) -> None:
    opened = others["open"]
    assert variables(opened, "StatefulSet", "shop-semblance")["SEMBLANCE_ALLOW_ANONYMOUS"] == "1"
    assert "network.yaml" not in {name for name, text in opened.manifests.items() if text.strip()}
    for text in opened.manifests.values():
        for manifest in filter(None, yaml.safe_load_all(text)):
            assert manifest["metadata"]["name"].startswith("shop-semblance")
            assert not re.search(r"app: semblance|(?<!shop-)semblance-(pods|replicas)", yaml.dump(manifest))
