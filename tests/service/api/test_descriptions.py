"""Fields are described by the docstrings below them, as pydantic itself describes them when a class is made."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, ConfigDict, Field
from semblance_client.vocabulary.described import Described


class Part(Described):
    """A part."""

    size: int = 1
    """Its size."""


class Whole(Described):
    """A whole."""

    first: Part
    """A part that is elsewhere in the schema."""
    names: tuple[str, ...] = ()
    """Several lines:

    of them.
    """
    plain: bool
    described: Annotated[int, Field(description="By its type.")] = 0
    """Not by this."""

    def size(self) -> int:
        """The docstring of a method."""
        return self.first.size


class Derived(Whole):
    """More."""

    plain: bool = True
    """Defined again."""
    names: tuple[str, ...] = ("a",)


class ByPydantic(BaseModel):
    """A model that reads its docstrings when it is made."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class OtherPart(ByPydantic):
    """A part."""

    size: int = 1
    """Its size."""


class OtherWhole(ByPydantic):
    """A whole."""

    first: OtherPart
    """A part that is elsewhere in the schema."""
    names: tuple[str, ...] = ()
    """Several lines:

    of them.
    """
    plain: bool
    described: Annotated[int, Field(description="By its type.")] = 0
    """Not by this."""


class OtherDerived(OtherWhole):
    """More."""

    plain: bool = True
    """Defined again."""
    names: tuple[str, ...] = ("a",)


@pytest.mark.parametrize(("described", "other"), [(Part, OtherPart), (Whole, OtherWhole), (Derived, OtherDerived)])
def test_docstrings_below_fields_describe_them(described: type[BaseModel], other: type[BaseModel]) -> None:
    found, expected = described.model_json_schema(), other.model_json_schema()
    assert str(found["properties"]) == str(expected["properties"]).replace("Other", "")
    assert str(found.get("$defs")) == str(expected.get("$defs")).replace("Other", "")
