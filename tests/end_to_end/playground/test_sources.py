"""The scripts of the playground pass a type checker and have one format; tools are those of package.json."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.support.project import PROJECT

HERE = Path(__file__).parent
TOOLS = HERE / "node_modules" / ".bin"
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
    if not TOOLS.is_dir():
        missing("npm ci --prefix tests/end_to_end/playground")
    ran = subprocess.run([TOOLS / command[0], *command[1:]], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
