"""What the documents say holds: their examples run, and their tables are those of the code."""

from __future__ import annotations

import posixpath
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx2
import pytest
from bs4 import BeautifulSoup

from benchmarks.report import performance, scores
from docs import architecture
from docs.generate import GENERATED, filled
from semblance.service.rendering.html.help_pages import CONTENTS, HelpPages
from tests.soak import run_all
from tests.support import report_pages
from tests.support.command_line import semblance
from tests.support.project import PROJECT
from tests.support.results import Results

PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)


@pytest.mark.parametrize("part", GENERATED)
def test_generated_parts_are_up_to_date(part: str) -> None:
    path, text = filled(part)
    assert path.read_text("utf-8") == text, "run scripts/docs"


def test_the_picture_of_the_architecture_is_up_to_date() -> None:
    assert architecture.PICTURE.read_text("utf-8") == architecture.picture(), "run scripts/docs"


@pytest.mark.parametrize(("folder", "layers"), [("service", architecture.SERVICE), ("models", architecture.MODELS)])
def test_the_picture_of_the_architecture_shows_every_package(folder: str, layers: list[list[str]]) -> None:
    packages = {file.parent.name for file in (PROJECT / folder).glob("*/__init__.py")}
    assert sorted(name for layer in layers for name in layer) == sorted(packages)


def test_the_picture_has_the_layers_of_the_import_contract() -> None:
    contracts = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    [layers] = [each["layers"] for each in contracts if each.get("containers") == ["semblance.models"]]
    drawn = [name for layer in architecture.MODELS for name in layer]
    enforced = [name for layer in layers for name in layer.split(" | ")]
    assert [name for name in enforced if name in drawn] == drawn


def test_links_of_the_pages_lead_to_pages_and_headings() -> None:
    help_pages = HelpPages(PROJECT)
    pages = {name: BeautifulSoup(help_pages.html(name, "style.css") or "", "html.parser") for name in help_pages.names}
    anchors = {name: {tag["id"] for tag in page.find_all(id=True)} for name, page in pages.items()}
    broken, reached = [], {CONTENTS}
    for name, page in pages.items():
        for tag, attribute in [("a", "href"), ("img", "src")]:
            for found in page.select(f"main {tag}"):
                path, _, anchor = str(found.get(attribute)).partition("#")
                target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
                if not re.match(r"[a-z]+:", path) and target not in help_pages.pictures:
                    reached.add(target)
                    if target not in pages or (anchor and anchor not in anchors[target]):
                        broken.append(f"{name}: {found.get(attribute)}")
    assert broken == []
    contents = {posixpath.normpath(f"docs/{tag['href']}") for tag in pages[CONTENTS].select("main a")}
    assert set(pages) - contents - {CONTENTS} <= {name for name in pages if name.startswith("docs/decisions/")}


def test_the_service_shows_the_documentation_and_searches_it(http: httpx2.Client) -> None:
    first = http.get("/help", follow_redirects=True)
    assert (first.status_code, first.url.path) == (200, f"/help/{CONTENTS}")
    for address in ("/help/", "/help/docs", "/help/docs/"):  # the playground links to the first
        assert http.get(address, follow_redirects=True).url.path == f"/help/{CONTENTS}"
    assert http.get("/help/scores", follow_redirects=True).url.path == "/help/docs/scores"
    assert "script-src" not in first.headers["content-security-policy"]
    page = BeautifulSoup(http.get("/help/docs/search").text, "html.parser")
    [style] = [http.get(posixpath.normpath(f"/help/docs/{each['href']}")) for each in page.select("link")]
    assert style.headers["content-type"].startswith("text/css")
    assert page.find(id="text-fields")
    found = BeautifulSoup(http.get("/help/", params={"q": "parcel <b> never"}).text, "html.parser")
    assert [each.get_text() for each in found.select("h1")] == ["“parcel <b> never”"]
    hits = BeautifulSoup(http.get("/help/", params={"q": "excel encoding"}).text, "html.parser")
    address = str(hits.select("main a")[0]["href"])
    assert http.get(f"/help/{address.partition('#')[0]}").status_code == 200
    assert http.get("/help/docs/images/explanation.png").headers["content-type"] == "image/png"
    for absent in ("absent", "docs/../pyproject.toml", "pyproject.toml", "%2e%2e/pyproject.toml"):
        assert http.get(f"/help/{absent}").status_code == 404


@pytest.mark.parametrize("page", [performance, scores, run_all], ids=["performance", "scores", "run_all"])
def test_a_page_of_figures_has_a_part_for_each_benchmark(page: ModuleType, tmp_path: Path) -> None:
    copy = tmp_path / page.PAGE.name
    copy.write_text(page.PAGE.read_text("utf-8"), "utf-8")
    for part in page.SECTIONS:
        figures = {"rates": [{"name": part.name, "per_s": 1234.5, "share": 0.12345}], "median": 7}
        made = Results(f"python -m {part.module} --rows 7", "1999-12-31", "8 cores (abacus)", figures)
        report_pages.write_section(copy, part, made, [copy.parent / "images" / "a.png"])
    text = copy.read_text("utf-8")
    for part in page.SECTIONS:
        assert f"\n`python -m {part.module} --rows 7` on 1999-12-31: 8 cores (abacus).\n" in text
        assert f"| {part.name} | 1,234 | 0.123 |\n\n![{part.title}](images/a.png)\n<!-- /{part.name} -->" in text


CONSOLE = dict(re.findall(r"```console\n\$ semblance (.*)\n((?:.*\n)*?)```", TEXT))


@pytest.mark.nightly
@pytest.mark.parametrize("model", ["minilm-graded", "minilm"])
def test_evaluate_prints_the_figures_of_the_readme(data: Path, model: str) -> None:
    [(command, shown)] = [each for each in CONSOLE.items() if each[0].startswith("evaluate")]
    ran = semblance(*command.replace("DATA", str(data)).split(), "--model", model)
    assert ran.returncode == 0, ran.stderr
    printed = [figures(line) for line in ran.stdout.splitlines()[4:8]]  # of the first table
    section = TEXT.partition("## How good is it?")[2].partition("\n## ")[0]
    [row] = re.findall(rf"^\| `{model}` \|(.*)\|$", section, re.MULTILINE)
    for cell, expected in zip(row.split("|"), printed, strict=True):
        assert figures(cell) == pytest.approx(expected, abs=0.11)
    if model == "minilm-graded":
        assert [figures(line) for line in shown.splitlines()] == [pytest.approx(each, abs=0.11) for each in printed]


def figures(line: str) -> list[float]:
    """The numbers with decimals in a line: a score and its interval."""
    return [float(each) for each in re.findall(r"\d+\.\d+", line)]


def test_the_duplicates_of_the_readme_are_what_the_sample_has(url: str) -> None:
    [(command, shown)] = [each for each in CONSOLE.items() if each[0].startswith("duplicates")]
    ran = semblance(*command.split(), "--url", url)
    assert ran.returncode == 0, ran.stderr
    printed = iter(ran.stdout.splitlines())
    for line in shown.splitlines():
        assert any(each.startswith(line) for each in printed), line


def test_every_code_that_the_api_documents_stands_in_the_table(http: Any) -> None:
    table = (PROJECT / "docs" / "errors.md").read_text("utf-8")
    described = http.get("/openapi.json").json()
    found = set()
    for route in described["paths"].values():
        for operation in route.values():
            for status, answer in operation["responses"].items():
                if status.startswith("4") or status == "503":
                    found |= set(re.findall(r"`(\w+)`", answer["description"]))
    assert len(found) > 10
    assert all(f"`{code}`" in table for code in found)


def test_no_document_links_to_a_file_that_is_not_there() -> None:
    for file in [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", file.read_text("utf-8")):
            assert (file.parent / target).exists(), f"{file.name} links to {target}"


def test_no_page_installs_another_project_of_this_name() -> None:
    """The name on the public index belongs to another tool; the distribution is semblance-server."""
    for file in [*PAGES, *PROJECT.glob("*.md"), PROJECT / "Dockerfile", *(PROJECT / "scripts").iterdir()]:
        assert not re.search(
            r"(pip install|uvx|pipx run|uv tool install) +semblance(?!-server)\b", file.read_text("utf-8")
        ), file
