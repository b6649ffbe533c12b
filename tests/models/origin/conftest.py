"""An origin folder that is trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.origin.networks.training import Training, train_networks
from tests.models.origin.tiny_networks import SETTINGS, write_tiny_origin


@pytest.fixture(scope="package")
def corpus_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Corpus, vocabulary and tokens: not to be written to."""
    return write_tiny_origin(tmp_path_factory.mktemp("origin") / "corpus")


@pytest.fixture(scope="package")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with both kinds of networks: not to be written to."""
    folder = write_tiny_origin(tmp_path_factory.mktemp("origin") / "trained")
    train_networks(Training(folder, SETTINGS), lambda *_: None)
    return folder
