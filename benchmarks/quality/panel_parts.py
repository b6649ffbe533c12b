"""List the pairs of the panel's sets that are in no test set, by hash.

    python -m benchmarks.quality.panel_parts --data "$SEMBLANCE_DATA"

Writes lab/semblance_lab/evaluation/panel_parts.json, the same file on every run. Some sets of the panel of `semblance
evaluate --sets panel` repeat pairs of test sets: the STS benchmark is drawn from the yearly STS tasks, for example.
Those pairs are not in the panel, so that a model chosen by the panel was not chosen by the tests. A set that is also
trained on is split between the panel and training, and the other sets of the panel leave out pairs with a sentence of
the training part: many pairs of Edinburgh++ are from MSRP, and would otherwise be lost to training. Pairs are
compared by the normal form of their sentences, in either order.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.progress import track

from semblance_lab.cli.evaluate.data_sets import read_task
from semblance_lab.evaluation.contamination import held_out_forms, normal_form
from semblance_lab.evaluation.datasets.panel_parts import (
    PARTS_FILE,
    hashes_of,
    pair_hash,
    pairs_of,
    panel_name,
    split_off,
)
from tests.support.project import PROJECT

# the sets of 2015 are not among them: interpretable STS 2016 train is the whole of 2015, annotated again
TESTS = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr", "ists_images", "edinburgh")
CLEANED = ("stsb_dev", "sickr_trial", "ists_train", "msrp_train")
SPLIT = "edinburgh_train"
PANEL_SHARE = 1 / 3  # of the pairs of that set; the rest is trained on


def parts(data: Path) -> Mapping[str, list[str]]:
    """Part -> the sorted hashes of its pairs."""
    tested = {each for name in track(TESTS, "test sets") for each in hashes_of(read_task(name, data))}
    pairs = pairs_of(read_task(SPLIT, data))
    rows = set(split_off(pairs, PANEL_SHARE, tested))
    trained = held_out_forms((SPLIT, text) for row, pair in enumerate(pairs) if row not in rows for text in pair)

    def is_clean(pair: tuple[str, str]) -> bool:
        return pair_hash(*pair) not in tested and not any(normal_form(text) in trained for text in pair)

    lists = {name: [pair for pair in pairs_of(read_task(name, data)) if is_clean(pair)] for name in CLEANED}
    lists[SPLIT] = [pairs[row] for row in rows]
    return {panel_name(name): sorted({pair_hash(*pair) for pair in each}) for name, each in lists.items()}


def as_json(lists: Mapping[str, list[str]]) -> str:
    """The content of the file: one line a part."""
    return json.dumps({name: " ".join(hashes) for name, hashes in lists.items()}, indent=1) + "\n"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks, as for semblance evaluate")
    lists = parts(parser.parse_args().data)
    file = PROJECT / "lab" / "semblance_lab" / "evaluation" / PARTS_FILE
    file.write_text(as_json(lists), "utf-8")
    for name, hashes in lists.items():
        Console().print(f"{name}: {len(hashes):,} pairs")


if __name__ == "__main__":
    main()
