"""`semblance duplicates`: near-duplicates in a collection."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from semblance_client import Duplicate, FoundDuplicates
from semblance_client.vocabulary.duplicates import MIN_SCORE

from semblance.service.cli.ask.asking import asking
from semblance.service.cli.toolbox.options import OpenedHome, ServiceAddress

LINKS = 3  # strongest links shown of a pair


def duplicates(  # noqa: PLR0913 - one parameter an option
    collection: Annotated[str, typer.Argument(help="Collection to search.")],
    *,
    min_score: Annotated[
        float | None, typer.Option(help="Least score of two duplicates.", show_default=f"{MIN_SCORE}")
    ] = None,
    measure: Annotated[str | None, typer.Option(help="Similarity measure.", show_default="the collection's")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what makes each score, and what differs.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a group.")] = False,
    url: ServiceAddress = None,
    home: OpenedHome = None,
) -> None:
    """List groups of near-duplicates in a collection.

    A running service is asked; without one, ~/.semblance is opened in this process. Each document of a group has this
    score or more with the first one; groups are printed as they are found. The right score depends on model, measure
    and texts: `semblance evaluate --calibrate` shows precision and recall by score.

    \b
    Examples:
      semblance duplicates help
      semblance duplicates help --min-score 0.85 --measure rcmd --explain
      semblance duplicates help --json > groups.jsonl
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if min_score is not None and not math.isfinite(min_score):
        raise typer.BadParameter("the score must be a finite number", param_hint="--min-score")
    number = 0
    bars = Progress(console=Console(stderr=True), transient=True)
    with asking(url, home) as client, bars as bar:
        task = bar.add_task("documents", total=client.collection(collection).count)

        def show(found: FoundDuplicates) -> None:
            nonlocal number
            bar.update(task, completed=found.checked)
            for group in found.groups:
                number += 1
                rows = [_row(document) for document in group.documents]
                line = json_text.dumps({"documents": rows}, ensure_ascii=False) if json else _as_text(number, rows)
                typer.echo(line)

        client.duplicates(collection, min_score=min_score, measure=measure, explain=explain, progress=show)
    Console(stderr=True).print(f"groups of two or more documents: {number:,}", highlight=False)


def _row(member: Duplicate) -> dict[str, Any]:
    """A member as JSON, with the strongest links of its explanation, and the verdict in a line."""
    row: dict[str, Any] = {"id": member.id, "text": member.text, "like": member.like, "score": member.score}
    if why := member.explanation:
        words = [(*why.words(link), link.contribution) for link in why.links[:LINKS]]
        row["same"] = why.same and str(why.same)
        row["links"] = [{"a": a, "b": b, "contribution": contribution} for a, b, contribution in words]
    return row


def _as_text(number: int, members: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"Group {number}: {len(members)} documents"]
    for member in members:
        link = "" if member["like"] is None else f"  ({member['score']:.4f} with {member['like']})"
        lines.append(f"  {member['id']}{link}  {member['text']}")
        lines += [f"      {verdict}" for verdict in [member.get("same")] if verdict]
        lines += [f"      {link['a']} = {link['b']}  {link['contribution']:+.4f}" for link in member.get("links", ())]
    return "\n".join(lines)
