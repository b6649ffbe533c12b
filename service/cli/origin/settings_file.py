"""The settings of `semblance origin`."""

from __future__ import annotations

from pathlib import Path

from models.origin.errors import BadOrigin
from models.origin.origin_settings import OriginSettings
from service.cli.yaml_file import read_yaml


def read_settings_file(path: Path | None) -> OriginSettings:
    """The settings of a file of YAML, a section a step; the defaults without one.

    Raises:
        BadOrigin: the file cannot be read, or a setting is unknown or has no such value.
    """
    return read_yaml(path, OriginSettings, BadOrigin, "for Origin", "docs/origin.md")
