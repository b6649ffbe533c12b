"""Which scores are typical of random, related and equivalent texts?

    python -m benchmarks.quality.typical_scores --data "$SEMBLANCE_DATA"

Prints, for every built-in model and every measure, what `semblance evaluate --typical` prints for those that it is
given: the range of the middle 80 % of the scores of each kind of pair. Those of models with an adapter or a classifier
are kept beside it, for `GET /models` and the playground.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from semblance_client.vocabulary.models import ScoreRanges

from semblance.models import catalogue
from semblance.models.runtime import Compute
from semblance.service.cli.toolbox.console import print_table
from semblance.service.model_loading.builtin import BUILT_IN
from semblance.service.model_loading.registry import read_source
from semblance.service.model_loading.typical_scores import TypicalFile
from semblance_lab.cli.evaluate.data_sets import read_task
from semblance_lab.evaluation.reporting.tables import typical_table
from semblance_lab.evaluation.scorer import LocalScorer
from semblance_lab.evaluation.typical_scores import GRADES, typical_scores
from tests.support.no_progress import no_progress
from tests.support.results import save_results


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks, as for semblance evaluate")
    parser.add_argument("--models", nargs="+", default=list(BUILT_IN), help="built-in names, or folders")
    options = parser.parse_args()
    tasks = {name: read_task(name, options.data) for name in GRADES}
    results = []
    for model in options.models:
        files = read_source(model)
        scorer = LocalScorer(files.load(model, Compute()), no_progress)
        scores = list(typical_scores(tasks, scorer, catalogue.names(catalogue.MEASURES)))
        print_table(typical_table(model, scores))
        results += [{"model": model, **asdict(each)} for each in scores]
        if built_in := BUILT_IN.get(model):
            ranges = [ScoreRanges(**asdict(each)) for each in scores]
            TypicalFile(space=files.space, typical=ranges).write(built_in.adapter or model)
    save_results("typical_scores", results)


if __name__ == "__main__":
    main()
