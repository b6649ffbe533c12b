"""Fields that the docstrings below them describe."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler


class Described(BaseModel):
    """A model in whose JSON schema the docstrings below its fields describe them.

    They are read when a schema is asked for. pydantic's `use_attribute_docstrings` reads the source of each class when
    it is imported: a tenth of the time of a start.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """The schema of the model, with the descriptions."""
        schema = handler(core_schema)
        for name, field in schema.get("properties", {}).items():
            if docstring := _docstring(cls, name):
                field.setdefault("description", docstring)
        return schema

    @classmethod
    def describe_fields(cls) -> None:
        """Set the descriptions of fields, for parameters of a query, which read no schema."""
        for name, field in cls.model_fields.items():
            field.description = field.description or _docstring(cls, name)


def _docstring(cls: type[Described], name: str) -> str | None:
    """The docstring below a field, in the class that defines it last."""
    classes = (_fields(each.__module__).get(each.__name__, {}) for each in cls.__mro__ if issubclass(each, Described))
    return next((fields[name] for fields in classes if name in fields), None)


@cache
def _fields(module: str) -> Mapping[str, Mapping[str, str | None]]:
    """For each class of a module its fields, with the docstrings below them."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):  # it has no file, such as a notebook
        return {}
    return {each.name: dict(_described(each.body)) for each in tree.body if isinstance(each, ast.ClassDef)}


def _described(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str | None]]:
    for statement, below in pairwise([*body, ast.Pass()]):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(docstring))):
                yield name, inspect.cleandoc(docstring)
            case ast.AnnAssign(target=ast.Name(name)), _:
                yield name, None
