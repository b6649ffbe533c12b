"""`semblance pairs harvest`: what was harvested, parted into train, dev and test."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from semblance.models.errors import SemblanceError
from semblance.service.cli.pairs.options import Out, Seed
from semblance.service.cli.train_extra import needing_train


def harvest(
    *,
    folders: Annotated[
        list[Path], typer.Argument(exists=True, file_okay=False, metavar="DIR...", help="Folders with shards.")
    ],
    out: Out,
    form: Annotated[
        Literal["cosine", "centred"],
        typer.Option(help="Which score of Origin: the paper's cosine, or the centred form, a correlation."),
    ] = "cosine",
    dev: Annotated[float, typer.Option(min=0, max=1, help="Share of the bundles for dev.")] = 0.01,
    test: Annotated[float, typer.Option(min=0, max=1, help="Share of the bundles for test.")] = 0.01,
    seed: Seed = 0,
) -> None:
    """Join the shards of a harvest, and part its pairs into train, dev and test.

    Writes train.tsv, dev.tsv and test.tsv (columns sentence1, sentence2, score, kind, bundle, number1, number2) and
    about.json. Pairs that were drawn together stay together, and no sentence of dev or test is in train. Damaged files
    are named and skipped, and so is what is missing. The folder appears once all is written.

    \b
    Examples:
      semblance pairs harvest runs/harvest --out runs/pairs
      semblance pairs harvest one/ two/ three/ --out runs/pairs --form centred --dev 0.05 --test 0.05
      semblance train surrogate --rows runs/pairs/train.tsv --out runs/surrogate
      semblance evaluate --model runs/surrogate --sets pairs:runs/pairs/test.tsv
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("pairs"):
        from semblance.models.origin.harvest.harvested import Split  # noqa: PLC0415 - with it comes pyarrow, of the extra train
        from semblance.service.cli.pairs.joining import join  # noqa: PLC0415

    try:
        join(folders, form, Split(dev, test, seed), out)
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
