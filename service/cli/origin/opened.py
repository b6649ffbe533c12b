"""An origin folder, opened as the options ask, and what there is to say of how sentences were scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from semblance.models.origin.scoring.context_set import ContextSet
from semblance.models.origin.scoring.origin import Origin
from semblance.service.cli.origin.settings_file import settings_of
from semblance.service.model_loading.device import torch_device
from semblance.service.settings import read_settings


@dataclass(frozen=True, slots=True)
class Opening:
    """The options."""

    folder: Path
    config: Path | None
    size: int | None
    device: str | None

    def open(self) -> Origin:
        """The Origin of the folder.

        Raises:
            BadOrigin: the folder or the settings will not do.
            NoSuchDevice: torch cannot use it.
        """
        contexts = settings_of(self.folder, self.config).contexts
        if self.size is not None:
            contexts = contexts.model_copy(update={"size": self.size})
        return Origin.open(self.folder, torch_device(read_settings(device=self.device)), contexts)


@dataclass(slots=True)
class Oddities:
    """How many sentences there were, and of how many there is something to say."""

    sentences: int = 0
    fallback: int = 0
    topped_up: int = 0
    truncated: int = 0
    contexts: int = 0

    def count(self, sets: Sequence[ContextSet]) -> None:
        """Add the sets of so many sentences."""
        self.sentences += len(sets)
        self.fallback += sum(each.fallback for each in sets)
        self.topped_up += sum(each.topped_up for each in sets)
        self.truncated += sum(each.truncated for each in sets)
        self.contexts += sum(map(len, sets))

    def tell(self, console: Console) -> None:
        """Say it."""
        mean = self.contexts / max(1, self.sentences)
        console.print(f"{self.sentences:,} sentences, with {mean:,.1f} contexts each in the mean", markup=False)
        if self.fallback:
            console.print(
                f"{self.fallback:,} of them share no bigram with the corpus: their contexts are those of the nearest "
                "sentences",
                markup=False,
            )
        if self.topped_up:
            console.print(
                f"{self.topped_up:,} of them share bigrams with too few chunks: contexts of the nearest sentences top "
                "up theirs",
                markup=False,
            )
        if self.truncated:
            console.print(f"{self.truncated:,} of them were cut to the tokens that the models read", markup=False)
