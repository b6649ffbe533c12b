"""/aliases: further names of collections."""

from __future__ import annotations

from pydantic import ConfigDict

from semblance_client.vocabulary.fields import NamedCollection, RequestBody
from semblance_client.vocabulary.responses import ResponseBody


class AliasRequest(RequestBody):
    """The collection to which an alias leads from now on."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"collection": "default"}]})

    collection: NamedCollection
    """A collection by its own name, not by an alias."""


class Alias(ResponseBody):
    """An alias and its collection."""

    name: str
    """Name of the alias."""
    collection: str
    """Name of the collection that it leads to."""


class AliasList(ResponseBody):
    """All aliases, by name."""

    aliases: list[Alias]
    """All aliases, by name."""
