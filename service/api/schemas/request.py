"""What the bodies of requests have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance.service.api.text_types import String, documented

MAX_FIELDS = 100  # of an object in a request, metadata aside

Measure = Annotated[
    String,
    Field(description="One of the measures that GET /models lists.", examples=["rcmd"]),
    documented(known_enum="measures"),
]


AtMostTexts = documented(known_maxItems="max_texts")


def one_form(given: Mapping[str, str], *absent: str, **constant: object) -> dict[str, Any]:
    """One of the forms that a body may have: fields that it gives, by their type, and fields that it does not."""
    return {
        "required": list(given),
        "properties": {
            **{name: {"type": type_} for name, type_ in given.items()},
            **{name: {"type": "null"} for name in absent},
            **{name: {"const": value} for name, value in constant.items()},
        },
    }


class Request(BaseModel):
    """A body that is read strictly: what is not known is refused, and "3" is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, given: object) -> object:
        """Refuse an endless object before its fields are looked at: each would be an error message of its own."""
        if isinstance(given, Mapping) and len(given) > MAX_FIELDS:
            raise PydanticCustomError("unknown_field", "it has more than {most} fields", {"most": MAX_FIELDS})
        return given


class Usage(BaseModel):
    """What a request cost."""

    tokens: int = Field(description="Tokens of all its texts, special tokens included.")
