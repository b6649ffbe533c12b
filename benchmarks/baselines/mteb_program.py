"""Print the main score of MTEB's STSBenchmark for a served model; runs in MTEB's environment.

python -m benchmarks.baselines.mteb_program URL MODEL FILE
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import mteb
from datasets import Dataset, DatasetDict
from mteb.tasks.sts.eng.sts_benchmark_sts import STSBenchmarkSTS

from benchmarks.baselines.mteb_encoder import ServiceEncoder


class LocalSts(STSBenchmarkSTS):
    """MTEB's task with pairs of a file, so that nothing is downloaded."""

    def __init__(self, file: str) -> None:
        super().__init__()
        with Path(file).open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        columns = {name: [row[name] for row in rows] for name in ("sentence1", "sentence2")}
        scores = [float(row["score"]) for row in rows]
        self.dataset = DatasetDict(test=Dataset.from_dict({**columns, "score": scores}))
        self.data_loaded = True


def main() -> None:
    """Evaluate the model on the task."""
    url, model, file = sys.argv[1:]
    result = mteb.evaluate(ServiceEncoder(model, url), LocalSts(file), cache=None, show_progress_bar=False)
    print(result.task_results[0].scores["test"][0]["cosine_spearman"])


if __name__ == "__main__":
    main()
