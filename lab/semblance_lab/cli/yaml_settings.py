"""Settings read from a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from semblance.models.errors import SemblanceError
from semblance.service.names import did_you_mean

Model = TypeVar("Model", bound=BaseModel)


def read_yaml_settings(
    file: Path | None, kind: type[Model], error_class: type[SemblanceError], purpose: str, reference: str
) -> Model:
    """Read settings from a YAML file; settings that it does not name keep their defaults.

    Args:
        file: what to read.
        kind: model of the settings.
        error_class: the error to raise.
        purpose: named in its message, such as "for the recipe clrcmd".
        reference: document that describes the settings.

    Raises:
        error_class: the file cannot be read, or a setting is unknown or invalid.
    """
    import yaml  # noqa: PLC0415 - slow to import, and --help does not need it

    try:
        values = {} if file is None else yaml.safe_load(file.read_text("utf-8"))
        return kind.model_validate({} if values is None else values)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise error_class(f"{file} cannot be read as YAML: {error}") from error
    except ValidationError as error:
        problems = "; ".join(_problem(each, kind) for each in error.errors())
        raise error_class(f"{file}, {purpose}: {problems}; see {reference} for its settings") from error


def _problem(error: ErrorDetails, kind: type[BaseModel]) -> str:
    """The problem of a setting; for an unknown one, a similar name."""
    name = ".".join(map(str, error["loc"]))
    is_unknown = error["type"] == "extra_forbidden"
    said = f"there is no such setting{did_you_mean(name, kind.model_fields)}" if is_unknown else error["msg"]
    return f"{name or 'it'}: {said}"
