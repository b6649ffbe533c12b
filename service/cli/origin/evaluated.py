"""What `semblance origin evaluate` does once its options are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.evaluation import evaluate
from semblance.models.evaluation.reporting.report import write_json, write_report
from semblance.models.evaluation.reporting.tables import TextTable, tables
from semblance.models.evaluation.statistics.bootstrap import Resampling
from semblance.models.evaluation.tasks import GradedPairs
from semblance.models.origin.scoring.ablations import fitting, variant
from semblance.models.origin.scoring.origin_scorer import OriginScorer
from semblance.models.origin.scoring.scoring import FORMS, Form
from semblance.models.origin.scoring.variance import Spread, spreads
from semblance.service.cli.evaluate.sets import read_task
from semblance.service.cli.origin.opened import Oddities, Opening
from semblance.service.cli.progress import bars
from semblance.service.cli.tables import show


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the verb."""

    variants: Sequence[str]
    sets: Sequence[str]
    form: Form
    pairs: int
    seed: int
    data: Path | None
    resampling: Resampling
    json: Path | None
    report: Path | None


def tabulate(opening: Opening, asked: Asked) -> None:
    """Evaluate, print tables, and write what was asked for.

    Raises:
        SemblanceError: the folder, a set or a variant will not do.
    """
    tasks = {name: drawn(name, asked) for name in asked.sets}
    console = Console(stderr=True)
    origin = opening.open()
    every = [asked.form, *FORMS, *fitting(origin.contexts.size)]
    names = list(dict.fromkeys(variant(name, asked.form).name for name in asked.variants or every))
    with bars(console) as track:
        scorer = OriginScorer(origin, f"Origin in {opening.folder}", track)
        scorer.variants(names)  # what is wrong with them is told before the work
        evaluation = evaluate(tasks, scorer, names, asked.resampling, names[0] if len(names) > 1 else None)
    subset = {"pairs": asked.pairs, "pairs_seed": asked.seed}
    evaluation = replace(evaluation, settings={**evaluation.settings, **subset})
    texts = [text for task in tasks.values() for text in (*task.left, *task.right)]
    oddities = Oddities()
    oddities.count(origin.context_sets(list(dict.fromkeys(texts))))
    made_of = spreads(origin, np.random.default_rng(asked.seed).permutation(texts).tolist())
    for table in (*tables(evaluation), spread_table(made_of)):
        show(table)
    console.print(f"{asked.pairs:,} pairs of each set at most, drawn with the seed {asked.seed}", markup=False)
    oddities.tell(console)
    if asked.json:
        spread = {name: asdict(each) for name, each in made_of.items()}
        made = {"origin": origin.about(), "sentences": asdict(oddities), "spread": spread}
        write_json({**asdict(evaluation), **made}, asked.json)
    if asked.report:
        console.print(f"report: {write_report(evaluation, asked.report)}", markup=False)


def drawn(name: str, asked: Asked) -> GradedPairs:
    """So many pairs of a set, in the order that they have there.

    Raises:
        BadDataSet: it is missing or broken, has no grades, or all that were drawn have the same.
        UnknownName: there is no such set.
    """
    task = read_task(name, asked.data)
    if not isinstance(task, GradedPairs):
        raise BadDataSet(f"{name} has no graded pairs: name others, such as stsb_dev")
    random = np.random.default_rng(asked.seed)
    rows = np.sort(random.choice(len(task.gold), min(asked.pairs, len(task.gold)), replace=False))
    left, right, gold, subtasks = (
        [each[i] for i in rows] for each in (task.left, task.right, task.gold, task.subtasks)
    )
    if len(set(gold)) == 1:
        raise BadDataSet(f"{name}: the {len(rows)} pairs drawn have one grade: draw more, or with another seed")
    groups = None if task.groups is None else [task.groups[i] for i in rows]
    return GradedPairs(left, right, gold, subtasks, groups)


def spread_table(found: Mapping[str, Spread]) -> TextTable:
    """What scores are made of, by what is looked at."""
    rows = tuple(
        (
            name,
            *(f"{100 * share:.1f}" for share in (each.level, each.sentence, each.context, each.both)),
            *(f"{mean:.4f} ± {deviation:.4f}" for mean, deviation in (each.cosine, each.centred)),
        )
        for name, each in found.items()
    )
    header = ("scores by", "level", "sentence", "context", "both", "cosine", "centred")
    return TextTable(
        "Scores of some sentences in the same contexts: what their variance is made of, in %", header, rows
    )
