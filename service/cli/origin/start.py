"""`semblance origin start`: what a surrogate starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.console import say
from semblance.service.cli.origin.options import Folder
from semblance.service.cli.train_extra import needing_train
from semblance.service.cli.whole_folder import whole_folder


def start(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    *,
    by: Annotated[
        Literal["scratch", "static"],
        typer.Option(help="Random weights, or the mean of word vectors that are learned from the corpus."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the model; it must not exist, or be empty.", file_okay=False)],
    dim: Annotated[int, typer.Option(min=8, help="Numbers of a vector.")] = 256,
    layers: Annotated[int, typer.Option(min=1, help="Layers of the network.")] = 3,
    heads: Annotated[int, typer.Option(min=1, help="Heads of every attention; they divide --dim.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and draws.")] = 0,
) -> None:
    """Make a small transformer with the vocabulary of an origin folder, for a surrogate to start from.

    The folder is one that `semblance serve --model`, `semblance evaluate --model` and the setting `model` of
    `semblance train` read. One thread learns the word vectors, so that the same seed gives the same ones.

    \b
    Examples:
      semblance origin start runs/origin --by scratch --out runs/scratch
      semblance origin start runs/origin --by static --out runs/static --dim 256 --layers 3
      semblance evaluate --model runs/static --sets stsb_dev
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if dim % heads:
        raise typer.BadParameter(f"{heads} heads do not divide {dim} numbers", param_hint="--heads and --dim")
    with needing_train("origin start"):
        from semblance.models.origin.corpus.static_vectors import SkipGram, learn  # noqa: PLC0415
        from semblance.models.origin.corpus.token_table import TokenTable  # noqa: PLC0415
        from semblance.models.origin.corpus.vocabulary import Vocabulary  # noqa: PLC0415
        from semblance.models.origin.origin_folder import TOKENS, VOCABULARY  # noqa: PLC0415 - with them comes torch
        from semblance.models.origin.surrogate.start import Shape, write_scratch, write_static  # noqa: PLC0415

    console = Console(stderr=True)
    try:
        shape, vocabulary = Shape(dim, layers, heads, seed=seed), folder / VOCABULARY
        size = Vocabulary.open(vocabulary).size
        with whole_folder(out) as (made, _):
            if by == "scratch":
                write_scratch(vocabulary, shape, made)
                what = "random weights"
            else:
                tokens = TokenTable.open(folder / TOKENS)
                with console.status(f"word vectors of {tokens.tokens:,} tokens"):
                    vectors = learn(tokens, size, SkipGram(shape.of_words, seed=seed))
                write_static(vocabulary, vectors, shape, made)
                what = f"word vectors of {tokens.tokens:,} tokens"
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
    say(console, f"{out}: {size:,} pieces, {layers} layers, {what}")
