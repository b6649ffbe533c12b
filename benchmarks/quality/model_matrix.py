"""Which kinds of models give the vectors of sentence-transformers, and which of them need torch?

    python -m benchmarks.quality.model_matrix
    python -m benchmarks.quality.model_matrix --families mpnet --models mpnet multilingual

saves small networks of each family with random weights and the modules of sentence-transformers, and encodes a word and
texts of 8 to 256 tokens by both, cut after 64. For each number type it prints a table by module and family: the largest
difference of a component to that of sentence-transformers in float32, as a share of the length of the vector, and the
runtime of each family. Then the same of models that are installed, of sentences of $SEMBLANCE_DATA.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import numpy as np
from rich.progress import track
from rich.table import Column, Table
from sentence_transformers import SentenceTransformer

from benchmarks.baselines.texts import mixed_texts, sts_sentences
from semblance.models.embeddings import Floats, Precision
from semblance.models.encoders.transformer import Transformer, default_runtime
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.checkpoint import Checkpoint, read_checkpoint
from semblance.models.runtime import Compute
from semblance.service.model_loading.float32_folder import write_float32_folder
from semblance.service.model_loading.registry import source_of
from tests.support.model_folders import family_folder
from tests.support.random_modules import MODULES, saved
from tests.support.random_networks import FAMILIES
from tests.support.results import save_results
from tests.support.small_model import WORDS, make_small
from tests.support.wide_console import wide_console

BATCH = 32


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest difference of a kind of model, as a share of the length of a vector."""

    model: str
    modules: str
    precision: Precision
    runtime: str
    largest: float


def differences(
    model: str, modules: str, checkpoint: Checkpoint, expected: Floats, texts: Sequence[str]
) -> list[Difference]:
    """One per number type, each by the runtime that a service takes."""
    runtime = default_runtime(checkpoint, "cpu")
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    made = []
    for precision in get_args(Precision):
        encoder = Transformer(model, checkpoint, Compute(precision=precision))
        tokenized = encoder.tokenize(texts, "query", "END")
        batches = (tokenized[start : start + BATCH] for start in range(0, len(texts), BATCH))
        vectors = np.stack([each.pooled() for batch in batches for each in encoder.encode(batch, "pooled")])
        largest = float((np.abs(vectors - expected) / lengths).max())
        made.append(Difference(model, modules, precision, runtime, largest))
    return made


def of_families(families: Sequence[str], texts: Sequence[str], folder: Path) -> list[Difference]:
    """Differences of all modules on networks of these families."""
    made, small = [], make_small(folder / "small")
    for family in track(families, "families"):
        network = family_folder(family, small, folder / family, vocab_size=WORDS, **FAMILIES[family])
        for name, build in MODULES.items():
            out = saved(network, folder / "saved", build)
            expected = SentenceTransformer(str(out), device="cpu", local_files_only=True).encode(list(texts))
            made += differences(family, name, read_checkpoint(out), expected, texts)
            shutil.rmtree(out)
    return made


def of_model(name: str, texts: Sequence[str], folder: Path) -> list[Difference]:
    """Differences of a model that is installed, in float32 for sentence-transformers."""
    out, source = folder / "float32", source_of(name)
    write_float32_folder(source, out)
    theirs = SentenceTransformer(str(out), device="cpu", local_files_only=True)
    expected = theirs.encode(list(texts), prompt_name="query" if "query" in theirs.prompts else None)
    shutil.rmtree(out)
    return differences(name, "its own", read_transformer(source), expected, texts)


def show(rows: Sequence[Difference]) -> None:
    """Print a table for each number type: modules by models."""
    models, modules = (list(dict.fromkeys(getattr(row, name) for row in rows)) for name in ("model", "modules"))
    for precision in get_args(Precision):
        cells = {(row.modules, row.model): row for row in rows if row.precision == precision}
        columns = (Column(model, justify="right") for model in models)
        table = Table(Column("modules", no_wrap=True), *columns)
        table.title = precision
        for each in modules:
            table.add_row(each, *(f"{cells[each, model].largest:.1e}" for model in models))
        table.add_section()
        table.add_row("largest", *(f"{max(cells[each, model].largest for each in modules):.1e}" for model in models))
        table.add_row("runtime", *(cells[modules[0], model].runtime for model in models))
        wide_console().print(table)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="*", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--models", nargs="*", default=["minilm"], help="models that are installed")
    parser.add_argument("--sentences", type=int, default=200, help="for the models that are installed")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        made = of_families(options.families, ["No.", *mixed_texts(16)], Path(folder))
        sentences = sts_sentences()[: options.sentences]
        installed = [row for name in options.models for row in of_model(name, sentences, Path(folder))]
    for rows in filter(None, (made, installed)):
        show(rows)
    save_results("model_matrix", [asdict(row) for row in (*made, *installed)])


if __name__ == "__main__":
    main()
