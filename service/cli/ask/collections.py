"""`semblance collections`: the stored collections."""

from __future__ import annotations

import typer
from semblance_client import Collection
from semblance_client.vocabulary.collections import CollectionList

from semblance.service.cli.ask.asking import asking
from semblance.service.cli.toolbox.console import TextTable, print_table
from semblance.service.cli.toolbox.options import AsJson, OpenedHome, ServiceAddress


def collections(json: AsJson = False, url: ServiceAddress = None, home: OpenedHome = None) -> None:
    """List the collections, with documents, model and state.

    A running service is asked; without one, ~/.semblance is opened in this process. `semblance show NAME` has all of a
    collection. If the service requires a key, SEMBLANCE_CLIENT_KEY must have the scope read.

    \b
    Examples:
      semblance collections
      semblance collections --url https://search.example.org --json
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with asking(url, home) as client:
        found = client.collections()
    if json:
        typer.echo(CollectionList(collections=found).model_dump_json())
        return
    rows = tuple((each.name, f"{each.count:,}", each.model, _state(each)) for each in found)
    print_table(TextTable("", ("name", "documents", "model", "state"), rows))


def _state(collection: Collection) -> str:
    if (work := collection.reembedding) is not None:
        return f"re-embedding by {work.model}, {work.documents_left:,} documents left"
    return f"{collection.truncated:,} documents truncated" if collection.truncated else "ready"
