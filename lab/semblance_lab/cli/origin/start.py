"""`semblance origin start`: an untrained surrogate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.toolbox.console import print_line
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.outputs import atomic_folder
from semblance_lab.cli.origin.options import Folder
from semblance_lab.origin.origin_folder import TOKENS, VOCABULARY


def start(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    *,
    by: Annotated[
        Literal["scratch", "static"],
        typer.Option(help="Random weights, or the mean of word vectors learned from the corpus."),
    ],
    out: Annotated[Path, typer.Option(help="Folder to create; it may exist if it is empty.", file_okay=False)],
    dim: Annotated[int, typer.Option(min=8, help="Dimensions of a vector.")] = 256,
    layers: Annotated[int, typer.Option(min=1, help="Number of layers.")] = 3,
    heads: Annotated[int, typer.Option(min=1, help="Attention heads per layer; must divide --dim.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and sampling.")] = 0,
) -> None:
    """Create a small transformer to train a surrogate from.

    It has the vocabulary of an origin folder, and works with `semblance serve --model`, `semblance evaluate --model`
    and the setting `model` of `semblance train`. Word vectors are learned in one thread, so that a seed reproduces
    them.

    \b
    Examples:
      semblance origin start runs/origin --by scratch --out runs/scratch
      semblance origin start runs/origin --by static --out runs/static --dim 256 --layers 3
      semblance evaluate --model runs/static --sets stsb_dev
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance_lab.origin.corpus.static_vectors import SkipGram, learn_vectors  # noqa: PLC0415 - imports gensim
    from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary  # noqa: PLC0415 - imports torch, which takes seconds
    from semblance_lab.origin.surrogate import BertShape, write_scratch, write_static  # noqa: PLC0415 - likewise

    if dim % heads:
        raise typer.BadParameter(f"{heads} heads do not divide {dim} dimensions", param_hint="--heads and --dim")
    console = Console(stderr=True)
    with exit_on(SemblanceError, OSError):
        shape, vocabulary = BertShape(dim, layers, heads, seed=seed), folder / VOCABULARY
        size = Vocabulary.open(vocabulary).size
        with atomic_folder(out) as (result, _):
            if by == "scratch":
                write_scratch(vocabulary, shape, result)
                source = "random weights"
            else:
                tokens = TokenTable.open(folder / TOKENS)
                with console.status(f"word vectors of {tokens.tokens:,} tokens"):
                    vectors = learn_vectors(tokens, size, SkipGram(shape.static_dim, seed=seed))
                write_static(vocabulary, vectors, shape, result)
                source = f"word vectors of {tokens.tokens:,} tokens"
    print_line(console, f"{out}: vocabulary of {size:,}, {layers} layers, {source}")
