"""The folders keep their order: what is flat, how much a folder lists, where tests are, one name for one class."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from pathlib import Path

from tests.support.project import PROJECT

NOUNS = {"text", "embeddings", "explanation", "nearest_passages", "protocols", "runtime", "errors", "catalogue"}
MAX_MODULES = 12
FAMILIES = {  # one method a file, found by its name
    "models/measures",
    "models/weightings",
    "models/projections",
    "models/formats",
    "models/runtimes",
    "lab/semblance_lab/evaluation/reproductions",
    "lab/semblance_lab/training/objectives",
    "lab/semblance_lab/training/recipes",
    "service/indexes/engines",
    "clients/python/semblance_client/vocabulary",
    "service/api/routes",
    "service/cli",
}
MAX_CODE_LINES = 250
EMPTY = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def modules(*folders: str) -> list[Path]:
    return [
        file.relative_to(PROJECT)
        for folder in folders
        for file in sorted((PROJECT / folder).rglob("*.py"))
        if file.name != "__init__.py"
    ]


SOURCE = modules("models", "service", "lab/semblance_lab")
CLIENTS = modules(
    "clients/python/semblance_client",
    "clients/langchain/langchain_semblance",
    "clients/litellm/litellm_semblance",
    "clients/llama_index/llama_index_semblance",
)


def test_models_holds_seven_modules_and_packages() -> None:
    assert {file.stem for file in SOURCE if file.parent == Path("models")} == NOUNS


def test_a_folder_lists_few_modules_unless_it_is_a_family() -> None:
    listed = defaultdict(list)
    for file in SOURCE + CLIENTS:
        listed[file.parent.as_posix()].append(file.name)
    crowded = {folder: len(names) for folder, names in listed.items() if len(names) > MAX_MODULES}
    assert crowded.keys() <= FAMILIES, crowded
    assert listed.keys() >= FAMILIES


def test_requests_compute_in_turns() -> None:
    """Pools of asyncio serve first who came first: `in_thread` and `draw` of service/turns.py take turns."""
    files = modules("service/usecases", "service/api", "service/rendering")
    pools = re.compile(r"\bto_thread\b|\brun_in_executor\b")
    assert [file.as_posix() for file in files if pools.search((PROJECT / file).read_text("utf-8"))] == []


def test_no_timeout_loses_a_cancellation() -> None:
    """`asyncio.wait_for` of Python 3.11 swallows it if what it waits for is done already."""
    found = [file.as_posix() for file in SOURCE if "asyncio.wait_for(" in (PROJECT / file).read_text("utf-8")]
    assert found == []


def test_tests_mirror_the_packages() -> None:
    packages = {file.relative_to("tests").parent for file in modules("tests/models", "tests/service")}
    packages |= {"lab/semblance_lab" / file.relative_to("tests/lab").parent for file in modules("tests/lab")}
    assert [str(each) for each in sorted(packages) if not (PROJECT / each / "__init__.py").is_file()] == []


def test_a_module_has_few_lines_of_code() -> None:
    lines = {file.as_posix(): code_lines((PROJECT / file).read_text("utf-8")) for file in SOURCE + CLIENTS}
    assert {file: count for file, count in lines.items() if count > MAX_CODE_LINES} == {}


def test_a_class_name_means_one_thing() -> None:
    """Schemas name what clients see, and members of a family are named by their file."""
    places = defaultdict(list)
    for file in SOURCE:
        if file.parent.as_posix() not in FAMILIES:
            for node in ast.walk(ast.parse((PROJECT / file).read_text("utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(file.as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_the_page_of_places_names_files_that_exist() -> None:
    page = (PROJECT / "tests" / "contracts" / "where_things_are.md").read_text("utf-8")
    places = re.findall(r"`((?:models|service|lab)/[\w/.]+)`", page)
    assert len(places) >= 10
    assert [place for place in places if not (PROJECT / place).exists()] == []


def test_benchmarks_import_test_support_and_never_the_reverse() -> None:
    imports = re.compile(r"^\s*(?:from|import) benchmarks\b", re.MULTILINE)
    files = modules("tests/support", "tests/soak", "tests/models", "tests/service", "tests/lab", "tests/contracts")
    assert [str(file) for file in files if imports.search((PROJECT / file).read_text("utf-8"))] == []


def code_lines(source: str) -> int:
    """Lines that are neither blank, comment nor docstring."""
    documented = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {line for token in tokens if token.type not in EMPTY for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - documented)
