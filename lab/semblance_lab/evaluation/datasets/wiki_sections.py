"""Wikipedia section triplets: which of two sentences is from the section of the anchor?"""

from __future__ import annotations

from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.tables import read_csv, read_tsv
from semblance_lab.evaluation.datasets import DataSet
from semblance_lab.evaluation.tasks import Triplets


def read(path: Path) -> Triplets:
    """Read a table with the columns anchor, positive and negative, or the .csv of the release."""
    released = path.suffix == ".csv"
    names = ("Sentence1", "Sentence2", "Sentence3") if released else ("anchor", "positive", "negative")
    rows = [[row.text(name) for name in names] for row in (read_csv if released else read_tsv)(path, names)]
    if not rows:
        raise BadDataSet(f"{path} contains no triplets")
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
