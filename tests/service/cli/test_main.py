"""The group of all verbs: complete help without importing them."""

from __future__ import annotations

import inspect
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from semblance.service.cli.main import (
    EXTRAS,
    PACKAGE,
    IndexVerbs,
    KeyVerbs,
    LazyGroup,
    OriginVerbs,
    PairsVerbs,
    SemblanceVerbs,
)
from tests.support.command_line import semblance
from tests.support.project import PROJECT

GROUPS: tuple[type[LazyGroup], ...] = (SemblanceVerbs, IndexVerbs, KeyVerbs, OriginVerbs, PairsVerbs)
VERBS = [(name, *entry) for group in GROUPS for name, entry in group.verbs.items()]


@pytest.mark.parametrize(("name", "module", "summary"), VERBS, ids=[f"{module}:{name}" for name, module, _ in VERBS])
def test_the_group_lists_the_first_line_of_each_verb(name: str, module: str, summary: str) -> None:
    verb = getattr(import_module(f"{PACKAGE}.{module}"), name)
    assert (inspect.getdoc(verb) or "").partition("\n")[0] == summary
    assert len(summary) <= 60, "Typer would truncate it on a terminal of 80 columns"


@pytest.mark.parametrize("arguments", [["--help"], ["origin", "--help"], ["key", "new", "x", "--scope", "read"]])
def test_no_other_verb_is_imported(arguments: list[str]) -> None:
    code = (
        "import sys; from semblance.service.cli.main import app; app(sys.argv[1:], standalone_mode=False); "
        "print({'torch', 'numpy', 'sqlalchemy', 'fastapi'} & set(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == "set()"


def test_help_of_any_verb_imports_no_torch_or_extra_train() -> None:
    code = """
import sys
from typer.main import get_command
from semblance.service.cli.main import app

def show_help(command, path):
    app([*path, "--help"], standalone_mode=False)
    for name, below in getattr(command, "commands", {}).items():
        show_help(below, [*path, name])

show_help(get_command(app), [])
print(*sorted({*sys.argv[1:]} & {*sys.modules}), file=sys.stderr)
"""
    slow = list(EXTRAS)
    ran = subprocess.run([sys.executable, "-c", code, *slow], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == ""
    assert ran.stdout.count("Usage: ") == len(GROUPS) + len(VERBS)


def test_the_extras_name_the_packages_of_the_project_file() -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extra in ("models", "transport", "train", "mcp"):
        own = {package for name, package in EXTRAS.values() if name == extra}
        assert own == {each for each in extras[extra] if not each.startswith("semblance")}


@pytest.mark.parametrize(("imported", "package"), [("sklearn.cluster", "scikit-learn"), ("duckdb", "duckdb")])
def test_a_missing_package_of_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, imported: str, package: str, tmp_path: Path
) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError(f"No module named {imported!r}", name=imported)

    monkeypatch.setattr("semblance.service.cli.main.import_module", missing)
    ran = semblance("origin", "score", str(tmp_path))
    assert ran.returncode == 1
    assert ran.stderr == (
        f"`semblance origin score` needs {package}, which is not installed: install the extra train, by scripts/"
        "install train in the folder of Semblance, or there by pip install ./assets ./clients/python '.[train]'\n"
    )
