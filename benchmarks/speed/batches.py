"""Does a batch on Ray lose or repeat rows when workers are killed, and how fast is it?

    python -m benchmarks.speed.batches
    python -m benchmarks.speed.batches --texts 20000

encodes different sentences of the text in SEMBLANCE_DATA by `semblance embed`, once by one process and once by Ray on
the same cores, of whose workers two are killed (SIGKILL) at random moments. It prints the rows that each wrote, those
that are there twice, the rate with all starts included, and the ratio of the rates. It fails if rows are missing, there
twice or in another order, or if the two vectors of a row have a cosine of less than 0.9999.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

from semblance.models.embeddings import Floats
from semblance.models.files.lines import json_lines
from semblance.models.text import text_problem
from semblance.models.tokenization.passages import sentences
from tests.support.ray_workers import kill_workers
from tests.support.results import DATA, save_results
from tests.support.running_service import SEMBLANCE
from tests.support.wide_console import wide_console

TEXTS = 200_000
KILLED = 2  # workers
MIN_COSINE = 0.9999


@dataclass(frozen=True, slots=True)
class BatchRun:
    """A run of `semblance embed`: rows in its files, those that are there twice, and all its seconds."""

    engine: str
    killed: int
    rows: int
    duplicates: int
    seconds: float

    @property
    def rate(self) -> float:
        """Rows per second, the start of the engine and the loading of the model included."""
        return self.rows / self.seconds


def training_sentences(data: Path) -> Iterator[str]:
    """Different sentences of the running text in the data."""
    seen: set[int] = set()
    for file in sorted((data / "text").glob("*.jsonl")):
        for _, row in json_lines(file):
            own = row.get("sentences") or [row["text"][start:end] for start, end in sentences(row["text"])]
            for each in own:
                if text_problem(each) is None and hash(each) not in seen:
                    seen.add(hash(each))
                    yield each


def write_files(texts: Sequence[str], folder: Path, files: int) -> None:
    """Write texts as JSONL files of equal numbers of rows."""
    folder.mkdir()
    for number in range(files):
        rows = ({"id": str(i), "text": texts[i]} for i in range(number, len(texts), files))
        (folder / f"{number:03}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def embed(source: Path, out: Path, engine: str, rng: random.Random, most_s: float) -> BatchRun:
    """Run the command; by Ray, kill workers after random times of up to `most_s` each."""
    began = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    command = [sys.executable, "-m", SEMBLANCE, "embed", str(source), str(out), "--engine", engine]
    with subprocess.Popen(command, env=environment, text=True) as driver:
        killed = kill_workers(driver, KILLED, rng, most_s) if engine == "ray" else []
    if driver.returncode:
        raise SystemExit(f"semblance embed --engine {engine} failed with status {driver.returncode}")
    seconds = time.perf_counter() - began
    ids = [id_ for file in out.glob("*.parquet") for id_ in pq.read_table(file, columns=["id"])["id"].to_pylist()]
    return BatchRun(engine, len(killed), len(ids), len(ids) - len(set(ids)), seconds)


def least_cosine(one: Path, other: Path) -> float:
    """Smallest cosine of the vectors of a row in two folders; -1 if they have other rows, or in another order."""
    names = [sorted(file.name for file in folder.glob("*.parquet")) for folder in (one, other)]
    if names[0] != names[1]:
        return -1.0
    least = 1.0
    for name in names[0]:
        left, right = (pq.read_table(folder / name) for folder in (one, other))
        if not left.drop_columns("vector").equals(right.drop_columns("vector")):
            return -1.0
        least = min(least, float((_vectors(left) * _vectors(right)).sum(axis=1).min(initial=1.0)))
    return least


def _vectors(table: pa.Table) -> Floats:
    column = table["vector"].drop_null().combine_chunks()
    vectors: Floats = column.flatten().to_numpy().reshape(len(column), -1).astype(np.float32)
    return vectors


def main() -> None:
    """Print and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="of the moments at which workers are killed")
    options = parser.parse_args()
    texts = list(islice(training_sentences(Path(os.environ[DATA])), options.texts))
    with TemporaryDirectory() as folder:
        source, local, by_ray = (Path(folder, name) for name in ("texts", "local", "ray"))
        write_files(texts, source, options.files)
        rng = random.Random(options.seed)
        runs = [embed(source, local, "local", rng, 0)]
        runs.append(embed(source, by_ray, "ray", rng, runs[0].seconds / 4))
        cosine = least_cosine(local, by_ray)
    grid = Table("engine", "workers killed", "rows", "rows twice", "rows/s", "ratio", title=f"{len(texts):,} sentences")
    for run in runs:
        ratio = f"{run.rate / runs[0].rate:.2f}"
        grid.add_row(run.engine, str(run.killed), f"{run.rows:,}", str(run.duplicates), f"{run.rate:,.1f}", ratio)
    console = wide_console()
    console.print(grid)
    console.print(f"least cosine of a row's two vectors: {cosine:.6f}")
    save_results("batches", {"texts": len(texts), "cosine": cosine, "runs": [asdict(run) for run in runs]})
    whole = all(run.rows == len(texts) and not run.duplicates for run in runs)
    if not whole or cosine < MIN_COSINE or runs[1].killed < KILLED:
        raise SystemExit("rows are missing, there twice or different, or no worker was killed")


if __name__ == "__main__":
    main()
