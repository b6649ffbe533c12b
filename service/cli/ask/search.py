"""`semblance search`: the documents that are nearest to a query."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from semblance_client import Hit, Hits
from semblance_client.vocabulary.search import Highlight, Mode

from semblance.service.cli.ask.asking import asking, lines_of, one_line, plain, print_warnings
from semblance.service.cli.toolbox.console import print_line, printing
from semblance.service.cli.toolbox.options import (
    AsJson,
    Condition,
    InCollection,
    MeasureName,
    OpenedHome,
    ServiceAddress,
)

LINKS = 3  # strongest links shown of a hit


def search(  # noqa: PLR0913 - one parameter an option
    query: Annotated[str, typer.Argument(help="Query; - reads one a line from standard input.")],
    *,
    collection: InCollection = "default",
    k: Annotated[int | None, typer.Option("-k", min=1, help="Number of hits.", show_default="10")] = None,
    condition: Condition = None,
    measure: MeasureName = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Find documents by vectors, by terms or by both.", show_default="hybrid")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the words that make each score.")] = False,
    json: AsJson = False,
    url: ServiceAddress = None,
    home: OpenedHome = None,
) -> None:
    """Find the documents that are nearest to a query.

    A running service is asked; without one, the documents of ~/.semblance are opened in this process. Each hit has its
    id, score and metadata, and the part of the document that fits best. If the service requires a key,
    SEMBLANCE_CLIENT_KEY must have the scope read.

    \b
    Examples:
      semblance search "my parcel never came"
      semblance search "reset password" -c help -k 3 --filter '{"lang": "en"}' --explain
      semblance search - -c help --json < queries.txt
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    queries = lines_of(query)
    with asking(url, home) as client:
        found = client.search(
            queries,
            collection,
            k=k,
            filter=condition,
            measure=measure,
            mode=mode,
            explain=explain,
            highlight=None if json else True,
        )
    if json:
        typer.echo(found.model_dump_json())
        return
    print_warnings(found.warnings)
    console = printing()
    for asked, hits in zip(queries, found.results, strict=True):
        if len(queries) > 1:
            print_line(console, asked)
        _print_notes(hits, filtered=condition is not None)
        for rank, hit in enumerate(hits.hits, 1):
            _print_hit(console, rank, hit)


def _print_notes(hits: Hits, *, filtered: bool) -> None:
    """Print to standard error what the reader of the hits should know."""
    nothing_passed = filtered and not hits.hits  # what the documents have is then unknown
    notes = {
        f"searched for: {hits.read_as}": hits.read_as,
        "no document answers this well": hits.no_good_match and not nothing_passed,
        f"in no document: {', '.join(hits.missing_terms)}": hits.missing_terms and not nothing_passed,
        "no document found": not hits.hits,
    }
    for note, applies in notes.items():
        if applies:
            print_line(Console(stderr=True), note)


def _print_hit(console: Console, rank: int, hit: Hit) -> None:
    probability = "" if hit.probability is None else f", probability {hit.probability:.2f}"
    codes = hit.lexical.code_fields if hit.lexical else []
    code = f", has the code as {', '.join(codes)}" if codes else ""
    console.print(Text.assemble(f"{rank:>2}  ", (hit.id, "bold"), f"  {hit.score:.4f}{probability}{code}"))
    snippet = hit.highlight and _snippet(hit.highlight)
    console.print(Text("    ").append_text(snippet or Text(one_line(hit.text))))
    if hit.metadata:
        fields = [
            Text(f"{field}: {plain(value)}", "bold" if field in codes else "dim")
            for field, value in hit.metadata.items()
        ]
        console.print(Text("    ").append_text(Text(", ", "dim").join(fields)))
    if why := hit.explanation:
        for part in why.parts(LINKS):
            print_line(console, f"    {' = '.join(part.words)}  {part.contribution:+.4f}")


def _snippet(highlight: Highlight) -> Text:
    """The snippet in one line, its marks bold, with an ellipsis where the document goes on."""
    text = Text(highlight.text)
    for mark in highlight.marks:
        text.stylize("bold", mark.start - highlight.start, mark.end - highlight.start)
    lines = Text(" ").join(text.split())
    return Text.assemble("… " if highlight.cut_start else "", lines, " …" if highlight.cut_end else "")
