"""A small defect as an edit of one object's source, found by its qualified name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE_ROOTS = (".", "lab", "clients/python")  # folders of a project that packages are imported from


class Outdated(Exception):
    """The edit does not apply to the present source: the catalogue needs another one."""


@dataclass(frozen=True, slots=True)
class Defect:
    """A mistake in one place of the source, and the tests that should catch it.

    Attributes:
        name: the defect in plain words.
        place: qualified name of the function, class or constant that is changed.
        snippet: part of its source, which occurs there once.
        replacement: what replaces it.
        tests: arguments of pytest.
    """

    name: str
    place: str
    snippet: str
    replacement: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """A file with its text before and after."""

    file: Path
    before: str
    after: str


def edit_of(defect: Defect, project: Path) -> Edit:
    """The change that a defect makes in a project.

    Raises:
        Outdated: its place or its snippet is not there, or the changed file does not compile.
    """
    file, path = _file_of(defect.place, project)
    before = file.read_text("utf-8")
    first, last = _lines_of(path, before, defect.place)
    lines = before.splitlines(keepends=True)
    source = "".join(lines[first:last])
    if source.count(defect.snippet) != 1:
        raise Outdated(f"{defect.place} has {source.count(defect.snippet)} times: {defect.snippet}")
    after = "".join([*lines[:first], source.replace(defect.snippet, defect.replacement), *lines[last:]])
    try:
        changed = ast.dump(ast.parse(after)) != ast.dump(ast.parse(before))
    except SyntaxError as error:
        raise Outdated(f"{defect.place} does not compile with: {defect.replacement}") from error
    if not changed:
        raise Outdated(f"{defect.place} is the same with: {defect.replacement}")
    return Edit(file, before, after)


def _file_of(place: str, project: Path) -> tuple[Path, Sequence[str]]:
    """The module of a qualified name, and the names of the object inside; nothing is imported."""
    names = place.split(".")
    for root in SOURCE_ROOTS:
        for count in range(len(names) - 1, 0, -1):
            module = Path(project, root, *names[:count])
            for file in (module.with_suffix(".py"), module / "__init__.py"):
                if file.is_file():
                    return file, names[count:]
    raise Outdated(f"no module contains {place}")


def _lines_of(path: Sequence[str], text: str, place: str) -> tuple[int, int]:
    """First and one-past-last line of an object."""
    body: Sequence[ast.stmt] = ast.parse(text).body
    found: ast.stmt | None = None
    for name in path:
        found = next((each for each in body if name in _names(each)), None)
        if found is None:
            raise Outdated(f"{place} does not exist")
        body = getattr(found, "body", [])
    assert found is not None
    return found.lineno - 1, found.end_lineno or found.lineno


def _names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement defines."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Assign(targets=targets):
            yield from (each.id for each in targets if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
