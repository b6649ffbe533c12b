"""A program that harvests a small field, slowly enough to be killed in the middle: OUT i/n [seconds a bundle]."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from semblance.models.origin.corpus.words import words
from semblance.models.origin.errors import BadHarvest
from semblance.models.origin.harvest.harvest import AllPairs, Plan, Progress, Share, harvest
from tests.models.origin.field import WordCounts, small_corpus, small_source

PLAN = Plan(pairs=900, bundles_a_file=4)
CORPUS = small_corpus(documents=40)


class Slow(WordCounts):
    """A teacher that takes its time, and asks only who does what, which a surrogate has to learn."""

    seconds = 0.0

    def all_pairs(self, texts: Sequence[str]) -> AllPairs:
        time.sleep(self.seconds)
        return super().all_pairs([" ".join(words(text)[1:3]) for text in texts])


def quietly(progress: Progress) -> None:
    del progress


def reap(out: Path, share: str = "1/1", seconds: float = 0.0) -> Progress:
    teacher = Slow()
    teacher.seconds = seconds
    return harvest(small_source(CORPUS, teacher), PLAN, Share.parse(share), out, quietly)


if __name__ == "__main__":
    try:
        reap(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
    except BadHarvest as error:
        sys.exit(str(error))
