"""`semblance duplicates`: near-duplicates in a collection."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console
from rich.progress import Progress
from semblance_client import Client
from semblance_client import SemblanceError as ServiceError

from semblance.service.cli.toolbox.options import LOCAL_URL, Url

PAGE = 100
NEAREST, MOST = 100, 1000  # neighbors requested per document, and if all of the first are above the threshold
ROUNDING = 1e-6  # of a score, so that equal texts pass a threshold of 1
LINKS = 3  # strongest links shown of a pair
BATCH = 16  # documents per search request
READ_CHARS = 10_000  # of a document: a model reads less of a query


def duplicates(
    collection: Annotated[str, typer.Argument(help="Collection to search.")],
    threshold: Annotated[float, typer.Option(help="Minimum score of two duplicates.")],
    measure: Annotated[str | None, typer.Option(help="Similarity measure.", show_default="the collection's")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the words behind each score.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a group.")] = False,
    url: Url = LOCAL_URL,
) -> None:
    """List groups of near-duplicates in a collection.

    Needs a running service. Documents belong to one group if a chain of scores at or above the threshold links them;
    each group is printed as soon as it is complete. The right threshold depends on model, measure and texts:
    `semblance evaluate --calibrate` shows precision and recall by threshold.

    \b
    Examples:
      semblance duplicates help --threshold 0.9
      semblance duplicates help --threshold 0.85 --measure rcmd --explain
      semblance duplicates help --threshold 0.9 --json > groups.jsonl
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if not math.isfinite(threshold):
        raise typer.BadParameter("the threshold must be a finite number", param_hint="--threshold")
    search = _DuplicateSearch(collection, threshold, measure, explain)
    try:
        with Client(url) as client:
            number = 0
            clusters = Clusters(partial(search.neighbors, client)).of(search.documents(client))
            for number, group in enumerate(clusters, 1):
                rows = [search.as_json(client, group, each) for each in group]
                typer.echo(json_text.dumps({"documents": rows}, ensure_ascii=False) if json else _as_text(number, rows))
    except ServiceError as error:
        raise SystemExit(str(error)) from error
    Console(stderr=True).print(f"groups of two or more documents: {number:,}", highlight=False)


@dataclass(frozen=True, slots=True)
class _DuplicateSearch:
    """Requests to the service."""

    collection: str
    threshold: float
    measure: str | None
    explain: bool

    def documents(self, client: Client) -> Iterator[Member]:
        """All documents of the collection, with a progress bar."""
        count = client.collection(self.collection).count
        with Progress(console=Console(stderr=True), transient=True) as progress:
            yield from progress.track(_pages(client, self.collection), total=count, description="documents")

    def neighbors(self, client: Client, members: Sequence[Member]) -> list[list[Neighbor]]:
        """For each of the documents, those at or above the threshold."""
        neighbors = self._nearest(client, members, NEAREST)
        truncated = [i for i, each in enumerate(neighbors) if len(each) == NEAREST]
        for i in truncated:
            [neighbors[i]] = self._nearest(client, [members[i]], MOST)
        return neighbors

    def _nearest(self, client: Client, members: Sequence[Member], k: int) -> list[list[Neighbor]]:
        found = client.search(
            [member.text[:READ_CHARS] for member in members],
            self.collection,
            k=k,
            candidates=k,
            measure=self.measure,
            min_score=self.threshold - ROUNDING,
        )
        return [[Neighbor(hit.id, hit.text, hit.score) for hit in result.hits] for result in found.results]

    def as_json(self, client: Client, group: Sequence[Member], member: Member) -> dict[str, Any]:
        """A member as JSON: its neighbor, score and, with --explain, the words behind the score."""
        out: dict[str, Any] = {"id": member.id, "text": member.text, "like": member.like, "score": member.score}
        if self.explain and member.like is not None:
            like = next(each for each in group if each.id == member.like)
            explanation = client.explain(
                like.text[:READ_CHARS], id=member.id, collection=self.collection, measure=self.measure, max_links=LINKS
            )
            words = [(*explanation.words(link), link.contribution) for link in explanation.links]
            out["links"] = [{"a": a, "b": b, "contribution": contribution} for a, b, contribution in words]
        return out


def _pages(client: Client, collection: str) -> Iterator[Member]:
    cursor: str | None = None
    while True:
        page = client.documents(collection, limit=PAGE, cursor=cursor)
        yield from (Member(document.id, document.text) for document in page.documents)
        cursor = page.cursor
        if cursor is None:
            return


def _as_text(number: int, members: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"Group {number}: {len(members)} documents"]
    for each in members:
        link = "" if each["like"] is None else f"  ({each['score']:.4f} with {each['like']})"
        lines.append(f"  {each['id']}{link}  {each['text']}")
        lines += [f"      {link['a']} = {link['b']}  {link['contribution']:+.4f}" for link in each.get("links", ())]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Member:
    """Document of a group; `like` is the neighbor that led to it, None for the first one."""

    id: str
    text: str
    like: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A document above the threshold beside another one."""

    id: str
    text: str
    score: float


FindNeighbors: TypeAlias = Callable[[Sequence[Member]], Sequence[Sequence[Neighbor]]]
"""For each of some documents, those above the threshold; the document itself may be among them."""


class Clusters:
    """Connected components of the neighbor graph, yielded one at a time.

    A group holds every document reachable from its first one by a chain of neighbors; the neighbors of each document
    are requested once. If the relation is not symmetric (because only the k nearest are known), a document may have a
    neighbor in an earlier group; then its group repeats that one, the nearest if there are several.

    >>> texts = {"a": "x", "b": "x", "c": "y"}
    >>> def near(members):
    ...     return [[Neighbor(i, t, 1.0) for i, t in texts.items() if t == m.text] for m in members]
    >>> [[m.id for m in group] for group in Clusters(near).of([Member(i, t) for i, t in texts.items()])]
    [['a', 'b']]
    """

    def __init__(self, find: FindNeighbors) -> None:
        self._find = find
        self._expanded: set[str] = set()
        self._neighbors: dict[str, Sequence[Neighbor]] = {}  # of documents that are not expanded yet

    def of(self, documents: Iterable[Member]) -> Iterator[list[Member]]:
        """Groups of two or more of the documents."""
        remaining = iter(documents)
        while batch := list(islice(remaining, BATCH)):
            self._fetch([each for each in batch if each.id not in self._expanded])
            for first in batch:
                if first.id not in self._expanded:
                    group = self._group(first)
                    if len(group) > 1:
                        yield group

    def _group(self, first: Member) -> list[Member]:
        group = {first.id: first}
        waiting = [first]
        earlier: list[Member] = []
        while waiting := [each for each in waiting if each.id not in self._expanded]:
            expand, waiting = waiting[:BATCH], waiting[BATCH:]
            self._fetch(expand)
            self._expanded.update(each.id for each in expand)
            for each in expand:
                new = [near for near in self._neighbors.pop(each.id) if near.id not in group]
                members = [Member(near.id, near.text, each.id, near.score) for near in new]
                earlier += [member for member in members if member.id in self._expanded]
                fresh = [member for member in members if member.id not in self._expanded]
                group |= {member.id: member for member in fresh}
                waiting += fresh
        return [*group.values(), *sorted(earlier, key=lambda member: -(member.score or 0))[:1]]

    def _fetch(self, members: Sequence[Member]) -> None:
        unknown = [each for each in members if each.id not in self._neighbors]
        if unknown:
            neighbors = self._find(unknown)
            self._neighbors |= {each.id: near for each, near in zip(unknown, neighbors, strict=True)}
