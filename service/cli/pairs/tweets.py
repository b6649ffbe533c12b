"""`semblance pairs tweets`: pairs and rankings of tweets, quotes and replies, as in Twitter4SSE."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.models.errors import SemblanceError
from semblance.service.cli.pairs.options import Memory, Most, Out, Seed, Threads
from semblance.service.cli.train_extra import needing_train


def tweets(  # noqa: PLR0913 - one parameter an option
    *,
    path: Annotated[
        Path, typer.Argument(exists=True, metavar="PATH", help="Folder of tweets at any depth, or a file.")
    ],
    out: Out,
    queries: Annotated[int, typer.Option(min=0, help="Most queries of each ranking; 0 for none.")] = 5_000,
    positives: Annotated[int, typer.Option(min=1, help="Positives of a query.")] = 5,
    negatives: Annotated[int, typer.Option(min=1, help="Negatives of a query.")] = 25,
    pairs: Most = 250_000,
    seed: Seed = 42,
    memory_mb: Memory = 1_000,
    threads: Threads = None,
) -> None:
    """Make pairs of tweets that quote or answer each other, and rankings of other ones.

    Reads *.json.bz2, *.json.gz, *.json and *.jsonl with a tweet a line, as Twitter's streams gave them or with the
    fields id, text, lang, in_reply_to, quoted_id, quoted_text and quoted_lang; and *.tsv with such columns. Lines that
    will not do are counted and passed over. Writes quotes.tsv, replies.tsv, co_quotes.tsv and co_replies.tsv (columns
    text_a, text_b, id_a, id_b), ranking/dq.jsonl, cq, dr and cr, of which no tweet is in any of the pairs, and
    about.json. The folder appears once all is written. See docs/pairs.md.

    \b
    Examples:
      semblance pairs tweets archive/2020-11 --out pairs
      semblance pairs tweets tweets.tsv --out pairs --queries 100 --pairs 10000
      semblance evaluate --sets dq,cq,dr,cr --data pairs
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with needing_train("pairs"):
        from semblance.models.corpora import held_out, pair_sets  # noqa: PLC0415 - with them comes DuckDB, of the extra train
        from semblance.models.corpora.archive import read_tweets, tweet_files  # noqa: PLC0415
        from semblance.models.corpora.links import link_tweets  # noqa: PLC0415
        from semblance.models.corpora.sets import Plan  # noqa: PLC0415
        from semblance.service.cli.pairs.making import Resources, make  # noqa: PLC0415

    sizes = held_out.Sizes(queries, positives, negatives)
    plan = Plan(held_out.OF_TWEETS, pair_sets.OF_TWEETS, sizes, pairs, seed)
    try:
        files = tweet_files(path)
        make(
            files,
            lambda tables, tally, advance: {"tweets": link_tweets(tables, read_tweets(files, tally, advance))},
            plan,
            Resources(memory_mb, threads),
            out,
        )
    except (SemblanceError, OSError) as error:
        raise SystemExit(str(error)) from error
