"""Everything that is made of links, written to a folder: benchmarks first, then the pairs that they leave."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from semblance.models.corpora.held_out import Benchmark, Ranking, Sizes, draw_rankings, hold_out
from semblance.models.corpora.links import count_links
from semblance.models.corpora.pair_sets import Pair, PairSet, draw_pairs, free_links
from semblance.models.corpora.tables import Tables


@dataclass(frozen=True, slots=True)
class Plan:
    """What is wanted.

    Attributes:
        benchmarks: drawn first; what they use is held out of all pair sets.
        pair_sets: drawn then.
        sizes: of each benchmark.
        pairs: most pairs of a set.
        seed: of all draws.
    """

    benchmarks: Sequence[Benchmark]
    pair_sets: Sequence[PairSet]
    sizes: Sizes
    pairs: int = 250_000
    seed: int = 42


@dataclass(slots=True)
class Made:
    """How much there was and how much became of it, by name: links, queries of benchmarks, and pairs."""

    links: dict[str, int] = field(default_factory=dict)
    queries: dict[str, int] = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)


def make_sets(tables: Tables, plan: Plan, out: Path) -> Made:
    """Draw the sets of a plan from the table `links`, and write those that are not empty.

    ============================ ==========================================================================
    `ranking/<name>.jsonl`       a query a line, as `semblance.models.evaluation.datasets.ranking` reads it, with ids
    `<name>.tsv`                 a table by tabs with the columns text_a, text_b, id_a and id_b; no quotes
    ============================ ==========================================================================

    Raises:
        OSError: a file cannot be written.
        BadDataSet: the tables cannot be made.
    """
    made = Made(links=count_links(tables))
    tables.create("held_out", ("id", "text"))
    (out / "ranking").mkdir(parents=True)
    for benchmark in plan.benchmarks:
        rankings = draw_rankings(tables, benchmark, plan.sizes, plan.seed)
        hold_out(tables, benchmark, rankings)
        lines = map(_ranking_line, rankings)
        made.queries[benchmark.name] = _write(out / "ranking" / f"{benchmark.name}.jsonl", "", lines)
    free_links(tables)
    for pair_set in plan.pair_sets:
        pairs = map("\t".join, draw_pairs(tables, pair_set, plan.pairs, plan.seed))
        made.pairs[pair_set.name] = _write(out / f"{pair_set.name}.tsv", "\t".join(Pair._fields) + "\n", pairs)
    return made


def _ranking_line(ranking: Ranking) -> str:
    ids, texts = zip(*ranking.candidates, strict=True)
    shown = {"query": ranking.query[1], "candidates": texts, "relevance": ranking.relevance}
    return json.dumps({**shown, "query_id": ranking.query[0], "candidate_ids": ids}, ensure_ascii=False)


def _write(file: Path, header: str, lines: Iterable[str]) -> int:
    """Write lines, and say how many; without any there is no file."""
    count = 0
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write(header)
        for count, line in enumerate(lines, 1):  # noqa: B007 - the last number is the count
            stream.write(f"{line}\n")
    if not count:
        file.unlink()
    return count
