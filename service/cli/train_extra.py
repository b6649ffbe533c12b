"""What training, pair mining and Origin need, and serving does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_OF_THE_EXTRA = (
    "accelerate",
    "datasets",
    "duckdb",
    "gensim",
    "peft",
    "pyarrow",
    "sentence_transformers",
    "sentencex",
    "sklearn",
    "yaml",
)


@contextmanager
def needing_train(verb: str) -> Iterator[None]:
    """Imports that come with the extra `train`; ends the program with what to do where they are missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _OF_THE_EXTRA:
            raise
        raise SystemExit(
            f"`semblance {verb}` needs {error.name}, which is not installed: install semblance with the extra train, "
            "as in pip install '.[cpu,train]'"
        ) from error
