"""Sentence similarity and semantic search that show which words made the score.

Compare and explain texts without a server, under a model built in or from a folder, or a `SentenceTransformer`::

    from semblance import explain, load, similarity

    similarity("Owls hoot at night.", "At night you can hear owls.")
    print(explain("Owls hoot at night.", "At night you can hear owls."))
    model = load(SentenceTransformer(...))
    similarity("Owls hoot.", ["It rains.", "An owl is heard."], measure="rcmd", model=model)

The same with token vectors from elsewhere:

>>> import numpy as np
>>> def embeddings(text, spans, vectors):
...     ids = words = np.arange(len(spans), dtype=np.int32)
...     tokens = TokenizedText(text, ids, np.array(spans, np.int32), words)
...     return TokenEmbeddings(np.array(vectors, np.float32), np.ones(len(spans), np.float32), tokens)
>>> from semblance import TokenEmbeddings, TokenizedText, explain, measures, similarity
>>> a = embeddings("owls hoot", [(0, 4), (5, 9)], [[1, 0], [3, 4]])
>>> b = embeddings("hoot owls", [(0, 4), (5, 9)], [[4, 3], [2, 0]])
>>> round(similarity(a, b, measure="rcmd"), 6)
0.98
>>> print(explain(a, b, measure="rcmd"))
0.9800 by rcmd
  owls = owls  +0.5000
  hoot = hoot  +0.4800
>>> measures()[:4]
('bag_jaccard', 'bertscore_f1', 'cmd', 'cosine')

Names are resolved on first use (PEP 562): `import semblance` imports neither numpy nor torch.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

if TYPE_CHECKING:
    from semblance_client import Explanation
    from semblance_client.vocabulary.explanation import Granularity
    from sentence_transformers import SentenceTransformer

    from semblance.models.embeddings import Doubles, TokenEmbeddings
    from semblance.models.errors import SemblanceError
    from semblance.models.protocols import Encoder, Similarity
    from semblance.models.runtime import Compute
    from semblance.models.text import Role, TokenizedText, Truncate

    __version__: str

    Text: TypeAlias = str | TokenEmbeddings
    Model: TypeAlias = str | Encoder | SentenceTransformer

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
    "Explanation": "semblance_client",
    "SemblanceError": "semblance.models.errors",
    "TokenEmbeddings": "semblance.models.embeddings",
    "TokenizedText": "semblance.models.text",
}


def __getattr__(name: str) -> object:
    """Import an exported name on first use."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("semblance-server")
    if name in _MODULES:
        exported: object = getattr(importlib.import_module(_MODULES[name]), name)
        return exported
    raise AttributeError(f"module 'semblance' has no attribute {name!r}")


def load(source: str | SentenceTransformer, compute: Compute | None = None) -> Encoder:
    """Load a model.

    Args:
        source: a built-in name, a folder, a file or a name that `semblance pull` fetched, with options as in
            `minilm?pooling=max`; or a `SentenceTransformer` with its present settings, such as its maximum length.
        compute: where and how it runs, such as `Compute(precision="bfloat16")`; by default in float32 on the CPU. A
            `SentenceTransformer` stays as it is.

    Raises:
        BadCheckpoint: files are missing, damaged or not supported, an option is unknown, or a `SentenceTransformer` has
            no fast tokenizer.
        MissingExtra: a network that is not a BERT, or a GPU, needs torch, which is not installed.
    """
    if not isinstance(source, str):
        from semblance.models.encoders.sentence_transformer import (  # noqa: PLC0415 - imports torch
            SentenceTransformerEncoder,
        )

        return SentenceTransformerEncoder(source)
    from semblance.models.runtime import Compute  # noqa: PLC0415 - imports numpy
    from semblance.service.model_loading.registry import read_source  # noqa: PLC0415 - imports numpy and tokenizers

    return read_source(source).load(source, compute or Compute())


@overload
def encode(  # type: ignore[overload-overlap]  # a str is also an iterable of str
    texts: str, *, model: Model = "minilm-graded", role: Role = "query", truncate: Truncate = "END"
) -> TokenEmbeddings: ...


@overload
def encode(
    texts: Iterable[str], *, model: Model = "minilm-graded", role: Role = "query", truncate: Truncate = "END"
) -> list[TokenEmbeddings]: ...


def encode(
    texts: str | Iterable[str], *, model: Model = "minilm-graded", role: Role = "query", truncate: Truncate = "END"
) -> TokenEmbeddings | list[TokenEmbeddings]:
    """Encode a text, or those of a list, with token vectors; `pooled()` of each is the text's own.

    Args:
        texts: a text, or a list, a tuple, an array or a column of a table of them.
        model: as for `similarity`.
        role: what the texts are, for models that read a query and a document differently.
        truncate: the end at which a text that is too long is cut; NONE refuses it.

    Raises:
        BadTexts: a text has no token, is ill-formed, or is too long where `truncate` is NONE.
        ModelFailed: names the texts to which the model gives no finite vectors.
        BadCheckpoint, MissingExtra: as `load`.
        TypeError: an argument is none of these.
    """
    from semblance.models.encoders.batches import encode_in_batches  # noqa: PLC0415 - imports numpy

    listed, encoder = _listed(texts, "texts", str), _encoder(model)
    found = encode_in_batches(encoder, encoder.tokenize(listed, role, truncate), "tokens")
    return found[0] if isinstance(texts, str) else found


@overload
def similarity(  # type: ignore[overload-overlap]  # a str is also a sequence of str
    a: Text, b: Text, *, measure: str = "cosine", model: Model = "minilm-graded"
) -> float: ...


@overload
def similarity(
    a: Text | Iterable[Text],
    b: Text | Iterable[Text],
    *,
    measure: str = "cosine",
    model: Model = "minilm-graded",
    paired: bool = False,
) -> Doubles: ...


def similarity(
    a: Text | Iterable[Text],
    b: Text | Iterable[Text],
    *,
    measure: str = "cosine",
    model: Model = "minilm-graded",
    paired: bool = False,
) -> float | Doubles:
    """Score two texts, or every text of a list with every text of another, or with the one at its place.

    What exceeds the length of the model is not read, as `TokenizedText.truncated` tells.

    Args:
        a: a text or its embeddings, or a list, a tuple, an array or a column of a table of them.
        b: the same.
        measure: one of `measures()`; higher is more similar.
        model: a built-in name, a folder or a file, loaded once; a loaded model; or a `SentenceTransformer`, which is
            prepared at every call: `load` does it once.
        paired: whether each text of a list is scored with the text at the same place of the other list.

    Returns:
        The score of two texts; if one is a list, the scores (len(a), len(b)), where a single text counts as a list;
        with `paired`, the scores (len(a),).

    Raises:
        BadTexts, ModelFailed: as `encode`.
        UnknownName: no such measure.
        BadCheckpoint, MissingExtra: as `load`.
        TypeError: an argument is none of these.
        ValueError: lists that are paired have different lengths.
    """
    from semblance.models.alignment.pairwise import score_all_pairs  # noqa: PLC0415 - imports numpy
    from semblance.models.catalogue import similarity as find  # noqa: PLC0415 - imports numpy
    from semblance.models.embeddings import TokenEmbeddings  # noqa: PLC0415 - imports numpy

    found = find(measure)
    left, right = _listed(a, "a", str, TokenEmbeddings), _listed(b, "b", str, TokenEmbeddings)
    if paired:
        return _paired(found, left, right, model)
    embedded = _embedded([*left, *right], model)
    scores = score_all_pairs(found, embedded[: len(left)], embedded[len(left) :])
    one = isinstance(a, str | TokenEmbeddings) and isinstance(b, str | TokenEmbeddings)
    return float(scores[0, 0]) if one else scores


def explain(
    a: Text,
    b: Text,
    *,
    measure: str = "rcmd_words",
    model: Model = "minilm-graded",
    granularity: Granularity = "word",
    max_links: int = 200,
) -> Explanation:
    """Decompose the score of two texts into links between their words, as `Client.explain` does.

    It is a picture as the last line of a cell of a notebook, and text by `print`.

    Args:
        a: a text, or its embeddings.
        b: the same.
        measure: one of `measures()` whose score decomposes.
        model: as for `similarity`.
        granularity: whether links connect words or tokens.
        max_links: number of links to keep, the strongest ones; `omitted` is the sum of the others.

    Raises:
        NotExplainable: the score does not decompose.
        BadTexts, ModelFailed, UnknownName, BadCheckpoint, MissingExtra: as for `similarity`.
        TypeError: `a` or `b` is a list, or `model` is no model.
    """
    from semblance.models.catalogue import explainable  # noqa: PLC0415 - imports numpy
    from semblance.models.embeddings import TokenEmbeddings  # noqa: PLC0415 - imports numpy
    from semblance.service.usecases.explain.word_links import read_texts, strongest_links  # noqa: PLC0415 - likewise

    if not all(isinstance(each, str | TokenEmbeddings) for each in (a, b)):
        raise TypeError("explain takes two texts, or their embeddings: call it for each pair of a list")
    left, right = _embedded([a, b], model)
    explanation = explainable(measure).explain(left, right)
    links = explanation if granularity == "token" else explanation.by_word()
    return strongest_links(links, measure, read_texts(left, right), granularity, max_links)


def _listed(given: object, argument: str, *kinds: type) -> list[Any]:
    """A value of these kinds as a list of it, and others as the list of their items. Raises TypeError."""
    if isinstance(given, kinds):
        return [given]
    if not isinstance(given, Iterable):
        raise TypeError(f"{argument} must be a text or a list of texts, not {given!r}")
    listed = [*given]
    for position, each in enumerate(listed):
        if not isinstance(each, kinds):
            raise TypeError(f"{argument} must be a text or a list of texts: at {position} stands {each!r}")
    return listed


def _paired(measure: Similarity, left: list[Text], right: list[Text], model: Model) -> Doubles:
    """The scores of the texts at the same places, in blocks that bound the memory of tokens. Raises ValueError."""
    import numpy as np  # noqa: PLC0415 - takes longer than the package

    from semblance.models.judgments.pair_scorer import PAIRS_PER_BLOCK  # noqa: PLC0415 - imports numpy

    if len(left) != len(right):
        raise ValueError(f"paired lists must have the same length, not {len(left):,} and {len(right):,}")
    scores: list[float] = []
    for start in range(0, len(left), PAIRS_PER_BLOCK):
        block = slice(start, start + PAIRS_PER_BLOCK)
        embedded = _embedded([*left[block], *right[block]], model)  # together: a text of both is encoded once
        half = len(embedded) // 2
        scores += map(measure.score, embedded[:half], embedded[half:])
    return np.array(scores, np.float64)


def _embedded(texts: Iterable[Text], model: Model) -> list[TokenEmbeddings]:
    """The embeddings of texts; those given as embeddings are kept."""
    new = list(dict.fromkeys(each for each in texts if isinstance(each, str)))
    found = dict(zip(new, encode(new, model=model), strict=True)) if new else {}
    return [found[text] if isinstance(text, str) else text for text in texts]


def _encoder(model: Model) -> Encoder:
    """The encoder of a model; that of a name or a file is loaded once."""
    if isinstance(model, str):
        return _loaded(model)
    if not hasattr(model, "encode"):
        raise TypeError(
            f"model must be a built-in name, a folder, a file, a loaded model or a SentenceTransformer, not {model!r}"
        )
    if hasattr(model, "state_dict"):  # every module of torch has it, and no encoder
        return load(cast("SentenceTransformer", model))
    return model


@lru_cache
def _loaded(source: str) -> Encoder:
    return load(source)


def measures() -> tuple[str, ...]:
    """Names of all similarity measures."""
    from semblance.models.catalogue import measures as installed  # noqa: PLC0415 - imports numpy

    return installed()
