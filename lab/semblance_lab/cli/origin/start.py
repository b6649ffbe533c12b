"""`semblance origin start`: an untrained surrogate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.toolbox.console import print_line
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import OutFolder
from semblance.service.cli.toolbox.outputs import atomic_folder
from semblance_lab.cli.origin.options import Folder
from semblance_lab.origin.origin_folder import TOKENS, VOCABULARY

if TYPE_CHECKING:
    from semblance_lab.origin.surrogate import BertShape

Start: TypeAlias = Literal["scratch", "static"]


def start(  # noqa: PLR0913 - one parameter an option
    folder: Folder,
    *,
    by: Annotated[Start, typer.Option(help="Random weights, or the mean of word vectors learned from the corpus.")],
    out: OutFolder,
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
    from semblance_lab.origin.surrogate import BertShape  # noqa: PLC0415 - imports torch, which takes seconds

    if dim % heads:
        raise typer.BadParameter(f"{heads} heads do not divide {dim} dimensions", param_hint="--heads and --dim")
    console = Console(stderr=True)
    with exit_on(SemblanceError, OSError):
        size, source = write_model(folder, BertShape(dim, layers, heads, seed=seed), by, out, console)
    print_line(console, f"{out}: vocabulary of {size:,}, {layers} layers, {source}")


def write_model(folder: Path, shape: BertShape, by: Start, out: Path, console: Console) -> tuple[int, str]:
    """Write the model; returns the size of its vocabulary, and its weights in words.

    Raises:
        SemblanceError: the origin folder is invalid, or `out` is not empty.
    """
    from semblance_lab.origin.corpus.static_vectors import SkipGram, learn_vectors  # noqa: PLC0415 - imports gensim
    from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary  # noqa: PLC0415 - imports torch, which takes seconds
    from semblance_lab.origin.surrogate import write_scratch, write_static  # noqa: PLC0415 - likewise

    vocabulary = folder / VOCABULARY
    size = Vocabulary.open(vocabulary).size
    with atomic_folder(out) as (result, _):
        if by == "scratch":
            write_scratch(vocabulary, shape, result)
            return size, "random weights"
        tokens = TokenTable.open(folder / TOKENS)
        source = f"word vectors of {tokens.tokens:,} tokens"
        with console.status(source):
            vectors = learn_vectors(tokens, size, SkipGram(shape.static_dim, seed=shape.seed))
        write_static(vocabulary, vectors, shape, result)
        return size, source
