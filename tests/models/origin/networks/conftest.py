"""A tiny origin folder, with an untrained coherence model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.origin.tiny_networks import write_tiny_origin, write_untrained_coherence


@pytest.fixture(scope="package")
def corpus_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpus, vocabulary and tokens; read-only."""
    return write_tiny_origin(tmp_path_factory.mktemp("origin") / "corpus")


@pytest.fixture(scope="package")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a coherence model of random weights, and its vectors; read-only."""
    folder = write_tiny_origin(tmp_path_factory.mktemp("origin") / "untrained")
    write_untrained_coherence(folder)
    return folder
