"""`semblance origin evaluate`: agreement of Origin and its ablations with human grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console

from semblance.models.errors import BadDataSet, SemblanceError
from semblance.models.files.resumable import resumable_folder
from semblance.models.judgments.bootstrap import Resampling
from semblance.models.judgments.pairs import GradedPairs
from semblance.service.cli.toolbox.console import TextTable, loop_bars, print_table
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import Data, JsonFile, ReportFolder, Resamples, Seed, require_entries
from semblance.service.cli.toolbox.outputs import save_json
from semblance_lab.cli.evaluate.data_sets import read_task
from semblance_lab.cli.origin.options import Config, Device, Folder, Form, OriginOptions, SentenceCounts, Size
from semblance_lab.evaluation.evaluation import evaluate as evaluate_tasks
from semblance_lab.evaluation.reporting.tables import tables
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.scoring.scoring import FORMS, ablations_below, find_variant

if TYPE_CHECKING:
    from semblance_lab.origin.scoring.origin import Origin
    from semblance_lab.origin.scoring.variance import VarianceDecomposition

BATCHES = "origin.json"  # in the folder of finished batches: the Origin that computed them


def evaluate(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    *,
    sets: Annotated[list[str], typer.Option(help="Sets of graded pairs, comma-separated; or pairs:PATH.")] = [  # noqa: B006 - Typer copies it
        "stsb_dev,stsb"
    ],
    pairs: Annotated[int, typer.Option(min=3, help="Pairs sampled from each set; all if it has fewer.")] = 300,
    seed: Seed = 0,
    variants: Annotated[
        list[str],
        typer.Option(
            help="Variants, comma-separated, as below; the others are compared with the first.",
            show_default="all that the size allows",
        ),
    ] = [],  # noqa: B006
    form: Form = "cosine",
    data: Data = None,
    json: JsonFile = None,
    report: ReportFolder = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Folder that keeps finished batches, from which an interrupted call resumes."
        ),
    ] = None,
    draws: Resamples = 2_000,
    config: Config = None,
    size: Size = None,
    device: Device = None,
) -> None:
    """Correlate the scores of Origin with human grades.

    Prints figures with BCa bootstrap intervals, for Origin and its ablations. A variant is a form, `cosine`,
    `centred` or `double_centred`, or an ablation: `random` contexts; `without_diversity`, contexts chosen by score
    alone; `contexts_20`, `contexts_100` or `contexts_500`, the first of each set; `without_coherence`,
    `without_centre`, `without_left`, `without_right` or `without_sides`, without these terms in both choice and
    score. Ablations are of the --form unless they name one, as in `random_centred`.

    Also prints a variance decomposition of the scores, which shows why one form separates sentences and the other does
    not.

    \b
    Examples:
      semblance origin evaluate runs/origin --pairs 300
      semblance origin evaluate runs/origin --sets stsb --variants centred,random,contexts_20 --form centred
      semblance origin evaluate runs/origin --size 500 --pairs 50 --json figures.json --report report
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    names = require_entries(variants, "--variants") if variants else []
    options = OriginEvaluationOptions(
        names, require_entries(sets, "--sets"), form, pairs, seed, data, Resampling(draws), json, report, resume
    )
    with exit_on(SemblanceError, OSError):
        print_evaluation(OriginOptions(folder, config, size, device), options)


@dataclass(frozen=True, slots=True)
class OriginEvaluationOptions:
    """Options of `semblance origin evaluate`."""

    variants: Sequence[str]
    sets: Sequence[str]
    form: Form
    pairs: int
    seed: int
    data: Path | None
    resampling: Resampling
    json: Path | None
    report: Path | None
    resume: Path | None


def print_evaluation(source: OriginOptions, options: OriginEvaluationOptions) -> None:
    """Evaluate, print tables, and write the requested files.

    Raises:
        SemblanceError: the folder, a set or a variant is invalid.
    """
    from semblance_lab.origin.scoring.origin_scorer import OriginScorer  # noqa: PLC0415 - imports torch, which takes seconds
    from semblance_lab.origin.scoring.variance import variance_by_term  # noqa: PLC0415 - likewise

    tasks = {name: sample_pairs(name, options) for name in options.sets}
    console = Console(stderr=True)
    origin = source.open()
    every = [options.form, *FORMS, *ablations_below(origin.contexts.size)]
    names = list(dict.fromkeys(find_variant(name, options.form).name for name in options.variants or every))
    with loop_bars(console) as track, _batches(options.resume, origin):
        scorer = OriginScorer(origin, f"Origin in {source.folder}", track, options.resume)
        scorer.variants(names)  # an invalid one fails before the work
        evaluation = evaluate_tasks(tasks, scorer, names, options.resampling, names[0] if len(names) > 1 else None)
    subset = {"pairs": options.pairs, "pairs_seed": options.seed}
    evaluation = replace(evaluation, settings={**evaluation.settings, **subset})
    texts = [text for task in tasks.values() for text in (*task.left, *task.right)]
    counts = SentenceCounts()
    counts.count(scorer.summaries.values())
    variances = variance_by_term(origin, np.random.default_rng(options.seed).permutation(texts).tolist())
    for table in (*tables(evaluation), variance_table(variances)):
        print_table(table)
    console.print(f"at most {options.pairs:,} pairs of each set, sampled with seed {options.seed}", markup=False)
    counts.report(console)
    if options.json:
        spread = {name: asdict(variance) for name, variance in variances.items()}
        details = {"origin": origin.about(), "sentences": asdict(counts), "spread": spread}
        save_json({**asdict(evaluation), **details}, options.json)
    if options.report:
        from semblance_lab.evaluation.reporting.report import write_report  # noqa: PLC0415 - imports matplotlib, which few runs need

        console.print(f"report: {write_report(evaluation, options.report)}", markup=False)


def _batches(folder: Path | None, origin: Origin) -> AbstractContextManager[None]:
    """Lock the folder of the finished batches of this Origin, if there is one."""
    return nullcontext() if folder is None else resumable_folder(folder / BATCHES, origin.about(), BadOrigin)


def sample_pairs(name: str, options: OriginEvaluationOptions) -> GradedPairs:
    """Sample pairs of a set, in its order.

    Raises:
        BadDataSet: it is missing or malformed, has no grades, or all sampled pairs have the same.
        UnknownName: there is no such set.
    """
    task = read_task(name, options.data)
    if not isinstance(task, GradedPairs):
        raise BadDataSet(f"{name} has no graded pairs; name sets such as stsb_dev")
    random = np.random.default_rng(options.seed)
    rows = np.sort(random.choice(len(task.gold), min(options.pairs, len(task.gold)), replace=False))
    left, right, gold, subtasks = (
        [each[i] for i in rows] for each in (task.left, task.right, task.gold, task.subtasks)
    )
    if len(set(gold)) == 1:
        raise BadDataSet(
            f"{name}: the {len(rows)} sampled pairs all have the same grade; sample more, or with another --seed"
        )
    groups = None if task.groups is None else [task.groups[i] for i in rows]
    return GradedPairs(left, right, gold, subtasks, groups)


def variance_table(variances: Mapping[str, VarianceDecomposition]) -> TextTable:
    """Variance components of the scores, one row a term."""
    rows = tuple(
        (
            name,
            *(f"{100 * share:.1f}" for share in (variance.level, variance.sentence, variance.context, variance.both)),
            *(f"{mean:.4f} ± {deviation:.4f}" for mean, deviation in (variance.cosine, variance.centred)),
        )
        for name, variance in variances.items()
    )
    header = ("scores by", "level", "sentence", "context", "both", "cosine", "centred")
    return TextTable("Variance components of the scores of sentences in the same contexts, in %", header, rows)
