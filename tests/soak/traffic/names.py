"""What was acknowledged of the aliases and the glossary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

EMPTY = "faults-empty"  # a collection without documents, to which aliases are switched
ALIASES = [f"alias-{number}" for number in range(20)]
GLOSSARY = "the glossary"


@dataclass(slots=True)
class Names:
    """The collections of aliases and the term of the glossary, as acknowledged.

    A write without an answer may have been stored, or may still be: its name is `open`, and not written to until all
    such writes have ended.
    """

    now: dict[str, str] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)

    def begin(self, now: Mapping[str, str]) -> None:
        self.now = dict(now)
        self.open.clear()

    def acknowledge(self, name: str, value: str | None) -> None:
        self.open.remove(name)
        self.now.pop(name, None)
        if value is not None:
            self.now[name] = value

    def without(self, collection: str) -> dict[str, str]:
        """The names that are left when the collection of the glossary is deleted."""
        return {name: value for name, value in self.now.items() if value != collection and name != GLOSSARY}


def stored_names(aliases: Any, glossary: Any) -> dict[str, str]:
    """The names of two responses, as `Names.now` has them."""
    found = {each["name"]: each["collection"] for each in aliases["aliases"]}
    for group in glossary["groups"]:
        found[GLOSSARY] = group["terms"][0]
    return found
