"""`semblance origin corpus`: running text, made ready to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.service.cli.comma_lists import entries
from semblance.service.cli.train_extra import needing_train


def corpus(
    texts: Annotated[
        list[Path], typer.Argument(exists=True, metavar="TEXT...", help="Folders, or files *.jsonl and *.txt.")
    ],
    out: Annotated[Path, typer.Option(help="The origin folder.", file_okay=False)],
    config: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file with settings, a section a step.")
    ] = None,
    exclude: Annotated[
        list[str],
        typer.Option(
            help="Sets whose texts no sentence may be, comma-separated; `evaluation` is every set in --data that is "
            "not meant for training. Case, punctuation and spaces make no difference."
        ),
    ] = [],  # noqa: B006 - Typer copies it
    data: Annotated[
        Path | None, typer.Option(envvar="SEMBLANCE_DATA", help="Folder of benchmark data, for --exclude.")
    ] = None,
) -> None:
    """Make a corpus of running text, and what finds its way in it: vocabulary, tokens and an index of bigrams.

    A file *.txt is a document, paragraphs between blank lines; a line of *.jsonl is a paragraph, {"doc": ..., "par":
    ..., "text": ...}, or has "sentences" in the place of "text". What comes twice is taken once. Some documents are
    held out, for tests of the models. Writes the folders corpus, vocabulary, tokens and screening, and origin.json;
    each appears once it is whole, and the same command goes on where it was cut off.

    \b
    Examples:
      semblance origin corpus texts/ --out runs/origin
      semblance origin corpus "$SEMBLANCE_DATA/text" --exclude evaluation --data "$SEMBLANCE_DATA" --out runs/origin
      semblance origin corpus book.txt letters.jsonl --config origin.yaml --out runs/origin
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("origin corpus"):
        from semblance.service.cli.origin.corpus_steps import make_corpus  # noqa: PLC0415 - with it comes what learns
        from semblance.service.cli.origin.settings_file import read_settings_file  # noqa: PLC0415

    try:
        make_corpus(texts, out, read_settings_file(config), (entries(exclude), data), Console(stderr=True))
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
    except KeyboardInterrupt:
        raise SystemExit("stopped: the same command goes on from the last folder that is whole") from None
