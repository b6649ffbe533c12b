"""Recipes without one part at a time: their settings, their figures beside those of the base, and the table."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.table import Table

from tests.support.running_service import SEMBLANCE
from tests.support.wide_console import wide_console

MEASURES = ("cosine", "rcmd", "rcmd_words")


def read_options(description: str | None, names: Sequence[str]) -> argparse.Namespace:
    """Read the command line of an ablation, whose runs have these names, and create its output folder."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks, as for semblance evaluate")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with WordNet's files data.noun and others")
    parser.add_argument("--out", type=Path, required=True, help="output folder")
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="what to train and evaluate")
    parser.add_argument("--sets", default="panel", help="sets to evaluate on, as for semblance evaluate")
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    return options


def settings_of(recipe: Path, changes: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of a recipe's file with others; None removes one."""
    settings = {**yaml.safe_load(recipe.read_text("utf-8")), **changes}
    return {name: each for name, each in settings.items() if each is not None}


def train(
    folder: Path, settings: Mapping[str, Any], data: Path, rows: Path, texts: Sequence[str], recipe: str = "clrcmd"
) -> Path:
    """Train a model unless its folder exists.

    Args:
        folder: of the model; its settings are written beside it.
        settings: of the recipe.
        data: folder with benchmarks, whose texts are left out.
        rows: file of the training rows.
        texts: options for the texts of further losses.
        recipe: its name.
    """
    if not folder.exists():
        config = folder.with_suffix(".yaml")
        config.write_text(yaml.safe_dump(dict(settings)), "utf-8")
        options = ["--rows", str(rows), *texts, "--config", str(config), "--exclude", "evaluation"]
        run("train", recipe, *options, "--data", str(data), "--out", str(folder))
    return folder


def differences(model: str, out: Path, base: str, sets: str, data: Path) -> Mapping[str, Mapping[str, float]]:
    """Measure -> set -> difference of its first figure to that of the base; from `out`.json if it is complete."""
    file = out.with_suffix(".json")
    if not file.exists():
        options = ["--model", model, "--against", base, "--measure", ",".join(MEASURES), "--draws", "500"]
        run("evaluate", "--sets", sets, *options, "--data", str(data), "--json", str(file))
    found: dict[str, dict[str, float]] = {measure: {} for measure in MEASURES}
    for each in json.loads(file.read_text("utf-8"))["outcomes"]:
        if each["set"] != "panel_mean":
            found[each["measure"]][each["set"]] = each["against"]["value"]
    return found


def run(*arguments: str) -> None:
    """Run `semblance`; exits if it fails."""
    if subprocess.run([sys.executable, "-m", SEMBLANCE, *arguments], check=False).returncode:
        sys.exit(f"failed: semblance {' '.join(arguments)}")


def row(name: str, figures: Mapping[str, Mapping[str, float]]) -> Mapping[str, Any]:
    """The mean difference and the least of a variant by each measure, times 100."""
    shown: dict[str, Any] = {"variant": name, "sets": len(figures[MEASURES[0]])}
    for measure, of_sets in figures.items():
        least, at = min((value, each) for each, value in of_sets.items())
        shown[f"mean, {measure}"] = f"{100 * np.mean(list(of_sets.values())):+.2f}"
        shown[f"least, {measure}"] = f"{100 * least:+.2f} {at}"
    return shown


def show(rows: Sequence[Mapping[str, Any]], base: str) -> None:
    """Print the table."""
    table = Table(*rows[0], title=f"differences to {base}, times 100")
    for each in rows:
        table.add_row(*map(str, each.values()))
    wide_console().print(table)
