"""Does MTEB measure through the service what `semblance evaluate` measures?

    python -m benchmarks.quality.mteb_sts --data "$SEMBLANCE_DATA"

MTEB's task STSBenchmark, with the pairs of --data, asks a running service for vectors, by the encoder of
docs/integrations.md; `semblance evaluate` computes the same cosines in its own process. Both print the Spearman
correlation with the grades, in float32. It fails if they differ in the fourth digit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.table import Table

from benchmarks.baselines.environments import child_environment, environment
from tests.support.project import PROJECT
from tests.support.results import save_results
from tests.support.running_service import SEMBLANCE, running_service
from tests.support.wide_console import wide_console

MTEB = ("mteb",)
MODELS = ("minilm-words", "minilm")
MOST = 5e-5


def by_mteb(url: str, model: str, file: Path) -> float:
    """The figure that MTEB computes with the vectors of the service."""
    python = str(environment("mteb", MTEB))
    printed = output([python, "-m", "benchmarks.baselines.mteb_program", url, model, str(file)], child_environment())
    return float(printed.splitlines()[-1])


def by_evaluate(model: str, data: Path) -> float:
    """The figure of `semblance evaluate`."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        words = ("--sets", "stsb", "--measure", "cosine", "--model", model, "--data", str(data), "--json", str(file))
        output([sys.executable, "-m", SEMBLANCE, "evaluate", *words], os.environ | {"SEMBLANCE_PRECISION": "float32"})
        [outcome] = json.loads(file.read_text("utf-8"))["outcomes"]
    return float(outcome["figures"][0]["value"])


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
    """Print both figures of each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of benchmark data (docs/measures.md)")
    options = parser.parse_args()
    file = options.data / "stsb" / "stsb.test.tsv"
    with running_service(models=",".join(MODELS), precision="float32") as url:
        figures = {name: {"mteb": by_mteb(url, name, file)} for name in MODELS}
    for name in MODELS:
        figures[name]["evaluate"] = by_evaluate(name, options.data)
    table = Table("model", "MTEB, through the service", "semblance evaluate")
    for name, each in figures.items():
        table.add_row(name, f"{each['mteb']:.6f}", f"{each['evaluate']:.6f}")
    wide_console().print(table)
    save_results("mteb_sts", figures)
    if any(abs(each["mteb"] - each["evaluate"]) >= MOST for each in figures.values()):
        raise SystemExit("the figures differ in the fourth digit")


if __name__ == "__main__":
    main()
