"""Sentences of one article of Wikipedia: which of two is from the same section?"""

from __future__ import annotations

from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.datasets import DataSet
from semblance.models.evaluation.tasks import Triplets
from semblance.models.files.tables import comma_table, table


def read(path: Path) -> Triplets:
    """A table with the columns anchor, positive and negative; or, as .csv, with Sentence1, Sentence2 and Sentence3."""
    released = path.suffix == ".csv"
    names = ("Sentence1", "Sentence2", "Sentence3") if released else ("anchor", "positive", "negative")
    rows = [[row.text(name) for name in names] for row in (comma_table if released else table)(path, names)]
    if not rows:
        raise BadDataSet(f"{path} holds no triplets")
    return Triplets(*zip(*rows, strict=True))


SETS = (
    DataSet(
        name="wiki_sections",
        what="which of two sentences is from the same section of an article",
        source="Wikipedia section triplets, test [dor-etal-2018-sections]",
        files=("wikipedia-sections-triplets/test.csv",),
        read=read,
    ),
    DataSet(
        name="wiki_sections_derived",
        what="the same task made of WikiText-2; figures do not compare with those of wiki_sections",
        source="triplets drawn from the articles of WikiText-2, after [dor-etal-2018-sections]",
        files=("wiki_sections_derived/triplets.tsv",),
        read=read,
    ),
)
