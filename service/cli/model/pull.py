"""`semblance pull`: fetch a model from a model hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.filesize import decimal

from semblance.models.adaptation.adapted_model import read_model
from semblance.models.errors import BadCheckpoint, SemblanceError
from semblance.models.files.resumable import process_lock
from semblance.models.model_files.source import Source
from semblance.service.cli.toolbox.console import counter_bar, print_line
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.model_loading.builtin import BUILT_IN
from semblance.service.model_loading.pulled import HubName, hub_name, record_commit, recorded_commit
from semblance.service.model_loading.registry import read_source

if TYPE_CHECKING:
    from semblance.service.cli.model.hub import Hub, HubFile, ModelCommit

SHOWN = 10**6  # bytes of a file from which its size is shown


def pull(
    name: Annotated[
        str, typer.Argument(help="org/name or org/name@revision: a branch, tag or commit; by default main.")
    ],
) -> None:
    """Fetch a model from a model hub.

    A branch or tag is resolved to a commit, which is served until the model is pulled again. Only *.safetensors,
    *.json, *.txt and *.model are fetched, into the cache that the programs of Hugging Face share, and the digest of
    each file is checked. A pull that was stopped continues where it ended. The hub is that of HF_ENDPOINT, the cache is
    in HF_HOME, and HF_TOKEN is sent over https or to this machine only. Nothing else of Semblance calls a hub.

    \b
    Examples:
      semblance pull BAAI/bge-small-en-v1.5
      semblance serve --model bge=BAAI/bge-small-en-v1.5
      semblance pull org/name@v1.0
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    console = Console(stderr=True)
    stopped = f"stopped; `semblance pull {name}` continues where this ended"
    with exit_on(SemblanceError, OSError, stopped=stopped):
        if name in BUILT_IN:
            folder = read_source(name).location
            print_line(console, f"{name} is built in, and installed in {folder}: there is nothing to fetch")
            return
        found = hub_name(name)
        if found is None:
            raise BadCheckpoint(
                f"{name!r} is neither built in ({', '.join(BUILT_IN)}) nor of the form org/name or org/name@revision"
            )
        _pull(found, console)


def _pull(name: HubName, console: Console) -> None:
    from semblance.service.cli.model.hub import Hub, HubFailed  # noqa: PLC0415 - not needed for help

    hub, former = Hub(), recorded_commit(name)
    if not hub.accepts_token:
        print_line(console, f"{hub.address} is neither https nor on this machine: no token is sent")
    commit = hub.commit(name)
    folder = name.snapshot(commit.sha)
    lock = name.cache.parent / ".locks" / name.cache.name / "semblance.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with process_lock(lock, HubFailed(f"another process is pulling {name.repository}")):
        _fetch(hub, commit, folder, console)
        try:
            read_model(Source(folder))
        except BadCheckpoint as error:
            served = f"commit {former} stays the one that is served; " if former else ""
            raise HubFailed(
                f"{name} was fetched, but cannot be served: {error}; {served}if no other program uses them, delete its "
                f"files in {folder}"
            ) from error
        record_commit(name, commit.sha)
    before = f", before {former}" if former not in (None, commit.sha) else ""
    print_line(console, f"{name} is commit {commit.sha}{before}; semblance serve --model my-model={name}")


def _fetch(hub: Hub, commit: ModelCommit, folder: Path, console: Console) -> None:
    """Show the sizes of the files of a commit, and fetch them."""
    files: list[HubFile] = hub.needed_files(commit)
    total = sum(file.size for file in files)
    print_line(console, f"{commit.name}, commit {commit.sha}: {len(files)} files, {decimal(total)}, into {folder}")
    for file in files:
        if file.size >= SHOWN:
            print_line(console, f"  {file.path}: {decimal(file.size)}")
    with counter_bar(console, "fetching", total, of_bytes=True) as advance:
        for file in files:
            hub.fetch(commit, file, advance)
