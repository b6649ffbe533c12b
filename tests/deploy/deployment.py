"""The deployment files, as others read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.project import PROJECT

DEPLOY = PROJECT / "deploy"
DOCKERFILE = PROJECT / "Dockerfile"
COMPOSE_FILE = PROJECT / "docker-compose.yml"
MANIFESTS = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def every_file() -> list[Path]:
    """All that deploys."""
    return [DOCKERFILE, COMPOSE_FILE, *(path for path in DEPLOY.rglob("*") if path.is_file())]


def compose() -> Any:
    """docker-compose.yml."""
    return yaml.safe_load(COMPOSE_FILE.read_text())


def manifests() -> list[Any]:
    """Every object of deploy/kubernetes."""
    return [each for path in MANIFESTS for each in yaml.safe_load_all(path.read_text())]


def workloads() -> list[Any]:
    """Those of them that run pods."""
    return [each for each in manifests() if "template" in each.get("spec", {})]


def unit(path: Path) -> dict[str, list[str]]:
    """What the section Service of a unit says, by name; a name may stand there more than once."""
    lines = path.read_text().partition("[Service]")[2].partition("[Install]")[0].splitlines()
    said: dict[str, list[str]] = {}
    for line in lines:
        name, is_said, value = line.partition("=")
        if is_said and not line.startswith("#"):
            said.setdefault(name, []).append(value)
    return said


def instructions() -> list[tuple[str, str]]:
    """Of the Dockerfile: the name and the rest of each, with continued lines joined."""
    text = "\n".join(line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#"))
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


def stages() -> dict[str, list[tuple[str, str]]]:
    """The instructions of each stage of the Dockerfile, the stages it is built from left out."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, rest in instructions():
        if name == "FROM":
            found[rest.split(" AS ")[1]] = []
        else:
            found[list(found)[-1]].append((name, rest))
    return found
