"""`semblance compare`: scores of pairs of texts."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from semblance.service.cli.ask.asking import asking, lines_of, print_warnings
from semblance.service.cli.toolbox.console import print_line, printing
from semblance.service.cli.toolbox.options import AsJson, MeasureName, ModelName, OpenedHome, ServiceAddress


def compare(  # noqa: PLR0913 - one parameter an option
    a: Annotated[str, typer.Argument(help="First text.")],
    b: Annotated[list[str], typer.Argument(help="Texts to compare it with; - reads one a line from standard input.")],
    *,
    measure: MeasureName = None,
    model: ModelName = None,
    json: AsJson = False,
    url: ServiceAddress = None,
    home: OpenedHome = None,
) -> None:
    """Score how alike a text and others are.

    A running service is asked; without one, the model runs in this process. Each line is a score and its text, in the
    order given. `semblance explain` shows the words behind a score. If the service requires a key,
    SEMBLANCE_CLIENT_KEY must have the scope read.

    \b
    Examples:
      semblance compare "A man is playing a guitar." "Someone plays an instrument."
      semblance compare "my parcel never came" - --measure rcmd < questions.txt
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    others = [line for text in b for line in lines_of(text)]
    with asking(url, home, documents="unused") as client:
        scored = client.similarity([(a, other) for other in others], measure=measure, model=model)
    if json:
        typer.echo(scored.model_dump_json())
        return
    print_warnings(scored.warnings)
    probabilities = scored.probabilities or [None] * len(others)
    for score, probability, other in zip(scored.scores, probabilities, others, strict=True):
        likely = "" if probability is None else f"  probability {probability:.2f}"
        print_line(printing(), f"{score:.4f}{likely}  {other}")
    print_line(Console(stderr=True), f"by {scored.measure} of {scored.model}")
