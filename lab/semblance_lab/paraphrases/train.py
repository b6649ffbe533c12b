"""Train the classifier that tells whether two texts say the same.

    python -m semblance_lab.paraphrases.train --model minilm-graded --wordnet /usr/share/wordnet --output runs/same

reads pairs of SNLI, MultiNLI, CAD, SugarCrepe and Breaking NLI from `--data` or SEMBLANCE_DATA, generates others from
sentences of corpora and the relations of WordNet 3.0 (`generation/`), encodes all texts once, which takes most of the
time, fits the network, writes `classifier.safetensors`, and prints how many pairs of each set and kind were used, and
how many of them are classified as if they hold. `--without vegetables --without colors` leaves kinds of Breaking NLI
out of the training, so that their figures are those of pairs that the network has not seen. The pairs are in English;
for an encoder of several languages, `--language en --language de` names those whose texts may be classified.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from safetensors.torch import save_file

from semblance.models.embeddings import Doubles
from semblance.models.errors import BadDataSet, SemblanceError
from semblance.models.protocols import Encoder, Track
from semblance.models.runtime import Compute
from semblance.service.cli.toolbox.console import TextTable, loop_bars, print_line, print_table, progress_bars
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import OutFolder, Seed
from semblance.service.cli.toolbox.outputs import atomic_folder
from semblance.service.model_loading.registry import read_source
from semblance_lab.paraphrases.clues import ClueTable, words_of_texts
from semblance_lab.paraphrases.fitting import Fit, FitSettings, fit, log_odds_of, rows_without
from semblance_lab.paraphrases.generation.generated import generate, read_counts
from semblance_lab.paraphrases.generation.sentences import read_sentences
from semblance_lab.paraphrases.pairs import CONTRAST, Counts, Pair, read_pairs, without_contrasts
from semblance_lab.paraphrases.wordnet import read_relations, read_wordnet

FILE = "classifier.safetensors"


def train(  # noqa: PLR0913 - one parameter an option
    *,
    model: Annotated[str, typer.Option(help="Encoder whose word vectors are read, as in `semblance serve`.")],
    data: Annotated[Path, typer.Option(envvar="SEMBLANCE_DATA", file_okay=False, help="Folder of benchmark data.")],
    wordnet: Annotated[Path, typer.Option(exists=True, file_okay=False, help="Folder with WordNet's data.noun etc.")],
    output: OutFolder,
    language: Annotated[
        list[str], typer.Option(help="Code of a language whose texts it classifies, by the encoder; repeatable.")
    ] = ["en"],  # noqa: B006 - Typer copies it
    without: Annotated[list[str], typer.Option(help="Kind of Breaking NLI to hold out; repeatable.")] = [],  # noqa: B006 - Typer copies it
    seed: Seed = 0,
) -> None:
    """Train the classifier that tells whether two texts say the same."""
    console = Console(stderr=True)
    with exit_on(SemblanceError, OSError), atomic_folder(output) as (result, _):
        pairs, counts = collect(data, wordnet, seed)
        _check_kinds(without, pairs)
        encoder = read_source(model).load(model, Compute())
        with loop_bars(console) as track:
            pairs, clues = read_clues(encoder, pairs, track)
        rows = rows_without(pairs, without)
        fitted = fit_with_bar(pairs, clues, rows, FitSettings(seed=seed), console)
        metadata = {"model": model, "space": encoder.space, "languages": " ".join(language)}
        save_file(fitted.network.tensors(), result / FILE, metadata)
        print_table(figures(pairs, counts, log_odds_of(fitted.network, pairs, clues), without))
        print_line(console, f"loss of each epoch: {', '.join(f'{loss:.4f}' for loss in fitted.losses)}")
    print_line(console, f"{output / FILE}: trained on {len(rows):,} pairs")


def collect(data: Path, wordnet: Path, seed: int) -> tuple[list[Pair], Counts]:
    """All pairs, read and generated, and how many were used and left out.

    Raises:
        BadDataSet: a file cannot be read; the message names it.
    """
    relations = read_relations(read_wordnet(wordnet), read_counts(data))
    sentences = [text for texts in read_sentences(data, seed).values() for text in texts]
    return without_contrasts([*read_pairs(data), *generate(sentences, relations, seed)])


def _check_kinds(kinds: Collection[str], pairs: Sequence[Pair]) -> None:
    known = sorted({pair.kind for pair in pairs if pair.source == CONTRAST})
    if unknown := [kind for kind in kinds if kind not in known]:
        raise BadDataSet(f"--without {unknown[0]}: Breaking NLI has the kinds {', '.join(known)}")


def read_clues(encoder: Encoder, pairs: Sequence[Pair], track: Track) -> tuple[list[Pair], ClueTable]:
    """The pairs of which both texts have words, and their clues."""
    words = words_of_texts(encoder, [text for pair in pairs for text in (pair.a, pair.b)], track)
    kept = [pair for pair in pairs if pair.a in words and pair.b in words]
    return kept, ClueTable.of(kept, words, track)


def fit_with_bar(
    pairs: Sequence[Pair], clues: ClueTable, rows: Sequence[int], settings: FitSettings, console: Console
) -> Fit:
    """Fit with a progress bar that shows the loss."""
    with progress_bars(console) as bar:
        task = bar.add_task("fitting", total=None)

        def report(step: int, steps: int, loss: float) -> None:
            bar.update(task, completed=step, total=steps, description=f"fitting, loss {loss:.4f}")

        return fit(pairs, clues, rows, settings, report)


def figures(pairs: Sequence[Pair], counts: Counts, log_odds: Doubles, without: Collection[str]) -> TextTable:
    """A row for each set and kind; the last column is the share of pairs with log-odds above 0."""
    positive: dict[tuple[str, str, bool], list[bool]] = {}
    for pair, value in zip(pairs, log_odds, strict=True):
        positive.setdefault((pair.source, pair.kind, pair.holds), []).append(value > 0)
    rows = [
        (source, kind, "yes" if holds else "no", f"{len(found):,}", f"{counts.dropped[source, kind, holds]:,}",
         "no" if source == CONTRAST and kind in without else "yes", f"{100 * np.mean(found):.1f}")
        for (source, kind, holds), found in sorted(positive.items())
    ]  # fmt: skip
    header = ("set", "kind", "holds", "pairs", "left out", "trained on", "taken to hold, %")
    return TextTable("pairs by set and kind", header, tuple(rows))


if __name__ == "__main__":
    typer.run(train)
