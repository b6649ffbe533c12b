"""The options that all of `semblance pairs` have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Out = Annotated[Path, typer.Option(help="Folder to write; it must not exist, or be empty.", file_okay=False)]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all draws.")]
Most = Annotated[int, typer.Option("--pairs", min=1, help="Most pairs of a set.")]
Memory = Annotated[int, typer.Option(min=100, help="Memory for the tables, in MB; what is more goes to disk.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Threads for the tables; the sets do not depend on it.", show_default="all")
]
