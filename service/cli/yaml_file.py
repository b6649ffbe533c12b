"""Settings in a file of YAML."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from semblance.models.errors import SemblanceError

Settings = TypeVar("Settings", bound=BaseModel)


def read_yaml(
    file: Path | None, kind: type[Settings], refusal: type[SemblanceError], what_for: str, listed: str
) -> Settings:
    """The settings of a file; those that it does not name keep their defaults, and so do all without a file.

    Args:
        file: what to read.
        kind: which settings there are.
        refusal: the error.
        what_for: says so in its message, such as "for the recipe clrcmd".
        listed: where the settings are described.

    Raises:
        refusal: the file cannot be read, or a setting is unknown or has no such value.
    """
    try:
        given = {} if file is None else yaml.safe_load(file.read_text("utf-8"))
        return kind.model_validate({} if given is None else given)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise refusal(f"{file} cannot be read as YAML: {error}") from error
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'it'}: {each['msg']}" for each in error.errors())
        raise refusal(f"{file}, {what_for}: {wrong}; {listed} lists its settings") from error
