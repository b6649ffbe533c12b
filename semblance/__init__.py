"""Sentence similarity and semantic search that show which words made the score.

Scores and explanations of two texts under a model, built in or from a folder::

    encoder = semblance.load("minilm")
    a, b = semblance.encode(encoder, ["Owls hoot at night.", "At night you can hear owls."])
    semblance.similarity("rcmd").score(a, b)
    semblance.explain("rcmd", a, b).by_word().links

The same with token vectors from elsewhere:

>>> import numpy as np
>>> def embeddings(text, spans, vectors):
...     ids = words = np.arange(len(spans), dtype=np.int32)
...     tokens = TokenizedText(text, ids, np.array(spans, np.int32), words)
...     return TokenEmbeddings(np.array(vectors, np.float32), np.ones(len(spans), np.float32), tokens)
>>> from semblance import TokenEmbeddings, TokenizedText, explain, measures, similarity
>>> a = embeddings("owls hoot", [(0, 4), (5, 9)], [[1, 0], [3, 4]])
>>> b = embeddings("hoot owls", [(0, 4), (5, 9)], [[4, 3], [2, 0]])
>>> round(similarity("rcmd").score(a, b), 6)
0.98
>>> for link in explain("rcmd", a, b).links:
...     print(a.text.units()[link.left].text, b.text.units()[link.right].text, round(link.contribution, 6))
owls owls 0.5
hoot hoot 0.48
>>> measures()[:4]
('bag_jaccard', 'bertscore_f1', 'cmd', 'cosine')

Names are resolved on first use (PEP 562): `import semblance` imports neither numpy nor torch.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semblance.models.catalogue import similarity
    from semblance.models.embeddings import TokenEmbeddings
    from semblance.models.errors import SemblanceError
    from semblance.models.explanation import Explanation
    from semblance.models.protocols import Encoder
    from semblance.models.runtime import Compute
    from semblance.models.text import Role, TokenizedText, Truncate

    __version__: str

__all__ = [
    "Compute",
    "Encoder",
    "Explanation",
    "SemblanceError",
    "TokenEmbeddings",
    "TokenizedText",
    "__version__",
    "encode",
    "explain",
    "load",
    "measures",
    "similarity",
]

_MODULES = {
    "Compute": "semblance.models.runtime",
    "Encoder": "semblance.models.protocols",
    "Explanation": "semblance.models.explanation",
    "SemblanceError": "semblance.models.errors",
    "TokenEmbeddings": "semblance.models.embeddings",
    "TokenizedText": "semblance.models.text",
    "similarity": "semblance.models.catalogue",
}


def __getattr__(name: str) -> object:
    """Import an exported name on first use."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("semblance-server")
    if name in _MODULES:
        exported: object = getattr(importlib.import_module(_MODULES[name]), name)
        return exported
    raise AttributeError(f"module 'semblance' has no attribute {name!r}")


def load(source: str, compute: Compute | None = None) -> Encoder:
    """Load a model.

    Args:
        source: a built-in name, a folder or a file, with options as in `minilm?pooling=max`.
        compute: where and how it runs; by default torch in float32 on the CPU.

    Raises:
        BadCheckpoint: files are missing, damaged or not supported, or an option is unknown.
    """
    from semblance.models.runtime import Compute  # noqa: PLC0415 - imports numpy
    from semblance.service.model_loading.registry import read_source  # noqa: PLC0415 - imports numpy and tokenizers

    return read_source(source).load(source, compute or Compute())


def encode(
    encoder: Encoder, texts: Sequence[str], role: Role = "query", truncate: Truncate = "END"
) -> list[TokenEmbeddings]:
    """Tokenize and encode texts as one batch, with token vectors.

    Raises:
        BadTexts: a text has no token, is ill-formed, or is too long where `truncate` is NONE.
    """
    return encoder.encode(encoder.tokenize(texts, role, truncate), "tokens")


def explain(measure: str, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
    """Decompose the score of two texts into links between their tokens.

    Raises:
        UnknownName: no such measure.
        NotExplainable: its score does not decompose.
    """
    from semblance.models.catalogue import explainable  # noqa: PLC0415 - imports numpy

    return explainable(measure).explain(a, b)


def measures() -> tuple[str, ...]:
    """Names of all similarity measures."""
    from semblance.models.catalogue import SIMILARITIES, names  # noqa: PLC0415 - imports numpy

    return names(SIMILARITIES)
