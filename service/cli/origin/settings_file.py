"""The settings of `semblance origin`."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from semblance.models.origin.errors import BadOrigin
from semblance.models.origin.origin_folder import read_about
from semblance.models.origin.origin_settings import OriginSettings
from semblance.service.cli.yaml_file import read_yaml


def read_settings_file(path: Path | None) -> OriginSettings:
    """The settings of a file of YAML, a section a step; the defaults without one.

    Raises:
        BadOrigin: the file cannot be read, or a setting is unknown or has no such value.
    """
    return read_yaml(path, OriginSettings, BadOrigin, "for Origin", "docs/origin.md")


def settings_of(folder: Path, config: Path | None) -> OriginSettings:
    """The settings of a file, or, without one, those that the corpus of an origin folder was made with.

    Raises:
        BadOrigin: as `read_settings_file`, or those of the folder are of another version.
    """
    if config is not None:
        return read_settings_file(config)
    try:
        return OriginSettings.model_validate(read_about(folder).get("settings", {}))
    except ValidationError as error:
        raise BadOrigin(f"the settings in {folder} are of another version, give them by --config: {error}") from error
