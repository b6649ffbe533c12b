"""Tests that a change can touch, by the imports between modules: what `scripts/test --changed` runs.

    python -m tests.support.changes HEAD

prints a file a line: the tests, and the modules with doctests, that import a changed module directly or through others.
A file that is not Python counts as imported by the tests that name it or a folder above it. All tests are chosen for a
file that none names, and for what the environment is made of.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp

from tests.support.project import PROJECT

PACKAGES = ("semblance", "semblance_lab", "semblance_client", "benchmarks", "tests")
ROOTS = {"semblance_client": "clients/python", "semblance_lab": "lab"}
FOLDERS = {"models/": "semblance/models/", "service/": "semblance/service/", "clients/python/": "", "lab/": ""}
EVERYTHING = (
    "pyproject.toml",
    "constraints.txt",
    "conftest.py",
    "tests/conftest.py",
    "scripts/install",
    "scripts/packages",
)
COMMANDS, LAB_COMMANDS = "semblance.service.cli", "semblance_lab.cli"
MAIN = f"{COMMANDS}.main"  # imports the module of a verb when it is called
FIXTURES = "tests.conftest"
PROGRAMS = "tests.clients.programs."  # run in environments of their own, by a test that names them
SOURCES = ("models", "service", "lab", "tests")  # folders whose names say nothing about a file in them


def main() -> None:
    """Run from the command line."""
    print(*chosen_files(_changed_files(sys.argv[1])), sep="\n")


def chosen_files(changed: list[str]) -> list[str]:
    """Arguments of pytest for changed files, given by their paths in the project."""
    graph = _graph()
    modules: set[str] = set()
    for path in changed:
        importers = graph.modules_of(path)
        if path in EVERYTHING or not importers:
            return ["semblance", "lab/semblance_lab", "tests"]
        modules |= importers
    return sorted(graph.tests(modules))


@cache
def _graph() -> _Graph:
    return _Graph()


class _Graph:
    """The imports of the project, also those by a name in a string or by a fixture."""

    def __init__(self) -> None:
        self._graph = grimp.build_graph(*PACKAGES)
        self._files = {module: file for module in self._graph.modules if (file := _file_of(module))}
        self._names: dict[str, set[str]] = defaultdict(set)  # modules of tests by parts of paths in their strings
        sources = {module: list(ast.walk(ast.parse(file.read_text("utf-8")))) for module, file in self._files.items()}
        fixtures = {node.name for node in sources[FIXTURES] if isinstance(node, ast.FunctionDef)}
        for module, nodes in sources.items():
            if module != MAIN and not module.startswith("semblance_client."):  # whose strings are names of fields
                for text in {str(node.value) for node in nodes if isinstance(node, ast.Constant)}:
                    self._add_named(module, text)
            if module.startswith("tests."):
                self._add_test(module, uses_fixtures=any(isinstance(n, ast.arg) and n.arg in fixtures for n in nodes))

    def _add_test(self, module: str, *, uses_fixtures: bool) -> None:
        folders = module.split(".")[:-1]
        for depth, folder in enumerate(folders[1:], start=2):
            self._names[folder].add(module)
            self._add(module, ".".join([*folders[:depth], "conftest"]))
        if uses_fixtures:
            self._add(module, FIXTURES)

    def _add(self, importer: str, imported: str) -> None:
        if importer != imported and imported in self._files:
            self._graph.add_import(importer=importer, imported=imported)

    def _add_named(self, module: str, text: str) -> None:
        self._add(module, text)
        for commands in (COMMANDS, LAB_COMMANDS):
            self._add(module, f"{commands}.{text}")
        if text in self._files and text != COMMANDS:
            for each in self._graph.find_children(text):  # a family, whose members are found by file name
                self._add(module, each)
        if module.startswith("tests."):
            for part in text.split("/"):
                self._names[part].add(module)

    def modules_of(self, path: str) -> set[str]:
        """A module itself, if it exists still; otherwise those that name the file or a folder above it."""
        module = _module_of(path)
        if module in self._graph.modules:
            return {module}
        return set().union(*(self._names[part] for part in Path(path).parts if part not in SOURCES))

    def tests(self, modules: set[str]) -> Iterator[str]:
        """Files of tests and of modules with doctests among modules and all that import them."""
        for module in modules.union(*map(self._graph.find_downstream_modules, modules)):
            file = self._files[module]
            is_test = file.name.startswith("test_") and not module.startswith(PROGRAMS)
            if is_test or module.startswith(("semblance.", "semblance_lab.")):
                yield str(file.relative_to(PROJECT))


def _module_of(path: str) -> str:
    for folder, package in FOLDERS.items():
        if path.startswith(folder):
            path = package + path.removeprefix(folder)
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _file_of(module: str) -> Path | None:
    path = PROJECT / ROOTS.get(module.partition(".")[0], "") / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _changed_files(since: str) -> list[str]:
    """Files that differ from a commit, and new ones that git does not ignore."""
    base = subprocess.check_output(["git", "merge-base", since, "HEAD"], cwd=PROJECT, text=True).strip()
    differing = subprocess.check_output(["git", "diff", "--name-only", base], cwd=PROJECT, text=True)
    new = subprocess.check_output(["git", "ls-files", "--others", "--exclude-standard"], cwd=PROJECT, text=True)
    return (differing + new).split()


if __name__ == "__main__":
    main()
