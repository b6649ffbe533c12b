"""Evaluate a served model on MTEB's STS tasks, and write MTEB's result files; runs in MTEB's environment.

python -m benchmarks.baselines.mteb_program URL MODEL PAIRS OUT
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import mteb
from datasets import Dataset, DatasetDict
from mteb.cache import ResultCache

from benchmarks.baselines.mteb_encoder import ServiceEncoder


def local_task(file: Path) -> Any:
    """MTEB's task of that name with the pairs of a file, so that nothing is downloaded."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    columns = {name: [row[name] for row in rows] for name in ("sentence1", "sentence2")}
    task = mteb.get_task(file.stem, eval_splits=["test"])
    task.dataset = {
        "default": DatasetDict(test=Dataset.from_dict(columns | {"score": [float(r["score"]) for r in rows]}))
    }
    task.data_loaded = True
    return task


def main() -> None:
    """Evaluate the model on the task of each file `NAME.tsv`, and print the scores by name."""
    url, model, pairs, out = sys.argv[1:]
    tasks = [local_task(file) for file in sorted(Path(pairs).glob("*.tsv"))]
    results = mteb.evaluate(
        ServiceEncoder(model, url), tasks, cache=ResultCache(out), overwrite_strategy="always", show_progress_bar=False
    )
    print(json.dumps({each.task_name: each.scores["test"][0]["cosine_spearman"] for each in results.task_results}))


if __name__ == "__main__":
    main()
