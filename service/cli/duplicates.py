"""`semblance duplicates`: documents of a collection that say the same."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from semblance.service.cli.clusters import Member, NearGroups, Neighbour
from semblance.service.client import Client, ServiceError
from semblance.service.settings import client_key

PAGE = 100
NEAREST, MOST = 100, 1000  # neighbours that a document is asked for, and if all of those are near enough
ROUNDING = 1e-6  # of a score: equal texts must not fail a threshold of 1
LINKS = 3  # strongest links that are shown of a pair


def duplicates(
    collection: Annotated[str, typer.Argument(help="Collection to look through.")],
    threshold: Annotated[float, typer.Option(help="Least score of two documents that count as the same.")],
    measure: Annotated[str | None, typer.Option(help="Measure of the scores.", show_default="the collection's")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the words that make each score.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a group.")] = False,
    url: Annotated[str, typer.Option(help="Where the service runs.")] = "http://127.0.0.1:8000",
) -> None:
    """List groups of near-duplicates in a collection of a running service, each as soon as it is complete.

    Documents are in one group if a chain of scores of at least the threshold joins them. Which threshold is right
    depends on model, measure and texts: `semblance evaluate --calibrate` shows precision and recall by threshold.

    \b
    Examples:
      semblance duplicates help --threshold 0.9
      semblance duplicates help --threshold 0.85 --measure rcmd --explain
      semblance duplicates help --threshold 0.9 --json > groups.jsonl
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if not math.isfinite(threshold):
        raise typer.BadParameter("a threshold is a number", param_hint="--threshold")
    seeker = _Seeker(collection, threshold, measure, explain)
    try:
        with Client(url, client_key()) as client:
            number = 0
            for number, group in enumerate(NearGroups(partial(seeker.near, client)).of(seeker.documents(client)), 1):
                shown = [seeker.shown(client, group, each) for each in group]
                typer.echo(json_text.dumps({"documents": shown}, ensure_ascii=False) if json else _lines(number, shown))
    except ServiceError as error:
        raise SystemExit(str(error)) from error
    Console(stderr=True).print(f"groups of two or more documents: {number:,}", highlight=False)


@dataclass(frozen=True, slots=True)
class _Seeker:
    """What is asked of the service, and how."""

    collection: str
    threshold: float
    measure: str | None
    explain: bool

    def documents(self, client: Client) -> Iterator[Member]:
        """All documents, while a bar says how many there are."""
        path = f"/collections/{self.collection}"
        count = client.ask("GET", path)["count"]
        with Progress(console=Console(stderr=True), transient=True) as progress:
            yield from progress.track(_pages(client, f"{path}/documents"), total=count, description="documents")

    def near(self, client: Client, members: Sequence[Member]) -> list[list[Neighbour]]:
        """Those at or above the threshold, for each of some documents."""
        found = self._nearest(client, members, NEAREST)
        crowded = [i for i, each in enumerate(found) if len(each) == NEAREST]
        for i in crowded:
            [found[i]] = self._nearest(client, [members[i]], MOST)
        return found

    def _nearest(self, client: Client, members: Sequence[Member], k: int) -> list[list[Neighbour]]:
        how = {"collection": self.collection, "k": k, "candidates": k, "measure": self.measure}
        body = {"queries": [member.text for member in members], "min_score": self.threshold - ROUNDING, **how}
        return [
            [Neighbour(hit["id"], hit["text"], hit["score"]) for hit in result["hits"]]
            for result in client.ask("POST", "/search", body)["results"]
        ]

    def shown(self, client: Client, group: Sequence[Member], member: Member) -> dict[str, Any]:
        """A member as JSON: how it came in and, where asked for, the words that made the score."""
        out: dict[str, Any] = {"id": member.id, "text": member.text, "like": member.like, "score": member.score}
        if self.explain and member.like is not None:
            like = next(each for each in group if each.id == member.like)
            body = {"a": like.text, "id": member.id, "collection": self.collection, "measure": self.measure}
            why = client.ask("POST", "/explain", {**body, "format": "json", "max_links": LINKS})
            words = [[token["text"] for token in why[side]["tokens"]] for side in ("a", "b")]
            out["links"] = [
                {"a": words[0][link["a"]], "b": words[1][link["b"]], "contribution": link["contribution"]}
                for link in why["links"]
            ]
        return out


def _pages(client: Client, path: str) -> Iterator[Member]:
    cursor = ""
    while True:
        page = client.ask("GET", f"{path}?limit={PAGE}{cursor}")
        yield from (Member(document["id"], document["text"]) for document in page["documents"])
        if page["cursor"] is None:
            return
        cursor = f"&cursor={page['cursor']}"


def _lines(number: int, members: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"Group {number}: {len(members)} documents"]
    for each in members:
        found = "" if each["like"] is None else f"  ({each['score']:.4f} with {each['like']})"
        lines.append(f"  {each['id']}{found}  {each['text']}")
        lines += [f"      {link['a']} = {link['b']}  {link['contribution']:+.4f}" for link in each.get("links", ())]
    return "\n".join(lines)
