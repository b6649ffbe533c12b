"""The docker commands of the pages: they build what the Dockerfile has, and start a service that is not open to all."""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shlex

import pytest

from semblance.service.api.edge.origins import AllowedHosts
from semblance.service.settings import Settings
from tests.deploy.deployment import instructions, stages
from tests.support.command_line import semblance_process
from tests.support.project import PROJECT

PAGES = [PROJECT / "README.md", PROJECT / "docs" / "deployment.md", *(PROJECT / "docs" / "deployment").glob("*.md")]
IMAGES = {
    *("semblance", "semblance:cpu", "semblance:gpu", "semblance:milvus"),
    *("REGISTRY/semblance:0.1.0", "REGISTRY/semblance:0.1.0-milvus"),
}
DIGEST = 64 * "0"


def commands(verb: str) -> list[tuple[str, list[str]]]:
    """Page and arguments of each `docker VERB` in a block of code."""
    return [
        (page.name, shlex.split(line, comments=True)[2:])
        for page in PAGES
        for block in re.findall(r"^```\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        for line in re.split(r"\n| && ", block.replace("\\\n", " "))
        if line.strip().startswith(f"docker {verb} ")
    ]


RUNS, BUILDS = commands("run"), commands("build")


def parsed_run(words: list[str]) -> argparse.Namespace:
    """The options of `docker run` that the pages use; any other is an error."""
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    for flag in ("--rm", "--read-only", "--detach", "-it"):
        parser.add_argument(flag, action="store_true")
    for option in ("--name", "--restart", "--tmpfs", "--cap-drop", "--security-opt", "--network", "--entrypoint"):
        parser.add_argument(option)
    for names in (("-p", "--publish"), ("-v", "--volume"), ("-e", "--env")):
        parser.add_argument(*names, action="append", default=[])
    parser.add_argument("image", choices=IMAGES)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


SERVING = [(page, run) for page, words in RUNS for run in [parsed_run(words)] if not run.command]


def runtime_environment() -> dict[str, str]:
    values: dict[str, str] = {}
    for stage in ("runtime", "cpu"):
        for instruction, rest in stages()[stage]:
            if instruction == "ENV":
                values |= dict(pair.split("=", 1) for pair in shlex.split(rest))
    return {name: value for name, value in values.items() if name.startswith("SEMBLANCE_")}


def test_the_readme_and_the_deployment_page_each_start_one() -> None:
    assert [page for page, _ in SERVING] == ["README.md", "deployment.md", "deployment.md"]
    first, second = (sorted([*run.env, *run.publish, *run.volume]) for _, run in SERVING[:2])
    assert first == second


def settings_of(run: argparse.Namespace, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings in a container that this machine alone reaches; they raise if the service would refuse to start."""
    for variable, value in (runtime_environment() | dict(pair.split("=", 1) for pair in run.env)).items():
        monkeypatch.setenv(variable, value.replace("...", DIGEST))
    settings = Settings()
    assert run.publish == [f"127.0.0.1:8000:{settings.port}"]
    return settings


@pytest.mark.parametrize("run", [run for _, run in SERVING])
def test_a_container_starts_and_is_reached_from_this_machine_only(
    run: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(run, monkeypatch)
    assert run.volume == [f"semblance:{dict(stages()['runtime'])['VOLUME']}"]
    if settings.has_keys:
        assert not settings.allow_anonymous
    else:
        hosts = AllowedHosts(settings.hosts)
        assert hosts.allow("127.0.0.1:8000")
        assert not hosts.allow("evil.example"), "a page may point its name to this machine"


def test_the_image_without_keys_says_how_to_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, whose command starts it for this machine only."""
    runtime = dict(stages()["runtime"])
    assert json.loads(runtime["ENTRYPOINT"]) == ["semblance"]
    arguments: list[str] = json.loads(runtime["CMD"])
    refused = semblance_process(*arguments, **runtime_environment())
    assert refused.returncode == 1
    [line] = refused.stderr.splitlines()
    assert "SEMBLANCE_API_KEYS (semblance key new)" in line
    run = parsed_run(shlex.split(line.partition("docker run ")[2]))
    assert settings_of(run, monkeypatch).hosts == ("localhost",)


def test_images_are_built_by_arguments_that_exist() -> None:
    arguments = {rest.split("=")[0] for instruction, rest in instructions() if instruction == "ARG"}
    assert len(BUILDS) >= 4
    for page, words in BUILDS:
        assert words[-1] == ".", page
        pairs = dict(itertools.pairwise(words))
        assert pairs.get("--target", "cpu") in stages()
        assert {pairs.get("--tag"), pairs.get("-t")} & IMAGES
        if "--build-arg" in pairs:
            assert pairs["--build-arg"].partition("=")[0] in arguments
