"""Which claims of Origin hold at the scale of a laptop?

    python -m benchmarks.quality.origin_figures "$SEMBLANCE_DATA/text" --out runs/origin-figures

runs all commands behind the figures of docs/origin.md: Origin on the whole corpus and on a tenth of it, ablations, a
harvest, and surrogates from several starts and of several training sizes. It takes hours. Output of a command is in
`NAME.log`, its figures in `NAME.json`; completed commands are skipped, so that the same call resumes an interrupted
run. It prints all figures, and the time of each command.
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

from semblance_lab.origin.scoring.scoring import FORMS
from tests.support.results import save_results
from tests.support.running_service import SEMBLANCE
from tests.support.wide_console import wide_console

SHARDS = 2  # of the harvest, run concurrently
PAIRS = 5_600  # harvested, of which about 5,000 remain for training
SPLIT = ("--dev", "0.05", "--test", "0.06")  # a hundredth would be three bundles, too few for an interval
STARTS = ("scratch", "static", "minilm")
SIZES = (1_000, 2_500, 5_000)  # training pairs of surrogates
DEV, TEST = "stsb_dev", "stsb"
TEST_PAIRS = 1_379  # all: coherence alone scores them in minutes
COHERENCE_ALONE = {"contexts": {"weights": [1, 0, 0, 0]}}


@dataclass(frozen=True, slots=True)
class Step:
    """Programs that run concurrently, as arguments of `python -m`, and the name of the step."""

    name: str
    programs: Sequence[tuple[str, ...]]


def steps(texts: str, out: Path, form: str, pairs: tuple[int, int, int]) -> Iterator[Step]:
    """All steps in order.

    Args:
        texts: folder of the corpus.
        out: output folder.
        form: form of the similarity for ablations and surrogates.
        pairs: pairs that Origin scores by all terms of the dev set, of the test set, and of the dev set with 500
            contexts.
    """
    full, tenth = str(out / "full"), str(out / "tenth")
    ablated, tested, wide = map(str, pairs)
    yield from _train_steps(out, "full", texts, {"coherence": {"epochs": 2}})
    yield from _train_steps(out, "tenth", texts, {"coherence": {"epochs": 2}, "corpus": {"share": 0.1}})
    chosen = _options(sets=DEV, pairs=ablated, form=form)
    yield _semblance("full-dev", "origin", "evaluate", full, *chosen, *_figures(out, "full-dev"))
    both = _options(variants=",".join(f"{prefix}{each}" for each in reversed(FORMS) for prefix in ("", "random_")))
    yield _semblance("tenth-dev", "origin", "evaluate", tenth, *chosen, *both, *_figures(out, "tenth-dev"))
    many = _options(sets=TEST, pairs=tested)
    yield _semblance("full-test", "origin", "evaluate", full, *many, *both, *_figures(out, "full-test"))
    config = _yaml(out / "coherence.yaml", COHERENCE_ALONE)
    for each in FORMS:
        alone = _options(sets=TEST, pairs=str(TEST_PAIRS), config=config, variants=f"{each},random_{each}")
        name = f"coherence-{each}-test"
        yield _semblance(name, "origin", "evaluate", full, *alone, *_figures(out, name))
    sized = _options(variants="contexts_500,contexts_100,contexts_20,random", size="500")
    few = _options(sets=DEV, pairs=wide, form=form)
    yield _semblance("wide-dev", "origin", "evaluate", full, *few, *sized, *_figures(out, "wide-dev"))
    harvest, pair_folder = str(out / "harvest"), str(out / "pairs")
    shards = [_options(out=harvest, pairs=str(PAIRS), shard=f"{i}/{SHARDS}") for i in range(1, SHARDS + 1)]
    yield Step("harvest", [(SEMBLANCE, "harvest", full, *shard) for shard in shards])
    yield _semblance("pairs", "pairs", "harvest", harvest, *_options(out=pair_folder, form=form), *SPLIT)
    for by in STARTS[:2]:
        yield _semblance(f"start-{by}", "origin", "start", full, *_options(by=by, out=str(out / f"start-{by}")))
    for by in STARTS:
        for size in SIZES if by == "static" else SIZES[-1:]:
            yield from _surrogate_steps(out, by, size, form)
    as_written = {"interaction": "none", "epochs": 0.3}  # only its accuracy matters
    yield from _train_steps(
        out, "as-written", texts, {"coherence": as_written, "generation": {"dim": 16, "epochs": 0.01}}
    )
    fast = str(out / f"surrogate-static-{SIZES[-1]}")
    yield Step(
        "speed", [("benchmarks.speed.surrogate_speed", full, fast, *_options(rows=str(out / "pairs" / "test.tsv")))]
    )


def _train_steps(out: Path, name: str, texts: str, settings: Mapping[str, Any]) -> Iterator[Step]:
    """Build a corpus and train its networks."""
    folder, config = str(out / name), _yaml(out / f"{name}.yaml", settings)
    arguments = _options(out=folder, config=config, exclude="evaluation")
    yield _semblance(f"{name}-corpus", "origin", "corpus", texts, *arguments)
    yield _semblance(f"{name}-train", "origin", "train", folder)


def _surrogate_steps(out: Path, by: str, size: int, form: str) -> Iterator[Step]:
    """Train a surrogate from one start on the first pairs, and compare it with that start."""
    name = f"{by}-{size}"
    start = by if by == "minilm" else str(out / f"start-{by}")
    surrogate = str(out / f"surrogate-{name}")
    dev, test = (f"pairs:{out / 'pairs' / part}.tsv" for part in ("dev", "test"))
    extra = {} if form == "cosine" else {"lowest": -1}  # unlike sentences are not opposites
    config = _yaml(out / f"{name}.yaml", {"model": start, "dev": [dev], "epochs": 8, "check_every": 50, **extra})
    rows = out / f"first-{size}.tsv"
    yield _semblance(f"train-{name}", "train", "surrogate", *_options(rows=str(rows), config=config, out=surrogate))
    compared = _options(model=surrogate, against=start, sets=f"{test},{DEV},{TEST}", measure="cosine")
    yield _semblance(f"evaluate-{name}", "evaluate", *compared, *_json(out, f"evaluate-{name}"))


def _semblance(name: str, *arguments: str) -> Step:
    return Step(name, [(SEMBLANCE, *arguments)])


def _options(**options: str) -> tuple[str, ...]:
    return tuple(part for name, value in options.items() for part in (f"--{name}", value))


def _json(out: Path, name: str) -> tuple[str, str]:
    return ("--json", str(out / f"{name}.json"))


def _figures(out: Path, name: str) -> tuple[str, ...]:
    """Outputs of an evaluation of Origin, which takes hours."""
    return (*_json(out, name), "--resume", str(out / f"{name}-batches"))


def _yaml(file: Path, settings: Any) -> str:
    file.write_text(yaml.safe_dump(settings), "utf-8")
    return str(file)


def run(step: Step, out: Path, times: dict[str, float]) -> None:
    """Run a step unless it is complete; its programs share the cores. Exits if one fails."""
    if step.name in times:
        return
    log, start = out / f"{step.name}.log", time.monotonic()
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
        sys.exit(f"{step.name} failed; see {log}")
    times[step.name] = time.monotonic() - start
    (out / "times.json").write_text(json.dumps(times, indent=1) + "\n", "utf-8")


def cut_rows(out: Path) -> None:
    """Write the first training pairs to files, for surrogates with less training data."""
    header, *rows = (out / "pairs" / "train.tsv").read_text("utf-8").splitlines(keepends=True)
    for size in SIZES:
        (out / f"first-{size}.tsv").write_text("".join([header, *rows[:size]]), "utf-8")


def figures(out: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Rows of all evaluations: name, set, measure, Spearman and difference with intervals."""
    for file in sorted((*out.glob("*-dev.json"), *out.glob("*-test.json"), *out.glob("evaluate-*.json"))):
        for each in json.loads(file.read_text("utf-8"))["outcomes"]:
            spearman, against = each["figures"][0], each["against"]
            difference = _interval(against, "+") if against else ""
            yield file.stem, Path(each["set"]).name, each["measure"], _interval(spearman, ""), difference


def _interval(figure: dict[str, float], sign: str) -> str:
    value, low, high = (100 * figure[key] for key in ("value", "low", "high"))
    return f"{value:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"


def show(rows: Sequence[tuple[str, ...]], times: dict[str, float]) -> None:
    """Print the figures and the times."""
    console = wide_console()
    table = Table("command", "set", "variant or measure", "Spearman x 100", "difference", title="agreement")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    table = Table("command", "minutes", title="time")
    for name, seconds in times.items():
        table.add_row(name, f"{seconds / 60:.1f}")
    console.print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True, help="output folder; SEMBLANCE_DATA has the data sets")
    parser.add_argument("--form", choices=FORMS, default="centred", help="form of the similarity")
    parser.add_argument("--pairs", type=int, nargs=3, default=(200, 400, 40), help="of dev, of test, and with N = 500")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    file = out / "times.json"
    times: dict[str, float] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    for step in steps(options.texts, out, options.form, tuple(options.pairs)):
        if step.name.startswith("train-"):
            cut_rows(out)
        run(step, out, times)
    rows = list(figures(out))
    show(rows, times)
    save_results("origin_figures", {"figures": rows, "seconds": times})


if __name__ == "__main__":
    main()
