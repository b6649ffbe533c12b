"""What is each part of the training of the default model worth?

    python -m benchmarks.quality.default_model --data "$SEMBLANCE_DATA" --wordnet /usr/share/wordnet --out runs/default

trains the adapter of `minilm-words` by its recipe, and again without one part at a time, evaluates every model on the
panel, and prints for each the mean difference to `minilm` and the set that loses most. It takes hours. What is complete
is not done again, so that the same call resumes an interrupted run; `--only` runs some of the variants.

The rows are the triplets of MultiNLI; the running texts are public-domain books and speeches, Wikipedia, and glosses of
WordNet, whose folder holds `data.noun`, `data.verb` and `data.adj` of WordNet 3.0, as in Debian's package wordnet-base.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from rich.table import Table

from tests.support.project import PROJECT
from tests.support.results import save_results
from tests.support.running_service import SEMBLANCE
from tests.support.wide_console import wide_console

RECIPE = PROJECT / "service" / "adapters" / "minilm_words" / "recipe.yaml"
TRIPLETS = ("nli/triplets.tsv", "nli/triplets_extra.tsv")
RUNNING_TEXT = ("gutenberg", "state_union", "inaugural", "wikitext2_valid", "wikitext2_test")
WORDNET = ("data.noun", "data.verb", "data.adj")
GLOSS_STEP = 4  # every fourth gloss, so that there are about as many as other running texts
MEASURES = ("cosine", "rcmd", "rcmd_words")


@dataclass(frozen=True, slots=True)
class Variant:
    """A training run that differs from the recipe.

    Attributes:
        settings: that replace those of the recipe; None removes one.
        rows: file of the triplets.
        wordnet: whether glosses are among the running texts.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: str = "multinli.tsv"
    wordnet: bool = True


VARIANTS: Mapping[str, Variant] = {
    "recipe": Variant(),
    "another seed": Variant({"seed": 1}),
    "all triplets": Variant(rows="triplets.tsv"),
    "with special tokens": Variant({"special_tokens": True}),
    "without kept vectors": Variant({"keep": None}),
    "without glosses": Variant(wordnet=False),
    "without aligned words": Variant({"align": None}),
    "the whole update": Variant({"low_rank": {"rank": 32, "alpha": 32}}),
}


def write_inputs(data: Path, wordnet: Path, out: Path) -> None:
    """Write the triplets, all and of MultiNLI alone, and the glosses."""
    (header, *first), (_, *more) = ((data / name).read_text("utf-8").splitlines() for name in TRIPLETS)
    rows = [*first, *more]
    multinli = [row for row in rows if "mnli" in row.split("\t")[3]]
    glosses = [gloss for name in WORDNET for gloss in read_glosses(wordnet / name)]
    for name, lines in (
        ("triplets.tsv", [header, *rows]),
        ("multinli.tsv", [header, *multinli]),
        ("glosses.txt", glosses[GLOSS_STEP - 1 :: GLOSS_STEP]),
    ):
        (out / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def read_glosses(file: Path) -> list[str]:
    """Lines such as `dog: a member of the genus Canis ...` of a file of WordNet's format `wndb`."""
    lines = [line.split(" | ", 1) for line in file.read_text("utf-8").splitlines() if not line.startswith(" ")]
    words = [synset.split(" ")[4].partition("(")[0].replace("_", " ") for synset, _ in lines]
    return [f"{word}: {gloss.strip()}" for word, (_, gloss) in zip(words, lines, strict=True)]


def settings_of(variant: Variant) -> Mapping[str, Any]:
    """The settings of the recipe with those of the variant."""
    settings = {**yaml.safe_load(RECIPE.read_text("utf-8")), **variant.settings}
    return {name: each for name, each in settings.items() if each is not None}


def train(name: str, data: Path, out: Path) -> Path:
    """Train a variant unless it is complete."""
    variant, folder = VARIANTS[name], out / name.replace(" ", "_")
    if folder.exists():
        return folder
    config, settings = folder.with_suffix(".yaml"), settings_of(variant)
    config.write_text(yaml.safe_dump(settings), "utf-8")
    kept = [str(data / "text" / f"{each}.jsonl") for each in RUNNING_TEXT]
    kept += [str(out / "glosses.txt")] if variant.wordnet else []
    keep = [] if "keep" not in settings else [part for each in kept for part in ("--keep", each)]
    rows = ["--rows", str(out / variant.rows), "--config", str(config), "--exclude", "evaluation"]
    run("train", "clrcmd", *rows, *keep, "--out", str(folder))
    return folder


def evaluate(model: str, data: Path, sets: str, file: Path) -> Mapping[str, Mapping[str, float]]:
    """Measure -> set -> difference to `minilm`, of its first figure; from the file if it is complete."""
    if not file.exists():
        options = ["--model", model, "--against", "minilm", "--measure", ",".join(MEASURES), "--draws", "500"]
        run("evaluate", "--sets", sets, *options, "--data", str(data), "--json", str(file))
    outcomes = json.loads(file.read_text("utf-8"))["outcomes"]
    differences: dict[str, dict[str, float]] = {measure: {} for measure in MEASURES}
    for each in outcomes:
        if each["set"] != "panel_mean":
            differences[each["measure"]][each["set"]] = each["against"]["value"]
    return differences


def run(*arguments: str) -> None:
    """Run `semblance`; exits if it fails."""
    if subprocess.run([sys.executable, "-m", SEMBLANCE, *arguments], check=False).returncode:
        sys.exit(f"failed: semblance {' '.join(arguments)}")


def row(name: str, differences: Mapping[str, Mapping[str, float]]) -> Mapping[str, Any]:
    """The figures of a variant, times 100."""
    figures: dict[str, Any] = {"variant": name, "sets": len(differences[MEASURES[0]])}
    for measure, of_sets in differences.items():
        least, at = min((value, each) for each, value in of_sets.items())
        figures[f"mean, {measure}"] = f"{100 * np.mean(list(of_sets.values())):+.2f}"
        figures[f"least, {measure}"] = f"{100 * least:+.2f} {at}"
    return figures


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the table."""
    table = Table(*rows[0], title="differences to minilm, times 100")
    for each in rows:
        table.add_row(*map(str, each.values()))
    wide_console().print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks, as for semblance evaluate")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder with WordNet's files data.noun and others")
    parser.add_argument("--out", type=Path, required=True, help="output folder")
    parser.add_argument("--only", nargs="+", choices=list(VARIANTS), default=list(VARIANTS), help="variants to train")
    parser.add_argument("--sets", default="panel", help="sets to evaluate on, as for semblance evaluate")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    write_inputs(options.data, options.wordnet, out)
    rows = []
    for name in options.only:
        folder = train(name, options.data, out)
        rows.append(row(name, evaluate(str(folder), options.data, options.sets, folder.with_suffix(".json"))))
    show(rows)
    save_results("default_model", rows)


if __name__ == "__main__":
    main()
