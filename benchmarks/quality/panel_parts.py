"""List the pairs of the panel's sets that are in no test set, by hash.

    python -m benchmarks.quality.panel_parts --data "$SEMBLANCE_DATA"

Writes models/evaluation/panel_parts.json, the same file on every run. Some sets of the panel of `semblance evaluate
--sets panel` repeat pairs of test sets: the STS benchmark is drawn from the yearly STS tasks, for example. Those pairs
are not in the panel, so that a model chosen by the panel was not chosen by the tests. Pairs are compared by the normal
form of their sentences, in either order.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.progress import track

from semblance.models.evaluation.datasets.panel_parts import panel_name
from semblance.models.evaluation.parts import PARTS_FILE, hashes_of
from semblance.service.cli.evaluate.data_sets import read_task
from tests.support.project import PROJECT

# the sets of 2015 are not among them: interpretable STS 2016 train is the whole of 2015, annotated again
TESTS = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr", "ists_images")
CLEANED = ("stsb_dev", "sickr_trial", "ists_train", "msrp_train")


def parts(data: Path) -> Mapping[str, list[str]]:
    """Part -> the sorted hashes of its pairs."""
    tested = {each for name in track(TESTS, "test sets") for each in hashes_of(read_task(name, data))}
    return {panel_name(name): sorted(set(hashes_of(read_task(name, data))) - tested) for name in CLEANED}


def as_json(lists: Mapping[str, list[str]]) -> str:
    """The content of the file: one line a part."""
    return json.dumps({name: " ".join(hashes) for name, hashes in lists.items()}, indent=1) + "\n"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks, as for semblance evaluate")
    lists = parts(parser.parse_args().data)
    file = PROJECT / "models" / "evaluation" / PARTS_FILE
    file.write_text(as_json(lists), "utf-8")
    for name, hashes in lists.items():
        Console().print(f"{name}: {len(hashes):,} pairs")


if __name__ == "__main__":
    main()
