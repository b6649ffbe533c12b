"""`semblance duplicates`: near-duplicates in a collection."""

from __future__ import annotations

import json as json_text
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from semblance_client import Client, Duplicate, FoundDuplicates
from semblance_client import SemblanceError as ServiceError

from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import Url

LINKS = 3  # strongest links shown of a pair


def duplicates(
    collection: Annotated[str, typer.Argument(help="Collection to search.")],
    threshold: Annotated[float, typer.Option(help="Minimum score of two duplicates.")],
    *,
    measure: Annotated[str | None, typer.Option(help="Similarity measure.", show_default="the collection's")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what makes each score, and what differs.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object a group.")] = False,
    url: Url,
) -> None:
    """List groups of near-duplicates in a collection.

    Needs a running service. Each document of a group has a score at or above the threshold with the first one; groups
    are printed as they are found. The right threshold depends on model, measure and texts:
    `semblance evaluate --calibrate` shows precision and recall by threshold.

    \b
    Examples:
      semblance duplicates help --threshold 0.9
      semblance duplicates help --threshold 0.85 --measure rcmd --explain
      semblance duplicates help --threshold 0.9 --json > groups.jsonl
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if not math.isfinite(threshold):
        raise typer.BadParameter("the threshold must be a finite number", param_hint="--threshold")
    number = 0
    bars = Progress(console=Console(stderr=True), transient=True)
    with exit_on(ServiceError), Client(url) as client, bars as bar:
        task = bar.add_task("documents", total=client.collection(collection).count)

        def show(found: FoundDuplicates) -> None:
            nonlocal number
            bar.update(task, completed=found.checked)
            for group in found.groups:
                number += 1
                rows = [_row(document) for document in group.documents]
                line = json_text.dumps({"documents": rows}, ensure_ascii=False) if json else _as_text(number, rows)
                typer.echo(line)

        client.duplicates(collection, min_score=threshold, measure=measure, explain=explain, progress=show)
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
