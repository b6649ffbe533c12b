"""Workflows: valid by their schema, no address of a registry, and few permissions."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.project import PROJECT

WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))


def jobs(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text("utf-8"))["jobs"])


def commands(job: Any) -> str:
    return "\n".join(step.get("run", "") for step in job.get("steps", []))


def test_workflows_follow_their_schema() -> None:
    tool = Path(sys.executable).with_name("check-jsonschema")
    command = [str(tool), "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_name_no_host_and_only_scripts_that_exist(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.findall(r"\b[\w-]+\.(?:com|dev|io|net|org)\b", text) == []
    assert [name for name in re.findall(r"\bscripts/\w+", text) if not (PROJECT / name).is_file()] == []
    for action in re.findall(r"uses: (\S+)", text):
        place, _, version = action.partition("@")
        assert (PROJECT / place).is_file() if place.startswith("./") else re.fullmatch(r"v\d+|[0-9a-f]{40}", version)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_may_write_only_what_it_publishes(path: Path) -> None:
    assert yaml.safe_load(path.read_text("utf-8"))["permissions"] == {"contents": "read"}
    for name, job in jobs(path).items():
        wanted = {"contents": "write" if "gh release" in commands(job) else "read"}
        signs = {"id-token": "write"} if "cosign " in commands(job) else {}
        assert job.get("permissions", {"contents": "read"}) == wanted | signs, name


def test_a_release_is_tested_signed_and_listed_for_both_architectures() -> None:
    release = jobs(PROJECT / ".github" / "workflows" / "release.yml")
    assert {name: job.get("needs") for name, job in release.items()} == {
        "test": None,
        "wheels": "test",
        "image": "test",
        "publish": "image",
    }
    assert {each["architecture"] for each in release["image"]["strategy"]["matrix"]["include"]} == {"amd64", "arm64"}
    assert "cosign sign-blob" in commands(release["wheels"])
    assert re.search(r"scripts/sbom .*cosign attest --yes --type cyclonedx", commands(release["image"]), re.DOTALL)
    assert '"$tag-amd64" "$tag-arm64"' in commands(release["publish"])
    assert "cosign sign --yes --recursive" in commands(release["publish"])
