"""What the documents say holds: their examples run, and their tables are those of the code."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.report import performance
from docs.generate import GENERATED, filled
from tests.soak import soak
from tests.support import pages
from tests.support.command_line import semblance
from tests.support.figures import Kept
from tests.support.project import PROJECT

README = (PROJECT / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"```bash\n(curl.*?)```\n\n```json\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("part", GENERATED)
def test_generated_parts_are_up_to_date(part: str) -> None:
    path, text = filled(part)
    assert path.read_text("utf-8") == text, "run scripts/docs"


@pytest.mark.parametrize("page", [performance, soak], ids=["performance", "soak"])
def test_a_page_of_figures_has_a_part_for_each_benchmark(page: ModuleType, tmp_path: Path) -> None:
    copy = tmp_path / page.PAGE.name
    copy.write_text(page.PAGE.read_text("utf-8"), "utf-8")
    for part in page.PARTS:
        figures = {"rates": [{"name": part.name, "per_s": 1234.5, "share": 0.12345}], "median": 7}
        made = Kept(f"python -m {part.module} --rows 7", "1999-12-31", "8 cores (abacus)", figures)
        pages.write(copy, part, made, [copy.parent / "images" / "a.png"])
    text = copy.read_text("utf-8")
    for part in page.PARTS:
        assert f"\n`python -m {part.module} --rows 7` on 1999-12-31: 8 cores (abacus).\n" in text
        tables = (
            "| figure | value |\n|---|---|\n| median | 7 |\n\n**rates**\n\n| name | per s | share |\n|---|---|---|\n"
        )
        assert (
            f"{tables}| {part.name} | 1,234 | 0.123 |\n\n![{part.title}](images/a.png)\n<!-- /{part.name} -->" in text
        )


def test_there_are_four_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize(("command", "shown"), EXAMPLES)
def test_the_curl_examples_answer_what_the_readme_shows(url: str, command: str, shown: str) -> None:
    ran = subprocess.run(
        ["bash", "-c", command.replace("http://127.0.0.1:8000", url)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert_shown(json_lines(shown), json_lines(ran.stdout))


CONSOLE = dict(re.findall(r"```console\n\$ semblance (.*)\n((?:.*\n)*?)```", README))


def test_the_figures_of_the_readme_are_what_evaluate_prints(data: Path) -> None:
    [(command, shown)] = [each for each in CONSOLE.items() if each[0].startswith("evaluate")]
    ran = semblance(*command.replace("DATA", str(data)).split())
    assert ran.returncode == 0, ran.stderr
    for line in shown.splitlines():
        name = line.split("│")[1]
        *_, printed = [each for each in ran.stdout.splitlines() if name in each]  # the last table has the figures
        numbers = [[float(each) for each in re.findall(r"\d+\.\d+", one)] for one in (line, printed)]
        assert numbers[1] == pytest.approx(numbers[0], abs=0.11)
        assert line.count("*") == printed.count("*")


def test_the_duplicates_of_the_readme_are_what_the_sample_has(url: str) -> None:
    [(command, shown)] = [each for each in CONSOLE.items() if each[0].startswith("duplicates")]
    ran = semblance(*command.split(), "--url", url)
    assert ran.returncode == 0, ran.stderr
    printed = iter(ran.stdout.splitlines())
    for line in shown.splitlines():
        assert any(each.startswith(line) for each in printed), line


def json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def assert_shown(shown: Any, answer: Any) -> None:
    """The example leaves fields out; what it does show is there, numbers to the digits shown."""
    match shown:
        case dict():
            for key, value in shown.items():
                assert_shown(value, answer[key])
        case list():
            assert len(shown) == len(answer)
            for one, other in zip(shown, answer, strict=True):
                assert_shown(one, other)
        case float():
            assert answer == pytest.approx(shown, abs=0.6 * 10 ** -len(str(shown).partition(".")[2]))
        case _:
            assert shown == answer


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
