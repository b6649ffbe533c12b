"""Does MTEB measure through the service what `semblance evaluate` measures?

    python -m benchmarks.quality.mteb_sts --data "$SEMBLANCE_DATA" --model minilm-words minilm --out runs/mteb

MTEB's seven English STS tasks whose pairs are among the benchmark data ask a running service for vectors, by the
encoder of docs/integrations.md, and MTEB's own result files are written to --out; `semblance evaluate` computes the
same cosines in its own process. Both print the Spearman correlation with the grades, in float32. It fails if they
differ in the fourth digit.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import cast

from rich.table import Table

from benchmarks.baselines.environments import child_environment, environment
from semblance.models.judgments.pairs import GradedPairs
from semblance_lab.cli.evaluate.data_sets import read_task
from tests.support.project import PROJECT
from tests.support.results import RESULTS, save_results
from tests.support.running_service import SEMBLANCE, running_service
from tests.support.wide_console import wide_console

MTEB = ("mteb",)
TASKS: Mapping[str, str] = {  # of MTEB -> set
    "STS12": "sts12",
    "STS13": "sts13",
    "STS14": "sts14",
    "STS15": "sts15",
    "STS16": "sts16",
    "STSBenchmark": "stsb",
    "SICK-R": "sickr",
}
MOST = 5e-5


def write_pairs(data: Path, folder: Path) -> None:
    """Write the pairs of each task as a table."""
    for task, name in TASKS.items():
        pairs = cast("GradedPairs", read_task(name, data))
        with (folder / f"{task}.tsv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, delimiter="\t")
            table.writerow(("sentence1", "sentence2", "score"))
            table.writerows(zip(pairs.left, pairs.right, pairs.gold, strict=True))


def by_mteb(url: str, model: str, pairs: Path, out: Path) -> dict[str, float]:
    """The figures that MTEB computes with the vectors of the service, by task."""
    python = str(environment("mteb", MTEB))
    words = (url, model, str(pairs), str(out))
    printed = output([python, "-m", "benchmarks.baselines.mteb_program", *words], child_environment())
    return cast("dict[str, float]", json.loads(printed.splitlines()[-1]))


def by_evaluate(model: str, data: Path) -> dict[str, float]:
    """The figures of `semblance evaluate`, by task."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        sets = ",".join(TASKS.values())
        words = ("--sets", sets, "--measure", "cosine", "--model", model, "--data", str(data), "--json", str(file))
        output([sys.executable, "-m", SEMBLANCE, "evaluate", *words], os.environ | {"SEMBLANCE_PRECISION": "float32"})
        outcomes = json.loads(file.read_text("utf-8"))["outcomes"]
    found = {outcome["set"]: float(outcome["figures"][0]["value"]) for outcome in outcomes}
    return {task: found[name] for task, name in TASKS.items()}


def output(command: Sequence[str], variables: Mapping[str, str]) -> str:
    """What a program prints.

    Raises:
        RuntimeError: it failed; the message holds the end of its errors.
    """
    ran = subprocess.run(command, cwd=PROJECT, env=variables, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(ran.stderr[-2000:])
    return ran.stdout


def main() -> None:
    """Print both figures of each model on each task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of benchmark data (docs/measures.md)")
    parser.add_argument("--model", nargs="+", default=["minilm-words", "minilm"], help="models to serve")
    parser.add_argument("--out", type=Path, default=RESULTS / "mteb", help="folder of MTEB's result files")
    options = parser.parse_args()
    with TemporaryDirectory() as folder, running_service(models=",".join(options.model), precision="float32") as url:
        write_pairs(options.data, Path(folder))
        served = {model: by_mteb(url, model, Path(folder), options.out.resolve()) for model in options.model}
    figures = {model: {"mteb": served[model], "evaluate": by_evaluate(model, options.data)} for model in options.model}
    table = Table("task", *(f"{model}, {by}" for model in options.model for by in ("MTEB", "semblance evaluate")))
    for task in TASKS:
        table.add_row(task, *(f"{100 * each[task]:.4f}" for found in figures.values() for each in found.values()))
    table.add_row(
        "mean", *(f"{100 * fmean(each.values()):.4f}" for found in figures.values() for each in found.values())
    )
    wide_console().print(table)
    save_results("mteb_sts", figures)
    if any(abs(each["mteb"][task] - each["evaluate"][task]) >= MOST for each in figures.values() for task in TASKS):
        raise SystemExit("the figures differ in the fourth digit")


if __name__ == "__main__":
    main()
