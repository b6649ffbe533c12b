"""Options that several verbs of `semblance origin` have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from semblance.models.origin.scoring.scoring import Form as _Form

Folder: TypeAlias = Annotated[
    Path, typer.Argument(exists=True, file_okay=False, metavar="FOLDER", help="The origin folder.")
]
Form: TypeAlias = Annotated[
    _Form, typer.Option(help="How scores in contexts are compared: cosine as in the paper, centred as correlation.")
]
Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="YAML file with settings; the section `contexts` is read.",
        show_default="the settings of the corpus",
    ),
]
Size: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, help="Contexts of a sentence.", show_default="as in the settings"),
]
Device: TypeAlias = Annotated[
    str | None, typer.Option(help="Device of torch.", show_default="as SEMBLANCE_DEVICE says")
]
