"""`semblance project`: fit a projection of vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from semblance.models import catalogue
from semblance.models.adaptation.adapted_model import PROJECTIONS, Projection
from semblance.models.embeddings import Doubles
from semblance.models.encoders.checked import encode_checked
from semblance.models.errors import BadDataSet, SemblanceError
from semblance.models.files.lines import format_suffix, json_lines, numbered_lines
from semblance.models.protocols import Encoder, Track
from semblance.models.text import text_problem
from semblance.service.cli.toolbox.console import loop_bars
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.model_loading.device import load_single
from semblance.service.settings import read_settings

BATCH = 32  # texts


def project(
    model: Annotated[str, typer.Option(help="Model, as for `semblance serve`.")],
    projection: Annotated[str, typer.Option(help="Kind of projection: common_component_removal or whitening.")],
    texts: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help='One text a line; in a .jsonl file, one {"text": ...}.')
    ],
    out: Annotated[Path, typer.Option(help="Safetensors file to write.")],
    dims: Annotated[
        int | None,
        typer.Option(min=1, help="Dimensions kept by whitening.", show_default="all that the texts differ in"),
    ] = None,
) -> None:
    """Fit a projection to the vectors of many texts.

    Serve a model with it as name=SOURCE?projection=FILE. The projection is valid only for this model with the same
    options. Whitening needs texts like those that will be compared, at least ten times as many as the model has
    dimensions. It keeps as many dimensions as the vectors differ in, often a few less than the model has; the last line
    says how many. Texts without visible characters or without a word known to the model are skipped.

    \b
    Example:
      semblance project --model minilm --projection whitening --texts corpus.txt --out white.safetensors
      semblance serve --model 'white=minilm?projection=white.safetensors'
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    console = Console(stderr=True)
    with exit_on(SemblanceError, OSError):
        fit: Projection = catalogue.find(PROJECTIONS, projection)()
        corpus = read_texts(texts)
        encoder = load_single(read_settings(models=model))
        with loop_bars(console) as track:
            vectors = _vectors(encoder, corpus, track)
        about = {
            "kind": projection,
            "space": encoder.space,
            "model": model,
            "texts": str(len(vectors)),
            "texts_sha256": hashlib.sha256("\n".join(corpus).encode()).hexdigest(),
            "semblance": version("semblance-server"),
        }
        fitted = replace(fit.fit(vectors, dims), metadata=about)
        fitted.save(out)
    d, k = fitted.matrix.shape
    console.print(f"{out}: {projection} from {d} to {k} dimensions, fitted to {len(vectors):,} texts", markup=False)


def read_texts(file: Path) -> list[str]:
    """Read the visible texts of a file: its lines, or the field `text` of JSONL lines.

    Raises:
        BadDataSet: a line of JSONL lacks the field; the message names it.
    """
    if format_suffix(file) == ".jsonl":
        lines = [_text_of(file, number, row) for number, row in json_lines(file)]
    else:
        lines = [line for _, line in numbered_lines(file, "replace")]
    return [text for each in lines if text_problem(text := each.strip()) is None]


def _text_of(file: Path, number: int, row: Mapping[str, Any]) -> str:
    if "text" not in row:
        raise BadDataSet(f'{file}, line {number}: expected {{"text": ...}}')
    return str(row["text"])


def _vectors(encoder: Encoder, texts: Sequence[str], track: Track) -> Doubles:
    """(n, d) mean token vectors before normalization, without zero vectors."""
    in_order = sorted(texts, key=len)  # batches of similar length need little padding
    batches = [in_order[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    rows = []
    for batch in track(batches, "encoding"):
        embeddings = encode_checked(encoder, encoder.tokenize(batch, "document", "END"), "tokens")
        rows += [embedding.mean() for embedding in embeddings]
    vectors = np.array(rows, np.float64).reshape(len(rows), encoder.dim)
    return vectors[vectors.any(axis=1)]
