"""`semblance explain`: the words that make a score, in color."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.text import Text
from semblance_client import Explanation, Side

from semblance.service.cli.ask.asking import asking, print_warnings, read_text
from semblance.service.cli.toolbox.console import printing
from semblance.service.cli.toolbox.options import AsJson, MeasureName, ModelName, OpenedHome, ServiceAddress
from semblance.service.rendering.colors import ColorScale

BAR = 20  # characters of the largest part


def explain(  # noqa: PLR0913 - one parameter an option
    a: Annotated[str, typer.Argument(help="First text, or a query; - is standard input.")],
    b: Annotated[str | None, typer.Argument(help="Second text; - is standard input.")] = None,
    *,
    id_: Annotated[str | None, typer.Option("--id", help="Stored document in place of b.")] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Collection of the document.", show_default="default")
    ] = None,
    measure: MeasureName = None,
    model: ModelName = None,
    json: AsJson = False,
    url: ServiceAddress = None,
    home: OpenedHome = None,
) -> None:
    """Show which words make the score of two texts.

    A terminal shows in blue the words that raise the score, in red those that lower it. The parts below sum to the
    score: links between words, those that are left out, and tokens that the model adds. A running service is asked;
    without one, the model runs in this process. If the service requires a key, SEMBLANCE_CLIENT_KEY must have the scope
    read.

    \b
    Examples:
      semblance explain "my parcel never came" "my package has not arrived"
      semblance explain "my parcel never came" --id shipping-001 --collection default --measure rcmd
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    left, right = read_text(a), None if b is None else read_text(b)
    with asking(url, home, documents="unused" if id_ is None else "read") as client:
        why = client.explain(left, right, id=id_, collection=collection, measure=measure, model=model)
    if json:
        typer.echo(why.model_dump_json())
        return
    print_warnings(why.warnings)
    _print(printing(), why)


def _print(console: Console, why: Explanation) -> None:
    of_a, of_b = defaultdict[int, float](float), defaultdict[int, float](float)
    for link in why.links:
        of_a[link.a] += link.contribution
        of_b[link.b] += link.contribution
    parts = list(why.parts())
    links = np.array([part.contribution for part in parts if not part.is_sum])
    scale = ColorScale.over(links, np.array([*of_a.values()]), np.array([*of_b.values()]))
    if why.same:
        console.print(Text(str(why.same)))
    console.print(Text("a  ").append_text(_colored(why.a, of_a, scale)))
    console.print(Text("b  ").append_text(_colored(why.b, of_b, scale)))
    console.print(Text(f"{why.score:.4f} by {why.measure}", "bold"))
    labels = [Text(" = ".join(part.words)) for part in parts]
    width = max((label.cell_len for label in labels), default=0)
    longest = max((abs(part.contribution) for part in parts), default=0) or 1.0
    for label, part in zip(labels, parts, strict=True):
        label.pad_right(width - label.cell_len)
        bar = "█" * round(BAR * abs(part.contribution) / longest)
        color = "dim" if part.is_sum else scale.color(scale.limit * (1 if part.contribution > 0 else -1))
        console.print(Text.assemble("  ", label, f"  {part.contribution:+.4f}  ", (bar, color)))


def _colored(side: Side, contributions: Mapping[int, float], scale: ColorScale) -> Text:
    """The part of a text that is compared, each word in the color of what it adds to the score."""
    text = Text(side.text)
    for position, contribution in contributions.items():
        word = side.tokens[position]
        if scale.step(contribution):
            text.stylize(f"{scale.ink(contribution)} on {scale.color(contribution)}", word.start, word.end)
    return Text(" ").join(text[side.read_start : side.read_end].split())
