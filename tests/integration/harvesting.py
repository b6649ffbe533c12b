"""Harvest a small corpus, slowly enough to be killed: OUT i/n [seconds per bundle]."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from semblance.models.origin.corpus.documents import words
from semblance.models.origin.errors import BadHarvest
from semblance.models.origin.harvest.harvest import HarvestPlan, HarvestProgress, PairScores, ShardId, harvest
from tests.models.origin.small_harvest import WordCounts, small_corpus, small_source

PLAN = HarvestPlan(pairs=900, bundles_a_file=4)
CORPUS = small_corpus(documents=40)


class Slow(WordCounts):
    """A slow teacher that compares only subject and verb, which a surrogate has to learn."""

    seconds = 0.0

    def all_pairs(self, texts: Sequence[str]) -> PairScores:
        time.sleep(self.seconds)
        return super().all_pairs([" ".join(words(text)[1:3]) for text in texts])


def reap(out: Path, shard_id: str = "1/1", seconds: float = 0.0) -> HarvestProgress:
    teacher = Slow()
    teacher.seconds = seconds
    return harvest(small_source(CORPUS, teacher), PLAN, ShardId.parse(shard_id), out, lambda _: None)


if __name__ == "__main__":
    try:
        reap(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
    except BadHarvest as error:
        sys.exit(str(error))
