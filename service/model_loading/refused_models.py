"""Models that cannot be served, beside others that are."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from semblance.models.errors import BadCheckpoint

log = logging.getLogger(__name__)

Files = TypeVar("Files")
_FOLDERS = re.compile(r"(?<![\w.])/(?:[^/\s]+/)+")  # before the last part of an absolute path


class RefusedModels(dict[str, str]):
    """Name -> why the model is not served, without paths of this machine.

    Args:
        fatal: whether a refusal is raised in place of being kept.
    """

    def __init__(self, *, fatal: bool) -> None:
        super().__init__()
        self._fatal = fatal

    def keep(self, name: str, source: str, read: Callable[[str], Files]) -> Files | None:
        """The files of a source; None if they are refused. Raises BadCheckpoint if that is fatal."""
        try:
            return read(source)
        except BadCheckpoint as error:
            if self._fatal:
                raise
            log.error("model %s is not served: %s", name, error)  # noqa: TRY400 - the message says all
            self[name] = reason_of(error, Path(source.partition("?")[0]).expanduser())
            return None


def reason_of(error: Exception, folder: Path = Path("/")) -> str:
    """Message of an error, without the folders of this machine.

    Paths below the given folder stay, and of others the last part.

    >>> reason_of(BadCheckpoint("cannot read /models/mine/1/config.json of /models/mine"), Path("/models/mine"))
    'cannot read 1/config.json of mine'
    """
    return _FOLDERS.sub("", str(error).replace(f"{folder}/", ""))
