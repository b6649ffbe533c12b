"""The group of all verbs: complete help without importing them."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version

import pytest

from semblance.service.cli.main import (
    EXTRAS,
    IndexVerbs,
    KeyVerbs,
    LazyGroup,
    OriginVerbs,
    PairsVerbs,
    SemblanceVerbs,
)
from semblance.service.cli.toolbox.garbage import without_collections
from tests.support.command_line import semblance
from tests.support.project import PROJECT

GROUPS: tuple[type[LazyGroup], ...] = (SemblanceVerbs, IndexVerbs, KeyVerbs, OriginVerbs, PairsVerbs)
VERBS = [
    (name, f"{package}.{module}", summary)
    for each in GROUPS
    for package, verbs in (("semblance.service.cli", each.verbs), ("semblance_lab.cli", each.lab_verbs))
    for name, (module, summary) in verbs.items()
]


@pytest.mark.parametrize(("name", "module", "summary"), VERBS, ids=[f"{module}:{name}" for name, module, _ in VERBS])
def test_the_group_lists_the_first_line_of_each_verb(name: str, module: str, summary: str) -> None:
    verb = getattr(import_module(module), name)
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


def test_help_of_any_verb_imports_no_torch_or_extra() -> None:
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
    slow = [*EXTRAS, "fastapi"]
    ran = subprocess.run([sys.executable, "-c", code, *slow], capture_output=True, text=True, check=True)
    assert ran.stderr.strip() == ""
    assert ran.stdout.count("Usage: ") == len(GROUPS) + len(VERBS)


def test_the_version_is_that_of_the_distribution() -> None:
    assert semblance("--version").stdout == f"semblance {version('semblance-server')}\n"


@pytest.mark.parametrize(
    ("typed", "offered"), [("semblance comp", "compare"), ("semblance index reembed --pa", "--passages")]
)
def test_the_shell_completes_verbs_and_their_options(typed: str, offered: str) -> None:
    code = "from semblance.service.cli.main import app; app(prog_name='semblance')"
    environment = {"_SEMBLANCE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [offered]


@pytest.mark.parametrize("verb", [("collections", "--home"), ("backup", "b", "--home"), ("backup",)])
def test_an_empty_path_is_refused(verb: tuple[str, ...]) -> None:
    ran = semblance(*verb, "")
    assert ran.returncode == 2
    assert "it is empty, which would be the current folder" in ran.stderr


def test_help_after_a_file_is_that_of_the_default_verb() -> None:
    assert "index add [OPTIONS]" in semblance("index", "help.csv", "--help").stdout
    of_group = semblance("index", "--help").stdout
    assert "index FILE|FOLDER [OPTIONS] | COMMAND" in of_group
    assert all(part in of_group for part in ("rebuild  ", "--collection <str>", "--encoding <str>", "--home"))


def test_the_extras_name_the_packages_of_the_project_file() -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extra in ("models", "transport", "parquet", "calibrate", "mcp"):
        own = {package for name, package in EXTRAS.values() if name == extra}
        assert own == {each for each in extras[extra] if not each.startswith("semblance")}


def test_a_missing_package_of_an_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'mcp_types'", name="mcp_types")

    monkeypatch.setattr("semblance.service.cli.main.import_module", missing)
    ran = semblance("mcp")
    assert ran.returncode == 1
    assert ran.stderr == (
        "`semblance mcp` needs mcp, which is not installed: install the extra mcp, by scripts/install mcp in the "
        "folder of Semblance, or there by pip install ./assets ./clients/python '.[mcp]'\n"
    )


@pytest.mark.parametrize("verb", [("train",), ("origin", "score"), ("pairs", "tweets"), ("calibrate", "qqp_dev")])
def test_verbs_of_the_lab_name_it_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]) -> None:
    monkeypatch.setattr("semblance.service.cli.toolbox.lab.LAB", "semblance_lab_that_is_missing")
    ran = semblance(*verb)
    assert ran.returncode == 1
    assert "semblance-lab, which is not installed" in ran.stderr
    assert "scripts/install lab" in ran.stderr


def test_no_extra_names_a_distribution_of_ours_alone() -> None:
    """An index could serve a package of another author under such a name."""
    for file in (
        PROJECT / "pyproject.toml",
        PROJECT / "lab" / "pyproject.toml",
        PROJECT / "clients/python/pyproject.toml",
    ):
        extras = tomllib.loads(file.read_text("utf-8"))["project"].get("optional-dependencies", {})
        named = [each for packages in extras.values() for each in packages if each.startswith("semblance")]
        assert not [each for each in named if not each.startswith("semblance-server[")], file


def set_collection(collects: bool) -> None:
    gc.enable() if collects else gc.disable()


@pytest.mark.parametrize("collects", [True, False])
def test_loading_a_verb_leaves_garbage_collection_as_it_was(collects: bool) -> None:
    before = gc.isenabled()
    try:
        set_collection(collects)
        with without_collections():
            assert not gc.isenabled()
        assert gc.isenabled() == collects
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        set_collection(before)
