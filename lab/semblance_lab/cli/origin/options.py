"""Options of `semblance origin`, and an origin folder opened by them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from pydantic import ValidationError
from rich.console import Console

from semblance.service.cli.toolbox.console import print_line
from semblance.service.model_loading.device import torch_device
from semblance.service.settings import read_settings
from semblance_lab.cli.yaml_settings import read_yaml_settings
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.origin_folder import read_about
from semblance_lab.origin.origin_settings import OriginSettings
from semblance_lab.origin.scoring.scoring import Form as _Form

if TYPE_CHECKING:
    from semblance_lab.origin.scoring.contexts import SetSummary
    from semblance_lab.origin.scoring.origin import Origin

Folder: TypeAlias = Annotated[
    Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="Origin folder.")
]
Form: TypeAlias = Annotated[
    _Form,
    typer.Option(
        help="Comparison of scores in contexts: cosine as in the paper, centred, a correlation, or double_centred, "
        "that of scores relative to other sentences."
    ),
]
Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="YAML file with settings, one section a step.",
        show_default="the settings of the corpus",
    ),
]
Size: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, help="Contexts per sentence.", show_default="as in the settings"),
]
Device: TypeAlias = Annotated[str | None, typer.Option(help="Torch device.", show_default="SEMBLANCE_DEVICE")]


@dataclass(frozen=True, slots=True)
class OriginOptions:
    """Origin folder, settings file, number of contexts and device."""

    folder: Path
    config: Path | None
    size: int | None
    device: str | None

    def open(self) -> Origin:
        """Load the networks of the folder.

        Raises:
            BadOrigin: the folder or the settings are invalid.
            NoSuchDevice: torch cannot use it.
        """
        from semblance_lab.origin.scoring.origin import Origin  # noqa: PLC0415 - imports torch, which takes seconds

        contexts = settings_of(self.folder, self.config).contexts
        if self.size is not None:
            contexts = contexts.model_copy(update={"size": self.size})
        return Origin.open(self.folder, torch_device(read_settings(device=self.device)), contexts)


@dataclass(slots=True)
class SentenceCounts:
    """Number of scored sentences, and of those with fallback, topped-up or truncated contexts."""

    sentences: int = 0
    fallback: int = 0
    topped_up: int = 0
    truncated: int = 0
    contexts: int = 0

    def count(self, sets: Collection[SetSummary]) -> None:
        """Add the context sets of more sentences."""
        self.sentences += len(sets)
        self.fallback += sum(each.fallback for each in sets)
        self.topped_up += sum(each.topped_up for each in sets)
        self.truncated += sum(each.truncated for each in sets)
        self.contexts += sum(each.contexts for each in sets)

    def report(self, console: Console) -> None:
        """Print the counts that are not zero."""
        mean = self.contexts / max(1, self.sentences)
        print_line(console, f"{self.sentences:,} sentences, {mean:,.1f} contexts each on average")
        for count, what in (
            (self.fallback, "share no bigram with the corpus and use contexts of the nearest sentences"),
            (
                self.topped_up,
                "share bigrams with too few chunks and use more contexts, of the nearest sentences",
            ),
            (self.truncated, "were truncated to the input length of the models"),
        ):
            if count:
                print_line(console, f"{count:,} of them {what}")


def read_settings_file(path: Path | None) -> OriginSettings:
    """Read a YAML file with one section a step; without a file, the defaults.

    Raises:
        BadOrigin: the file cannot be read, or a setting is unknown or invalid.
    """
    return read_yaml_settings(path, OriginSettings, BadOrigin, "for Origin", "docs/origin.md")


def settings_of(folder: Path, config: Path | None) -> OriginSettings:
    """The settings of a file; without one, those of the corpus in the origin folder.

    Raises:
        BadOrigin: as `read_settings_file`, or the folder is of another version.
    """
    if config is not None:
        return read_settings_file(config)
    try:
        return OriginSettings.model_validate(read_about(folder).get("settings", {}))
    except ValidationError as error:
        raise BadOrigin(f"the settings in {folder} are of another version; pass --config: {error}") from error
