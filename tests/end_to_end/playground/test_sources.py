"""The scripts of the playground pass a type checker and have one format; tools are those of package.json."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.playground.npm_packages import npm_packages
from tests.support.project import PROJECT

HERE = Path(__file__).parent
SOURCES = PROJECT / "service" / "playground"


@pytest.mark.parametrize(
    "command",
    [
        ["tsc", "--project", str(HERE)],
        [
            "prettier",
            "--config",
            str(HERE / ".prettierrc.json"),
            "--check",
            f"{SOURCES}/index.html",
            f"{SOURCES}/assets",
        ],
    ],
    ids=lambda command: command[0],
)
def test_scripts_are_typed_and_formatted(command: list[str]) -> None:
    ran = subprocess.run(
        [npm_packages() / ".bin" / command[0], *command[1:]], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
