"""The nightly run, in miniature."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.soak.nightly import Step, default_steps, run_steps
from tests.support.project import PROJECT

HANGS = "import time; print('begun', flush=True); time.sleep(600)  # is killed"


def step(name: str, program: str, most_s: float = 600) -> Step:
    return Step(name, [sys.executable, "-c", program], {"FIGURE": "0.99"}, most_s)


def test_every_step_runs_and_one_report_tells_the_results(tmp_path: Path) -> None:
    report = tmp_path / "nightly" / "report.md"
    fails = step("fails", "import sys; print('to stderr', file=sys.stderr); sys.exit(3)")
    passes = step("passes", "import os; print('recall', os.environ['FIGURE'])")
    assert not run_steps([fails, step("hangs", HANGS, most_s=0.1), passes], report)
    page = report.read_text("utf-8")
    for row in ("| fails | FAIL: status 3 | 0.", "| hangs | FAIL: it hung | ", "| passes | pass | "):
        assert row in page
    for output in ("## fails\n\n```\nto stderr\n```", "## passes\n\n```\nrecall 0.99\n```"):
        assert output in page
    assert run_steps([passes], report)


def test_the_steps_are_programs_of_the_project() -> None:
    steps = default_steps()
    assert len({each.name for each in steps}) == len(steps)
    for each in steps:
        program, *rest = each.command
        if program == sys.executable and rest[1] != "pytest":
            assert (PROJECT / rest[1].replace(".", "/")).with_suffix(".py").is_file(), each
        elif program != sys.executable:
            assert (PROJECT / program).is_file(), each
