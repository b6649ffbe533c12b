"""Count texts whose vectors are equal in every bit, alone and in any batch.

    python -m benchmarks.quality.equal_bits
    python -m benchmarks.quality.equal_bits --model /models/mine --texts 500

encodes texts made of sentences of STS Benchmark, of 1 to 250 words, alone, in random batches of
2 to 64, and again while other batches run. It prints the number of texts whose vectors of tokens and of the whole text
equal those of the text alone in every bit. $SEMBLANCE_DATA contains the sentences.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import get_args

from rich.table import Table

from benchmarks.baselines.texts import sts_sentences
from semblance.models.embeddings import Precision
from semblance.models.encoders.transformer import Transformer
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import source_of
from tests.support.equal_bits import equal_in_batches, texts_of_all_lengths
from tests.support.results import save_results
from tests.support.wide_console import wide_console


@dataclass(frozen=True, slots=True)
class Share:
    """Texts of a model in a number type, and those with equal bits in every batch."""

    model: str
    precision: Precision
    texts: int
    equal: int


def measure(model: str, precision: Precision, count: int) -> Share:
    """Encode texts by a model that OpenVINO runs."""
    encoder = Transformer(model, read_transformer(source_of(model)), Compute(precision=precision, runtime="openvino"))
    texts = texts_of_all_lengths(encoder, sts_sentences(), count, seed=0)
    return Share(model, precision, len(texts), int(equal_in_batches(encoder, texts, seed=1).sum()))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm", help="a built-in model or a folder")
    parser.add_argument("--precisions", nargs="+", choices=get_args(Precision), default=["float32"])
    parser.add_argument("--texts", type=int, default=5000)
    options = parser.parse_args()
    rows = [measure(options.model, precision, options.texts) for precision in options.precisions]
    table = Table("model", "number type", "texts", "with equal bits in every batch")
    for row in rows:
        table.add_row(row.model, row.precision, f"{row.texts:,}", f"{row.equal:,} ({row.equal / row.texts:.2%})")
    wide_console().print(table)
    save_results("equal_bits", [asdict(row) for row in rows])


if __name__ == "__main__":
    main()
