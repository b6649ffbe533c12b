"""Options that several verbs have, and lists separated by commas."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

LOCAL_URL = "http://127.0.0.1:8000"
FILTER_EXAMPLE = '{"category": "shipping"}'


def known_address(home: Path | None = None) -> str | None:
    """Address of the service to ask without --url, if it is known.

    Args:
        home: whose service is asked; None for that of SEMBLANCE_URL, or else the one on the usual home.
    """
    from semblance.service.documents.databases.lock import named_address  # noqa: PLC0415 - `--help` needs none

    if home is None and (url := os.environ.get("SEMBLANCE_URL")):
        return url
    return named_address(home or Path(os.environ.get("SEMBLANCE_HOME", "~/.semblance")))


def filter_of(text: str) -> dict[str, Any]:
    """A filter as JSON. Raises BadParameter."""
    try:
        value = json.loads(text)
    except ValueError as error:
        field, _, wanted = text.partition("=")
        example = json.dumps({field: wanted}, ensure_ascii=False) if wanted else FILTER_EXAMPLE
        raise typer.BadParameter(f"it is not JSON ({error}); give an object such as '{example}'") from error
    if not isinstance(value, dict):
        raise typer.BadParameter(f"give an object such as {FILTER_EXAMPLE}")
    return value


Served: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Model to serve: minilm-graded, minilm-words, minilm-clrcmd, minilm, multilingual, mpnet or mpnet-clrcmd "
        "(built in; the last three are installed by `scripts/install multilingual,mpnet`), or "
        "name=source?option=value&..., where source is a built-in name, a folder, a file, or a name that "
        "`semblance pull` fetched. A path with a slash or org/name may stand alone: its last part, in lower case, is "
        "the name. Repeatable; the first is the default.",
        show_default="minilm-graded, minilm-words, minilm-clrcmd, minilm",
    ),
]
Url: TypeAlias = Annotated[
    str,
    typer.Option(
        default_factory=lambda: known_address() or LOCAL_URL,
        help="Address of the running service.",
        show_default=f"SEMBLANCE_URL, that of the service on ~/.semblance, or {LOCAL_URL}",
    ),
]
StoppedHome: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Folder of the documents; no service may be running on it.", show_default="~/.semblance"),
]
Data: TypeAlias = Annotated[
    Path | None, typer.Option(envvar="SEMBLANCE_DATA", help="Folder of benchmark data (docs/measures.md).")
]
IdField: TypeAlias = Annotated[str | None, typer.Option(help="Field with the id.", show_default="id or _id")]
TextFields: TypeAlias = Annotated[
    list[str], typer.Option(help="Field with the text; repeatable, then joined.", show_default="title and text")
]
OutFolder: TypeAlias = Annotated[
    Path, typer.Option(help="Folder to create; it may exist if it is empty.", file_okay=False)
]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Seed of the sampling.")]
JsonFile: TypeAlias = Annotated[Path | None, typer.Option(help="Write all figures to this file.", dir_okay=False)]
ReportFolder: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write report.md with plots to this folder.", file_okay=False)
]
Resamples: TypeAlias = Annotated[int, typer.Option(min=100, help="Bootstrap resamples for the intervals.")]
SameFrom: TypeAlias = Annotated[
    float | None, typer.Option(help="Grade from which graded pairs count as the same, such as 4.")
]
Columns: TypeAlias = Annotated[
    list[str],
    typer.Option(help="Columns of your own tables, comma-separated, as sentence1=NAME.", show_default="their names"),
]
Exclude: TypeAlias = Annotated[
    list[str],
    typer.Option(
        help="Data sets, comma-separated, whose texts of at least four words are left out; `evaluation` means every "
        "set in --data that is not for training, and the panel. Case, punctuation and spaces are ignored."
    ),
]


ServiceAddress: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Address of a running service.",
        show_default=f"SEMBLANCE_URL, that of the service on the home, or {LOCAL_URL}, if one runs there",
    ),
]
OpenedHome: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Folder of documents to open in this process, in place of a service.",
        show_default="~/.semblance, if no service runs",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the response as JSON.")]
MeasureName: TypeAlias = Annotated[str | None, typer.Option(help="Similarity measure.")]
ModelName: TypeAlias = Annotated[str | None, typer.Option(help="Served model.", show_default="the default one")]
InCollection: TypeAlias = Annotated[str, typer.Option("--collection", "-c", help="Collection of the documents.")]
Condition: TypeAlias = Annotated[
    dict[str, Any] | None,
    typer.Option(
        "--filter",
        metavar="JSON",
        parser=filter_of,
        help=f"Conditions on metadata, such as '{FILTER_EXAMPLE}'.",
    ),
]


def split_lists(values: Iterable[str]) -> list[str]:
    """Unique entries of comma-separated lists, in order.

    >>> split_lists(["stsb, sickr", "stsb"])
    ['stsb', 'sickr']
    """
    return list(dict.fromkeys(filter(None, (part.strip() for value in values for part in value.split(",")))))


def require_entries(values: Iterable[str], option: str) -> list[str]:
    """As `split_lists`. Raises BadParameter if there is no entry."""
    entries = split_lists(values)
    if not entries:
        raise typer.BadParameter("name at least one", param_hint=option)
    return entries
