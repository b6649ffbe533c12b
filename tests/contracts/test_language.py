"""Docstrings, messages, comments and pages keep to plain English: the worst idioms of earlier releases stay out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.support.project import PROJECT

IDIOMS = re.compile(
    r"\banew\b|\bwill not do\b|\bfor ever\b|(?<!`)\bnobody\b|\bwhoever\b|\bwhat there is\b|\blets? go\b"
    r"|\bgoes? on with\b|\b(?:is|are) told\b|\bwhat .{1,30} comes? to\b|\bin the place of\b|\bso many\b"
    r"|\bgone on\b|\bsends? home\b",
    re.IGNORECASE,
)
CLAUSE = re.compile(r"(?:What|How|Who|That)\b")  # a docstring names what something is, in a noun
NEGATION = re.compile(r"(?<!there )\b(?:is|are|was|were) no (?!(?:longer|more|less|other|one)\b)[a-z]+", re.IGNORECASE)
TITLE = 90  # characters of the first line of a docstring
HERE = Path(__file__)
FILES = [
    file
    for folder in ("models", "service", "lab/semblance_lab", "clients", "benchmarks", "tests", "docs")
    for file in sorted((PROJECT / folder).rglob("*"))
    if file.suffix in (".py", ".md") and file != HERE and "results" not in file.parts
] + sorted(PROJECT.glob("*.md"))
SOURCE = [
    file
    for file in FILES
    if file.suffix == ".py" and file.relative_to(PROJECT).parts[0] in ("models", "service", "lab", "clients")
]


def test_no_text_uses_a_banned_idiom() -> None:
    found = [
        f"{file.relative_to(PROJECT)}:{number}: {match[0]}"
        for file in FILES
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        for match in IDIOMS.finditer(line)
    ]
    assert found == []


def test_the_check_finds_the_idioms() -> None:
    phrases = ("is built anew", "Nobody waits", "what a pass comes to", "so many tokens")
    assert [phrase for phrase in phrases if not IDIOMS.search(phrase)] == []


def test_docstrings_begin_with_a_short_line() -> None:
    titles = [(file, text.partition("\n")[0]) for file, text in _docstrings()]
    assert [f"{file}: {title}" for file, title in titles if len(title) > TITLE] == []


def test_docstrings_begin_with_a_noun_or_verb() -> None:
    assert [f"{file}: {text.partition(chr(10))[0]}" for file, text in _docstrings() if CLAUSE.match(text)] == []


def test_docstrings_negate_the_verb() -> None:
    found = [f"{file}: {match[0]}" for file, text in _docstrings() for match in NEGATION.finditer(text)]
    assert found == []
    assert NEGATION.search("the file is no table")
    assert not NEGATION.search("if there is no table")


@cache
def _docstrings() -> Sequence[tuple[Path, str]]:
    return [*_read_docstrings()]


def _read_docstrings() -> Iterator[tuple[Path, str]]:
    for file in SOURCE:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield file.relative_to(PROJECT), ast.get_docstring(node) or ""


def test_test_names_have_at_most_ten_words() -> None:
    names = [
        f"{file.relative_to(PROJECT)}: {name}"
        for file in FILES
        if file.name.startswith("test_")
        for name in re.findall(r"def (test_\w+)", file.read_text("utf-8"))
        if name.count("_") > 10
    ]
    assert names == []
