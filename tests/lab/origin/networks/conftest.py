"""A tiny origin folder, with an untrained coherence model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.origin.tiny_networks import write_tiny_origin, write_untrained_coherence


@pytest.fixture(scope="package")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpus, vocabulary, tokens, and a coherence model of random weights with its vectors; read-only."""
    folder = write_tiny_origin(tmp_path_factory.mktemp("origin") / "untrained")
    write_untrained_coherence(folder)
    return folder
