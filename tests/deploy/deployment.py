"""Parsed deployment files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.project import PROJECT

DEPLOY = PROJECT / "deploy"
DOCKERFILE = PROJECT / "Dockerfile"
ENV_EXAMPLE = PROJECT / ".env.example"
COMPOSE_FILE = PROJECT / "docker-compose.yml"
MILVUS_COMPOSE_FILE = PROJECT / "docker-compose.milvus.yml"
KUBERNETES = DEPLOY / "kubernetes"
MILVUS_CLUSTER = KUBERNETES / "milvus" / "milvus.yaml"  # of a kind that Kubernetes has from the operator of Milvus
MANIFESTS = sorted(set(KUBERNETES.rglob("*.yaml")) - set(KUBERNETES.rglob("kustomization.yaml")) - {MILVUS_CLUSTER})
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def every_file() -> list[Path]:
    compose_files = [COMPOSE_FILE, MILVUS_COMPOSE_FILE]
    return [DOCKERFILE, *compose_files, ENV_EXAMPLE, *(path for path in DEPLOY.rglob("*") if path.is_file())]


def compose(variables: Mapping[str, str] | None = None, file: Path = COMPOSE_FILE) -> Any:
    """docker-compose.yml or another file, with variables inserted as compose does if they are given."""
    text = file.read_text()
    return yaml.safe_load(text if variables is None else _interpolated(text, variables))


def _interpolated(text: str, variables: Mapping[str, str]) -> str:
    """`text` with ${NAME}, ${NAME:-default} and ${NAME:?message} replaced, and $$ by $."""

    def value(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "$"
        if found := variables.get(match["name"]):
            return found
        if match["kind"] == "?":
            raise KeyError(match["name"])
        return match["text"] or ""

    form = r"(?P<escaped>\$\$)|\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<text>[^}]*))?\}"
    return re.sub(form, value, text)


def variables_of(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def manifests() -> list[Any]:
    return [each for path in MANIFESTS for each in yaml.safe_load_all(path.read_text())]


def workloads() -> list[Any]:
    """The manifests that run pods."""
    return [each for each in manifests() if "template" in each.get("spec", {})]


def unit(path: Path) -> dict[str, list[str]]:
    """Values of the section Service of a unit, by name; a name may occur several times."""
    lines = path.read_text().partition("[Service]")[2].partition("[Install]")[0].splitlines()
    values: dict[str, list[str]] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            values.setdefault(name, []).append(value)
    return values


def instructions() -> list[tuple[str, str]]:
    """Name and arguments of each instruction of the Dockerfile, with continued lines joined."""
    text = "\n".join(line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#"))
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


def stages() -> dict[str, list[tuple[str, str]]]:
    """The instructions of each stage of the Dockerfile, without those of its base."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, rest in instructions():
        if name == "FROM":
            found[rest.split(" AS ")[1]] = []
        else:
            found[list(found)[-1]].append((name, rest))
    return found
