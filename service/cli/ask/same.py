"""`semblance same`: whether texts say the same, and the words that speak against it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from semblance_client import Verdict

from semblance.service.cli.ask.asking import asking, lines_of, one_line, print_warnings
from semblance.service.cli.toolbox.console import print_line, printing
from semblance.service.cli.toolbox.options import AsJson, ModelName, OpenedHome, ServiceAddress

STYLES = {"same": "green", "different": "red", "unsure": "yellow"}


def same(  # noqa: PLR0913 - one parameter an option
    a: Annotated[str, typer.Argument(help="First text.")],
    b: Annotated[
        list[str] | None, typer.Argument(help="Texts to judge it with; - reads one a line from standard input.")
    ] = None,
    *,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Judge its nearest documents in place of texts.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of documents.")] = 5,
    model: ModelName = None,
    json: AsJson = False,
    url: ServiceAddress = None,
    home: OpenedHome = None,
) -> None:
    """Say whether texts say the same, and why not.

    Below a verdict stands what its log-odds are made of: where these texts would begin if they had the same words, the
    words that speak against it, and all else. A running service is asked; without one, the model runs in this process.
    If the service requires a key, SEMBLANCE_CLIENT_KEY must have the scope read.

    \b
    Examples:
      semblance same "How do I turn on dark mode?" "How do I turn off dark mode?"
      semblance same "my parcel never came" --collection default -k 3
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    if bool(b) == (collection is not None):
        raise typer.BadParameter("name other texts, or a collection", param_hint="B, --collection")
    others = [line for text in b or () for line in lines_of(text)]
    with asking(url, home, documents="unused" if collection is None else "read") as client:
        judged = (
            client.same([(a, other) for other in others], model=model)
            if collection is None
            else client.same_documents(a, collection, k=k)
        )
    if json:
        typer.echo(judged.model_dump_json())
        return
    print_warnings(judged.warnings)
    console = printing()
    for number, verdict in enumerate(judged.verdicts):
        if verdict.document is not None:
            print_line(console, f"{verdict.document.id}  {one_line(verdict.document.text)}")
        elif len(others) > 1:
            print_line(console, others[number])
        _print(console, verdict)


def _print(console: Console, verdict: Verdict) -> None:
    console.print(Text(str(verdict), STYLES[verdict.verdict]))
    if verdict.log_odds is None:
        return
    reasons = [(str(reason), reason.log_odds) for reason in verdict.reasons]
    parts = [("the same words", verdict.base), *reasons, ("all else", verdict.rest), ("log-odds", verdict.log_odds)]
    width = max(len(label) for label, _ in parts)
    for label, part in parts:
        print_line(console, f"  {label:<{width}}  {part:+.2f}")
