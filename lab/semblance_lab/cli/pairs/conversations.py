"""`semblance pairs tweets` and `threads`: pairs and rankings from conversations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.models.files.lines import Advance
from semblance.service.cli.toolbox.console import print_counts, progress_bars
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import OutFolder, Seed
from semblance.service.cli.toolbox.outputs import atomic_folder
from semblance_lab.corpora.archive import read_tweets, tweet_files
from semblance_lab.corpora.tweets import Tally

if TYPE_CHECKING:
    from semblance_lab.corpora.sets import CorpusPlan, SetCounts
    from semblance_lab.corpora.tables import Tables

Positives: TypeAlias = Annotated[int, typer.Option(min=1, help="Positives per query.")]
Negatives: TypeAlias = Annotated[int, typer.Option(min=1, help="Negatives per query.")]
MaxPairs: TypeAlias = Annotated[int, typer.Option("--pairs", min=1, help="Maximum pairs per set.")]
Memory: TypeAlias = Annotated[int, typer.Option(min=100, help="Memory for tables in MB; the rest spills to disk.")]
Threads: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Threads for tables; the result does not depend on it.", show_default="all")
]


def tweets(  # noqa: PLR0913 - one parameter an option
    *,
    path: Annotated[Path, typer.Argument(exists=True, metavar="PATH", help="Folder searched recursively, or a file.")],
    out: OutFolder,
    queries: Annotated[int, typer.Option(min=0, help="Maximum queries per ranking; 0 for none.")] = 5_000,
    positives: Positives = 5,
    negatives: Negatives = 25,
    pairs: MaxPairs = 250_000,
    seed: Seed = 42,
    memory_mb: Memory = 1_000,
    threads: Threads = None,
) -> None:
    """Mine pairs and rankings from tweets, quotes and replies.

    Reads *.json.bz2, *.json.gz, *.json and *.jsonl with one tweet a line, in the format of Twitter's streams or with
    the fields id, text, lang, in_reply_to, quoted_id, quoted_text and quoted_lang; and *.tsv with these columns.
    Invalid lines are counted and skipped. Writes the pairs quotes.tsv, replies.tsv, co_quotes.tsv and co_replies.tsv
    (columns text_a, text_b, id_a, id_b), the held-out rankings ranking/dq.jsonl, cq, dr and cr, which share no tweet
    with the pairs, and about.json. The folder appears when it is complete. See docs/pairs.md.

    \b
    Examples:
      semblance pairs tweets archive/2020-11 --out pairs
      semblance pairs tweets tweets.tsv --out pairs --queries 100 --pairs 10000
      semblance evaluate --sets dq,cq,dr,cr --data pairs
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance_lab.corpora.links import link_tweets  # noqa: PLC0415 - imports duckdb, which --help does not need
    from semblance_lab.corpora.rankings import TWEET_BENCHMARKS, Sizes  # noqa: PLC0415 - likewise
    from semblance_lab.corpora.sets import TWEET_PAIRS, CorpusPlan  # noqa: PLC0415 - likewise

    def link(tables: Tables, tally: Tally, advance: Advance) -> dict[str, int]:
        return {"tweets": link_tweets(tables, read_tweets(files, tally, advance))}

    plan = CorpusPlan(TWEET_BENCHMARKS, TWEET_PAIRS, Sizes(queries, positives, negatives), pairs, seed)
    with exit_on(SemblanceError, OSError):
        files = tweet_files(path)
        make_pair_sets(files, link, plan, (memory_mb, threads), out)


def threads(  # noqa: PLR0913 - one parameter an option
    *,
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, metavar="FILE", help="Table with one pair of linked texts a row."),
    ],
    out: OutFolder,
    held_out: Annotated[int, typer.Option(min=0, help="Maximum held-out threads, one query each.")] = 500,
    positives: Positives = 1,
    negatives: Negatives = 29,
    pairs: MaxPairs = 250_000,
    seed: Seed = 42,
    memory_mb: Memory = 1_000,
    threads: Threads = None,
) -> None:
    """Mine pairs and a ranking from threads of linked texts.

    Reads a TSV table with the columns tweet_id1, text1 (the earlier text), tweet_id2 and text2. A thread is a connected
    component of these links. Writes threads.tsv (columns text_a, text_b, id_a, id_b), ranking/threads.jsonl with
    queries for other texts of held-out threads, and about.json. The folder appears when it is complete.

    \b
    Examples:
      semblance pairs threads threads.tsv --out support --held-out 500
      semblance pairs threads threads.tsv --out support --positives 5 --negatives 25
      semblance evaluate --sets ranking:support/ranking/threads.jsonl
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    from semblance_lab.corpora.links import link_threads  # noqa: PLC0415 - imports duckdb, which --help does not need
    from semblance_lab.corpora.rankings import THREAD_BENCHMARK, Sizes  # noqa: PLC0415 - likewise
    from semblance_lab.corpora.sets import THREAD_PAIRS, CorpusPlan  # noqa: PLC0415 - likewise

    def link(tables: Tables, tally: Tally, advance: Advance) -> dict[str, int]:
        return {"threads": link_threads(tables, file, tally, advance)}

    plan = CorpusPlan((THREAD_BENCHMARK,), (THREAD_PAIRS,), Sizes(held_out, positives, negatives), pairs, seed)
    with exit_on(SemblanceError, OSError):
        make_pair_sets([file], link, plan, (memory_mb, threads), out)


def make_pair_sets(
    files: Sequence[Path],
    link: Callable[[Tables, Tally, Advance], dict[str, int]],
    plan: CorpusPlan,
    resources: tuple[int, int | None],
    out: Path,
) -> None:
    """Link the texts of the files, sample and write the sets, and print a summary.

    Args:
        files: input files; the progress bar counts their bytes.
        link: fills the table `links` and returns counts of what it read.
        plan: the sets.
        resources: memory of the tables in MB, and their threads, None for all cores.
        out: folder to create.

    Raises:
        SemblanceError: a file is invalid, or `out` is not empty.
        OSError: reading or writing failed.
    """
    from semblance_lab.corpora.sets import make_sets  # noqa: PLC0415 - imports duckdb, which --help does not need
    from semblance_lab.corpora.tables import Tables  # noqa: PLC0415 - likewise

    tally, console = Tally(), Console(stderr=True)
    with (
        atomic_folder(out) as (result, scratch),
        closing(Tables(scratch, *resources)) as tables,
    ):
        with progress_bars(console, of_bytes=True) as bar:
            reading = bar.add_task("reading", total=sum(file.stat().st_size for file in files))
            counts = link(tables, tally, lambda read: bar.advance(reading, read))
            bar.remove_task(reading)
            drawing = bar.add_task("drawing", total=None)
            sets = make_sets(tables, plan, result)
            bar.remove_task(drawing)
        _write_about(result / "about.json", plan, tally, counts, sets)
    _print_summary(tally, counts, sets)
    console.print(f"{out}: {sum(sets.pairs.values()):,} pairs, {sum(sets.queries.values()):,} queries", markup=False)


def _write_about(file: Path, plan: CorpusPlan, tally: Tally, counts: dict[str, int], sets: SetCounts) -> None:
    """Record how the sets were made."""
    about = {
        "semblance": version("semblance-server"),
        "seed": plan.seed,
        "most_pairs": plan.pairs,
        "rankings": asdict(plan.sizes),
        "lines": tally.lines,
        "kept": tally.kept,
        "refused": tally.refused,
        "refused_quoted": tally.refused_quoted,
        "damaged": [str(path) for path in tally.damaged],
        **counts,
        **asdict(sets),
    }
    file.write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def _print_summary(tally: Tally, counts: dict[str, int], sets: SetCounts) -> None:
    """Print one row a count."""
    sections: list[Mapping[str, int]] = [
        {"lines read": tally.lines, "kept": tally.kept},
        _labeled("refused: {}", dict(tally.refused.most_common())),
        _labeled("quoted tweet refused: {}", dict(tally.refused_quoted.most_common())),
        _labeled("truncated file, read up to the damage: {}", {str(path): 1 for path in tally.damaged}),
        {**counts, **_labeled("links: {}", sets.links)},
        _labeled("queries of the ranking {}", sets.queries),
        _labeled("pairs: {}", sets.pairs),
    ]
    print_counts("summary of the input", sections)


def _labeled(label: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {label.format(name): count for name, count in counts.items()}
