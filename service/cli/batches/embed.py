"""`semblance embed`: encode files of texts into files of vectors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from semblance.models.errors import BadDataSet, SemblanceError
from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.resumable import LOCK, process_lock
from semblance.service.cli.batches.engines import Address, EngineOption, Runner
from semblance.service.cli.toolbox.console import print_line, progress_bars
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import IdField, TextFields
from semblance.service.settings import read_settings

if TYPE_CHECKING:
    from semblance.service.cli.batches.encode_file import EmbedTask, FileCounts


def embed(  # noqa: PLR0913 - one parameter an option
    source: Annotated[
        Path, typer.Argument(exists=True, metavar="IN", help="File of texts, or a folder of such files.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", file_okay=False, help="Folder of the files of vectors.")],
    *,
    model: Annotated[
        str | None,
        typer.Option(help="Model, as for `semblance serve`, or its folder.", show_default="the default model"),
    ] = None,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Write token codes, too, for collections with tokens.")
    ] = False,
    id_field: IdField = None,
    text_field: TextFields = [],  # noqa: B006 - Typer copies it
    engine: EngineOption = "local",
    address: Address = None,
) -> None:
    """Encode files of texts into files of vectors.

    Reads Parquet, JSONL, CSV and TSV as `semblance index` does, and writes for each file a Parquet file with the
    vectors that the service would store, in the order of its rows; texts that the service would reject are rows with an
    error. A file is complete or absent, and is named by its content and the model: after a crash or Ctrl-C the same
    command goes on, and at most the files under way are encoded again. `semblance index OUT --vectors` stores them in a
    collection. docs/batches.md has the details.

    \b
    Examples:
      semblance embed texts/ vectors/
      semblance embed help.jsonl.gz vectors/ --model runs/my-model --tokens
      semblance embed texts/ vectors/ --engine ray
      semblance index vectors/ --collection help --vectors
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    console = Console(stderr=True)
    settings = read_settings()
    with exit_on(SemblanceError, OSError, stopped="stopped; the same command encodes the files that are left"):
        batch = _InputFiles.find(source, out, model)
        tasks = batch.tasks(id_field, text_field, tokens=tokens)
        out.mkdir(parents=True, exist_ok=True)
        with process_lock(out / LOCK, BadDataSet(f"another process is writing to {out}")):
            problems = _run(tasks, Runner(engine, address, settings), out, console)
    if problems:
        if [each.name for each in out.iterdir()] == [LOCK]:  # nothing was written
            rmtree(out)
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _InputFiles:
    """Files of texts, below a folder, and where their vectors go."""

    folder: Path
    files: Sequence[Path]
    out: Path
    model: str | None
    space: str

    @classmethod
    def find(cls, source: Path, out: Path, model: str | None) -> _InputFiles:
        """Find the files of a batch, and the space of their vectors. Raises SemblanceError."""
        from semblance.service.files.sources import is_table  # noqa: PLC0415 - --help needs none of it
        from semblance.service.model_loading.device import find_model  # noqa: PLC0415 - likewise

        _, found = find_model(model, read_settings())
        if source.is_file():
            return cls(source.parent, [source], out, model, found.space)
        inside = (each for each in sorted(source.rglob("*")) if not each.is_relative_to(out))
        files = [each for each in inside if each.is_file() and is_table(each)]
        if not files:
            raise BadDataSet(f"{source} has no file of texts: they end in .parquet, .jsonl, .csv or .tsv")
        return cls(source, files, out, model, found.space)

    def tasks(self, id_field: str | None, text_fields: Sequence[str], *, tokens: bool) -> list[EmbedTask]:
        """A task for each file.

        The space names its result, since it is the same on all machines, whatever build runs there.
        """
        from semblance.service.cli.batches.encode_file import EmbedTask  # noqa: PLC0415 - imports much of the service

        def task(file: Path) -> EmbedTask:
            content = digest(
                file=str(file.relative_to(self.folder)),
                sha256=file_sha256(file),
                space=self.space,
                fields=[id_field, *text_fields],
                tokens=tokens,
            )
            target = self.out.resolve() / f"{Path(file.name.removesuffix('.gz')).stem}-{content[:32]}.parquet"
            size = max(1, file.stat().st_size)
            return EmbedTask(file.resolve(), target, size, self.model, id_field, tuple(text_fields), tokens)

        return [task(file) for file in self.files]


def _run(tasks: Sequence[EmbedTask], runner: Runner, out: Path, console: Console) -> list[str]:
    """Encode what is not there, print counts, and return messages of unreadable files."""
    from semblance.service.cli.batches.encode_file import encode_file  # noqa: PLC0415 - imports much of the service

    _remove_partial_files(out)
    left = [task for task in tasks if not task.target.exists()]
    counts: list[FileCounts] = []
    start = time.monotonic()
    if left:
        with progress_bars(console, of_bytes=True) as bar:
            shown = bar.add_task(f"{len(left):,} files", total=sum(each.size for each in left))
            for task, result in runner.run(encode_file, left, lambda done: bar.update(shown, completed=done)):
                counts.append(result)
                if result.guessed:
                    print_line(console, f"{task.source}: {result.guessed}")
        _remove_partial_files(out)
    seconds = time.monotonic() - start
    problems = [count.problem for count in counts if count.problem is not None]
    for problem in problems:
        print_line(console, problem)
    for line in _summary(counts, len(tasks) - len(left), seconds):
        print_line(console, f"{out}: {line}")
    return problems


def _remove_partial_files(out: Path) -> None:
    """Remove what a killed run, or a killed worker process, was writing."""
    for partial in out.glob("*.partial"):
        partial.unlink(missing_ok=True)


def _summary(counts: Sequence[FileCounts], earlier: int, seconds: float) -> Iterator[str]:
    read = [count for count in counts if count.problem is None]
    rows = sum(each.rows for each in read)
    rate = f"; {rows / seconds:,.1f} rows/s" if rows else ""
    if read or earlier:
        yield f"{rows:,} rows in {len(read):,} new files, {earlier:,} files from earlier runs{rate}"
    if refused := sum(each.refused for each in read):
        yield f"{refused:,} rows have an error in place of a vector"
    if truncated := sum(each.truncated for each in read):
        yield f"{truncated:,} texts were truncated to the model's input length"
    if unreadable := len(counts) - len(read):
        yield f"{unreadable:,} files cannot be read"
