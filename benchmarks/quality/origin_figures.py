"""Which claims of Origin hold at the scale of a laptop?

    python -m benchmarks.quality.origin_figures "$SEMBLANCE_DATA/text" --out runs/origin-figures

runs every command that the figures of docs/origin.md come from, one after the other: Origin on the whole corpus and
on a tenth of it, its ablations, a harvest, and surrogates from several starts and of several numbers of pairs. It takes
hours. What a command printed lies in `NAME.log`, its figures in `NAME.json`; a command that has come to its end is not
run again, so the same call goes on where it was cut off. Prints all figures, and how long each command took.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.table import Table

from tests.support.figures import keep
from tests.support.wide_console import wide_console

SEMBLANCE = "semblance.service.cli.main"
SHARDS = 2  # of the harvest, at the same time
PAIRS = 5_600  # harvested, of which 5,000 or so are left to train on
SPLIT = ("--dev", "0.05", "--test", "0.06")  # a hundredth would be three bundles, too few for an interval
STARTS = ("scratch", "static", "minilm")
SIZES = (1_000, 2_500, 5_000)  # pairs that surrogates learn from
DEV, TEST = "stsb_dev", "stsb"
EVERY, FEW = "10000", "20"  # pairs of a set, and contexts with which Origin scores them all


@dataclass(frozen=True, slots=True)
class Step:
    """Programs that run at the same time, each as `python -m` takes it, with their name among the steps."""

    name: str
    programs: Sequence[tuple[str, ...]]


def steps(texts: str, out: Path, form: str, pairs: tuple[int, int, int]) -> Iterator[Step]:
    """All commands in order.

    Args:
        texts: the folder of the corpus.
        out: where everything lies.
        form: of the similarity that ablations are made of and surrogates learn.
        pairs: how many of the dev set, of the test set and, with 500 contexts, of the dev set Origin scores.
    """
    full, tenth = str(out / "full"), str(out / "tenth")
    ablated, tested, wide = map(str, pairs)
    yield from _trained(out, "full", texts, {"coherence": {"epochs": 2}})
    yield from _trained(out, "tenth", texts, {"coherence": {"epochs": 2}, "corpus": {"share": 0.1}})
    chosen = _given(sets=DEV, pairs=ablated, form=form)
    yield _semblance("full-dev", "origin", "evaluate", full, *chosen, *_json(out, "full-dev"))
    both = _given(variants="centred,random_centred,cosine,random_cosine")
    yield _semblance("tenth-dev", "origin", "evaluate", tenth, *chosen, *both, *_json(out, "tenth-dev"))
    many = _given(sets=TEST, pairs=tested)
    yield _semblance("full-test", "origin", "evaluate", full, *many, *both, *_json(out, "full-test"))
    whole = _given(sets=TEST, pairs=EVERY, size=FEW)
    yield _semblance("whole-test", "origin", "evaluate", full, *whole, *both, *_json(out, "whole-test"))
    sized = _given(variants="contexts_500,contexts_100,contexts_20,random", size="500")
    some = _given(sets=DEV, pairs=wide, form=form)
    yield _semblance("wide-dev", "origin", "evaluate", full, *some, *sized, *_json(out, "wide-dev"))
    harvested, drawn = str(out / "harvest"), str(out / "pairs")
    shards = [_given(out=harvested, pairs=str(PAIRS), shard=f"{i}/{SHARDS}") for i in range(1, SHARDS + 1)]
    yield Step("harvest", [(SEMBLANCE, "harvest", full, *shard) for shard in shards])
    yield _semblance("pairs", "pairs", "harvest", harvested, *_given(out=drawn, form=form), *SPLIT)
    for by in STARTS[:2]:
        yield _semblance(f"start-{by}", "origin", "start", full, *_given(by=by, out=str(out / f"start-{by}")))
    for by in STARTS:
        for size in SIZES if by == "static" else SIZES[-1:]:
            yield from _surrogate(out, by, size, form)
    as_written = {"interaction": "none", "epochs": 0.3}  # only its accuracy is of interest
    yield from _trained(out, "as-written", texts, {"coherence": as_written, "generation": {"dim": 16, "epochs": 0.01}})
    fast = str(out / f"surrogate-static-{SIZES[-1]}")
    yield Step(
        "speed", [("benchmarks.speed.surrogate_speed", full, fast, *_given(rows=str(out / "pairs" / "test.tsv")))]
    )


def _trained(out: Path, name: str, texts: str, settings: Mapping[str, Any]) -> Iterator[Step]:
    """A corpus and its networks."""
    folder, config = str(out / name), _yaml(out / f"{name}.yaml", settings)
    made = _given(out=folder, config=config, exclude="evaluation")
    yield _semblance(f"{name}-corpus", "origin", "corpus", texts, *made)
    yield _semblance(f"{name}-train", "origin", "train", folder)


def _surrogate(out: Path, by: str, size: int, form: str) -> Iterator[Step]:
    """Training from one start on the first pairs, and how much better it is than that start."""
    name = f"{by}-{size}"
    start = by if by == "minilm" else str(out / f"start-{by}")
    made = str(out / f"surrogate-{name}")
    dev, test = (f"pairs:{out / 'pairs' / part}.tsv" for part in ("dev", "test"))
    learned = {"lowest": -1} if form == "centred" else {}  # unlike sentences are no opposites
    config = _yaml(out / f"{name}.yaml", {"model": start, "dev": [dev], "epochs": 8, "check_every": 50, **learned})
    rows = out / f"first-{size}.tsv"
    yield _semblance(f"train-{name}", "train", "surrogate", *_given(rows=str(rows), config=config, out=made))
    compared = _given(model=made, against=start, sets=f"{test},{DEV},{TEST}", measure="cosine")
    yield _semblance(f"evaluate-{name}", "evaluate", *compared, *_json(out, f"evaluate-{name}"))


def _semblance(name: str, *arguments: str) -> Step:
    return Step(name, [(SEMBLANCE, *arguments)])


def _given(**options: str) -> tuple[str, ...]:
    return tuple(part for name, value in options.items() for part in (f"--{name}", value))


def _json(out: Path, name: str) -> tuple[str, str]:
    return ("--json", str(out / f"{name}.json"))


def _yaml(file: Path, settings: Any) -> str:
    file.write_text(yaml.safe_dump(settings), "utf-8")
    return str(file)


def run(step: Step, out: Path, times: dict[str, float]) -> None:
    """Do a step unless it is done; the programs share the cores. Ends this program if one fails."""
    if step.name in times:
        return
    log, began = out / f"{step.name}.log", time.monotonic()
    with log.open("w", encoding="utf-8") as stream:
        threads = max(1, (os.cpu_count() or 1) // len(step.programs))
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        running = []
        for program in step.programs:
            print("python -m", *program, file=stream, flush=True)
            command = [sys.executable, "-m", *program]
            running.append(subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, env=environment))
        failed = [code for each in running if (code := each.wait())]
    if failed:
        sys.exit(f"{step.name} failed: see {log}")
    times[step.name] = time.monotonic() - began
    (out / "times.json").write_text(json.dumps(times, indent=1) + "\n", "utf-8")


def cut_rows(out: Path) -> None:
    """The first rows of the training pairs, for surrogates that learn from fewer."""
    header, *rows = (out / "pairs" / "train.tsv").read_text("utf-8").splitlines(keepends=True)
    for size in SIZES:
        (out / f"first-{size}.tsv").write_text("".join([header, *rows[:size]]), "utf-8")


def figures(out: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Of every evaluation: its name, set, measure, Spearman with its interval, and the difference."""
    for file in sorted((*out.glob("*-dev.json"), *out.glob("*-test.json"), *out.glob("evaluate-*.json"))):
        for each in json.loads(file.read_text("utf-8"))["outcomes"]:
            spearman, against = each["figures"][0], each["against"]
            difference = _interval(against, "+") if against else ""
            yield file.stem, Path(each["set"]).name, each["measure"], _interval(spearman, ""), difference


def _interval(found: dict[str, float], sign: str) -> str:
    value, low, high = (100 * found[key] for key in ("value", "low", "high"))
    return f"{value:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"


def show(rows: Sequence[tuple[str, ...]], times: dict[str, float]) -> None:
    """Both tables."""
    console = wide_console()
    table = Table("command", "set", "variant or measure", "Spearman x 100", "difference", title="agreement")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    table = Table("command", "minutes", title="how long it took")
    for name, seconds in times.items():
        table.add_row(name, f"{seconds / 60:.1f}")
    console.print(table)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", help="the folder of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="where everything lies; SEMBLANCE_DATA has the sets")
    parser.add_argument("--form", choices=("cosine", "centred"), default="centred", help="what is ablated and learned")
    parser.add_argument("--pairs", type=int, nargs=3, default=(200, 400, 40), help="of dev, of test, and with N = 500")
    asked = parser.parse_args()
    out: Path = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    file = out / "times.json"
    times: dict[str, float] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    for step in steps(asked.texts, out, asked.form, tuple(asked.pairs)):
        if step.name.startswith("train-"):
            cut_rows(out)
        run(step, out, times)
    rows = list(figures(out))
    show(rows, times)
    keep("origin_figures", {"figures": rows, "seconds": times})


if __name__ == "__main__":
    main()
