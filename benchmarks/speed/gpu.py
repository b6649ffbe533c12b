"""How fast is it on a GPU?

    python -m benchmarks.speed.gpu
    python -m benchmarks.speed.gpu --device cpu --quick

measures, on networks of random weights, so that nothing need be there but torch, transformers and
sentence-transformers: sentences a second of the packed runtime beside sentence-transformers in bfloat16, in turn, and
the share of the matrix product's peak; RCMD of all pairs; memory and time of a training step of CLRCMD; exhaustive
search. It takes some minutes. What it finds is printed and kept as JSON, in the folder $OUT where that is set.

A part that fails is named, and the others go on. It fails in the end if one did, or if vectors differ from those in
float32, or in a batch from those alone, by more than an encoder may.

The second line is for machines without a GPU: it shows that the script runs, and its figures say nothing.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks.speed.on_device.encoding import encoding, lines
from benchmarks.speed.on_device.other_work import scoring, search, training
from benchmarks.speed.on_device.timing import copy_rate, matrix_peak
from tests.support.figures import RESULTS, keep

BOUNDS = {"tokens to float32": 0.999, "tokens alone and in a batch": 0.9998, "pooled alone and in a batch": 0.9999}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything."""

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
    """What is printed and kept, part by part."""

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
            print("not measured: this is no GPU, and what follows only shows that the script runs")

    def part(self, name: str, measure: Callable[[], Mapping[str, Any]], say: Callable[[Any], Iterator[str]]) -> None:
        """One part; its fault, if it has one, ends nothing but itself."""
        began = time.perf_counter()
        try:
            found = measure()
        except Exception as error:  # noqa: BLE001 - a machine with a GPU is scarce: the other parts go on
            traceback.print_exc()
            self.faults.append(f"{name} failed: {error}")
        else:
            self.figures[name] = found
            print("\n".join(say(found)), f"\n  ({time.perf_counter() - began:.0f} s)", flush=True)
        self._keep()

    def _keep(self) -> None:
        keep("gpu" if self.figures["measured"] else "gpu_quick", self.figures, Path(os.environ.get("OUT", RESULTS)))


def listed(title: str) -> Callable[[Mapping[str, float]], Iterator[str]]:
    """A line a figure."""

    def say(found: Mapping[str, float]) -> Iterator[str]:
        yield title
        for name, figure in found.items():
            yield f"  {name:45}{figure:18,.3f}"

    return say


def ceiling(report: Report, name: str, a_second: Callable[[], float]) -> float:
    """What the device does at most, in units of 10^12; no number if that fails, and then no share of it is one."""
    report.part(name, lambda: {name: a_second() / 1e12}, listed("what the device does at most"))
    return float(report.figures.get(name, {}).get(name, math.nan))


def measure(report: Report, device: str, sizes: Sizes) -> None:
    """All parts."""

    def encoded(shape: str) -> Mapping[str, Any]:
        found = encoding(shape, device, sizes.sentences, sizes.rounds, 1e12 * peak)
        for name, least in BOUNDS.items():
            if not found.cosines[name] >= least:
                report.faults.append(f"{shape}: {name} have cosine {found.cosines[name]:.6f}, less than {least}")
        return {**asdict(found), "lines": list(lines(found))}

    peak = ceiling(report, "bfloat16 product, TFLOP/s", lambda: matrix_peak(device, sizes.matrix_side))
    rate = ceiling(report, "copy, TB/s", lambda: copy_rate(device, sizes.copied))
    for shape in sizes.shapes:
        report.part(f"encoding {shape}", lambda shape=shape: encoded(shape), lambda found: iter(found["lines"]))  # type: ignore[misc]
    report.part("scoring", lambda: scoring(device, sizes.scored, sizes.rounds), listed("RCMD, float32"))
    name, batch = sizes.trained
    report.part("training", lambda: training(device, name, batch, 3), listed(f"a step of CLRCMD, {name}"))
    report.part(
        "search", lambda: search(device, sizes.searched, 9, 1e12 * rate), listed("exhaustive search, 384 numbers a row")
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    given = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    report = Report(given.device)
    began = time.perf_counter()
    measure(report, given.device, QUICK if given.quick else Sizes())
    print(f"{time.perf_counter() - began:.0f} s in all")
    if report.faults:
        raise SystemExit("\n".join(report.faults))


if __name__ == "__main__":
    main()
