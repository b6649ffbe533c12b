"""Run everything that needs hours, or a machine of its own, and write one report; scripts/nightly.

    python -m tests.soak.nightly --only bounds faults

runs each step in a process of its own, whatever became of the others. The exit code is 1 if one has failed.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak import run_all
from tests.support.project import PROJECT

REPORT = PROJECT / "build" / "nightly" / "report.md"
MAX_LINES = 100  # of the output of a step in the report; all of it is in a file beside it


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and the seconds after which it counts as hanging."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    most_s: float = 3 * 3600


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a step."""

    step: Step
    status: int | None
    seconds: float
    output: str

    @property
    def result(self) -> str:
        return {0: "pass", None: "FAIL: it hung"}.get(self.status, f"FAIL: status {self.status}")


def default_steps() -> list[Step]:
    soak = [
        Step(each.name, [sys.executable, "-m", each.module, *map(os.path.expandvars, each.options)])
        for each in run_all.SECTIONS
    ]
    faults = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/soak/test_faults.py"]
    return [
        Step("bounds", ["scripts/bench", "bounds.check"]),
        *soak,
        Step("stateless_faults", [sys.executable, "-m", "tests.soak.faults", "--stateless"]),
        Step("each_fault", faults, {"LONG_FAULTS": "1", "OMP_NUM_THREADS": "1"}),
        Step("tests", ["scripts/test", "-m", "nightly"]),
        Step("defects", ["scripts/defects"]),
    ]


def run_steps(steps: Sequence[Step], report: Path) -> bool:
    """Run all steps, with a report after each; returns whether all passed."""
    report.parent.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    for step in steps:
        print(f"== {step.name}: {' '.join(step.command)}", flush=True)
        outcomes.append(_run(step, report.with_name(f"{step.name}.log")))
        print(outcomes[-1].result, flush=True)
        report.write_text(_page(outcomes), "utf-8")
    return all(each.status == 0 for each in outcomes)


def _run(step: Step, log: Path) -> Outcome:
    began = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            step.command,
            cwd=PROJECT,
            env=os.environ | step.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        status: int | None
        try:
            status = process.wait(step.most_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = None
    return Outcome(step, status, time.monotonic() - began, log.read_text("utf-8", "replace"))


def _page(outcomes: Sequence[Outcome]) -> str:
    machine = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
    lines = [f"# Nightly run of {time.strftime('%Y-%m-%d')}", "", f"{machine}.", ""]
    lines += ["| step | result | minutes |", "|---|---|---|"]
    lines += [f"| {each.step.name} | {each.result} | {each.seconds / 60:.1f} |" for each in outcomes]
    for each in outcomes:
        shown = [line.rstrip() for line in each.output.splitlines()[-MAX_LINES:]]
        lines += ["", f"## {each.step.name}", "", "```", *shown, "```"]
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str] | None = None) -> None:
    steps = default_steps()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[step.name for step in steps], help="run only these steps")
    options = parser.parse_args(arguments)
    sys.exit(not run_steps([step for step in steps if options.only is None or step.name in options.only], REPORT))


if __name__ == "__main__":
    main()
