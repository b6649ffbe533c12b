"""How fast is it on a GPU?

    python -m benchmarks.speed.gpu
    python -m benchmarks.speed.gpu --device cpu --quick

uses networks with random weights, so that it needs only torch, transformers and sentence-transformers. It measures
sentences per second of the packed runtime and of sentence-transformers in bfloat16, alternately, and the share of the
matrix product's peak; RCMD of all pairs; memory and time of a CLRCMD training step; exhaustive search. It takes some
minutes. The figures are printed, and saved as JSON in the folder $OUT if it is set.

If a part fails, the others still run. The exit status is nonzero if any part failed, or if vectors differ more than an
encoder may from those in float32, or in a batch from those of a text alone.

The second command is for machines without a GPU: it shows that the script runs; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks.speed.on_device.encoding import encoding, lines
from benchmarks.speed.on_device.timing import copy_rate, matrix_peak
from benchmarks.speed.on_device.workloads import scoring, search, training
from tests.support.results import RESULTS, save_results

BOUNDS = {"tokens to float32": 0.999, "tokens alone and in a batch": 0.9998, "pooled alone and in a batch": 0.9999}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of all parts."""

    shapes: tuple[str, ...] = ("minilm", "bert-base")
    sentences: int = 16_384
    rounds: int = 5
    matrix_side: int = 8192
    copied: int = 1 << 30
    scored: int = 1024
    trained: tuple[str, int] = ("bert-base", 128)
    searched: int = 1_000_000


QUICK = Sizes(("tiny",), 64, 1, 256, 1 << 16, 16, ("tiny", 4), 5000)


class Report:
    """Prints and saves the figures part by part."""

    def __init__(self, device: str) -> None:
        name = torch.cuda.get_device_name(device) if device != "cpu" else "cpu"
        self.figures: dict[str, Any] = {
            "device": name,
            "measured": device != "cpu",
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        }
        self.faults: list[str] = []
        self.figures["faults"] = self.faults
        print(f"{name}, torch {torch.__version__}, transformers {transformers.__version__}")
        if device == "cpu":
            print("not measured: without a GPU, this only shows that the script runs")

    def part(self, name: str, measure: Callable[[], Mapping[str, Any]], show: Callable[[Any], Iterator[str]]) -> None:
        """Run one part; a failure is recorded, and does not affect other parts."""
        start_s = time.perf_counter()
        try:
            figures = measure()
        except Exception as error:  # noqa: BLE001 - time on a GPU is scarce: run the other parts
            traceback.print_exc()
            self.faults.append(f"{name} failed: {error}")
        else:
            self.figures[name] = figures
            print("\n".join(show(figures)), f"\n  ({time.perf_counter() - start_s:.0f} s)", flush=True)
        self._save()

    def _save(self) -> None:
        name = "gpu" if self.figures["measured"] else "gpu_quick"
        save_results(name, self.figures, Path(os.environ.get("OUT", RESULTS)))


def show_list(title: str) -> Callable[[Mapping[str, float]], Iterator[str]]:
    """Format figures as one line each, below a title."""

    def show(figures: Mapping[str, float]) -> Iterator[str]:
        yield title
        for name, figure in figures.items():
            yield f"  {name:45}{figure:18,.3f}"

    return show


def peak_rate(report: Report, name: str, per_second: Callable[[], float]) -> float:
    """Measure a peak rate of the device, in units of 10^12; NaN if that fails."""
    report.part(name, lambda: {name: per_second() / 1e12}, show_list("peak rate of the device"))
    return float(report.figures.get(name, {}).get(name, math.nan))


def measure(report: Report, device: str, sizes: Sizes) -> None:
    """Run all parts."""

    def encode(shape: str) -> Mapping[str, Any]:
        figures = encoding(shape, device, sizes.sentences, sizes.rounds, 1e12 * peak)
        for name, bound in BOUNDS.items():
            if not figures.cosines[name] >= bound:
                report.faults.append(f"{shape}: cosine of {name} is {figures.cosines[name]:.6f}, below {bound}")
        return {**asdict(figures), "lines": list(lines(figures))}

    peak = peak_rate(report, "bfloat16 product, TFLOP/s", lambda: matrix_peak(device, sizes.matrix_side))
    rate = peak_rate(report, "copy, TB/s", lambda: copy_rate(device, sizes.copied))
    for shape in sizes.shapes:
        report.part(f"encoding {shape}", partial(encode, shape), lambda figures: iter(figures["lines"]))
    report.part("scoring", lambda: scoring(device, sizes.scored, sizes.rounds), show_list("RCMD, float32"))
    name, batch = sizes.trained
    report.part("training", lambda: training(device, name, batch, 3), show_list(f"a CLRCMD step, {name}"))
    title = "exhaustive search, 384 numbers per row"
    report.part("search", lambda: search(device, sizes.searched, 9, 1e12 * rate), show_list(title))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to check that it runs")
    options = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    report = Report(options.device)
    start_s = time.perf_counter()
    measure(report, options.device, QUICK if options.quick else Sizes())
    print(f"{time.perf_counter() - start_s:.0f} s in all")
    if report.faults:
        raise SystemExit("\n".join(report.faults))


if __name__ == "__main__":
    main()
