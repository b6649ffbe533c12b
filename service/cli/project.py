"""`semblance project`: a projection, fitted to the vectors of many texts."""

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
from semblance.models.adaptation.adapted_files import PROJECTIONS, Projection
from semblance.models.embeddings import Doubles
from semblance.models.errors import BadDataSet, SemblanceError
from semblance.models.evaluation.scorer import Track
from semblance.models.files.lines import json_lines, numbered_lines
from semblance.models.protocols import Encoder
from semblance.models.tokenization.refusals import fault_of
from semblance.service.cli.progress import bars
from semblance.service.model_loading.device import load_only
from semblance.service.settings import read_settings

AT_ONCE = 32  # texts in a pass


def project(
    model: Annotated[str, typer.Option(help="Model, as `semblance serve` takes it.")],
    projection: Annotated[str, typer.Option(help="Kind of projection: common_component_removal or whitening.")],
    texts: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help='One text a line; of a .jsonl file, one {"text": ...}.')
    ],
    out: Annotated[Path, typer.Option(help="File to write, in safetensors.")],
    dims: Annotated[
        int | None, typer.Option(min=1, help="Dimensions that whitening keeps.", show_default="all")
    ] = None,
) -> None:
    """Fit a projection to the vectors of many texts, and save it.

    A model is then served with it by the option projection=FILE, the same for every text: name=SOURCE?projection=FILE.
    It belongs to that model with those options, and to no other. Whitening wants texts like those that will be
    compared, ten times as many as the model has dimensions or more. Texts without visible characters are left out, and
    those of which the model knows no word.

    \b
    Example:
      semblance project --model minilm --projection whitening --texts corpus.txt --out white.safetensors
      semblance serve --model 'white=minilm?projection=white.safetensors'
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    console = Console(stderr=True)
    try:
        fit: Projection = catalogue.find(PROJECTIONS, projection)()
        read = read_texts(texts)
        encoder = load_only(read_settings(models=model))
        with bars(console) as track:
            vectors = _vectors(encoder, read, track)
        about = {
            "kind": projection,
            "space": encoder.space,
            "model": model,
            "texts": str(len(vectors)),
            "texts_sha256": hashlib.sha256("\n".join(read).encode()).hexdigest(),
            "semblance": version("semblance-server"),
        }
        found = replace(fit.fit(vectors, dims), about=about)
        found.save(out)
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
    d, k = found.matrix.shape
    console.print(f"{out}: {projection} from {d} to {k} dimensions, fitted to {len(vectors):,} texts", markup=False)


def read_texts(file: Path) -> list[str]:
    """The texts of a file that can be seen: its lines, or the field `text` of each line of JSONL.

    Raises:
        BadDataSet: a line of JSONL has no such field; the message names it.
    """
    if file.suffix == ".jsonl":
        found = [_text_of(file, number, row) for number, row in json_lines(file)]
    else:
        found = [line for _, line in numbered_lines(file, "replace")]
    return [text for each in found if fault_of(text := each.strip()) is None]


def _text_of(file: Path, number: int, row: Mapping[str, Any]) -> str:
    if "text" not in row:
        raise BadDataSet(f'{file}, line {number}: not of the form {{"text": ...}}')
    return str(row["text"])


def _vectors(encoder: Encoder, texts: Sequence[str], track: Track) -> Doubles:
    """(n, d) the mean token vectors before any normalising, without those that are zero."""
    in_order = sorted(texts, key=len)  # so that a pass holds texts of about one length
    passes = [in_order[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
    rows = []
    for batch in track(passes, "encoding"):
        made = encoder.encode(encoder.tokenize(batch, "document", "END"), "tokens")
        rows += [each.mean() for each in made]
    vectors = np.array(rows, np.float64).reshape(len(rows), encoder.dim)
    return vectors[vectors.any(axis=1)]
