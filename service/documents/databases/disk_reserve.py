"""Space on the disk that is kept for deletions."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)

RESERVE_BYTES = 16 << 20  # a deletion of a thousand documents writes half of it
PART_BYTES = 1 << 16


class DiskReserve:
    """A file that takes up space until a deletion needs it.

    To delete documents is how most people make room.

    Args:
        file: of the reserve.
        size: of the file in bytes, as far as the disk has room for it.
    """

    def __init__(self, file: Path, size: int = RESERVE_BYTES) -> None:
        self._file = file
        self._size = size
        self._fill()

    @property
    def is_needed(self) -> bool:
        """Whether the disk has little room beside it, or fails."""
        try:
            return shutil.disk_usage(self._file.parent).free < self._size
        except OSError:
            return True

    @contextmanager
    def given(self) -> Iterator[None]:
        """Give the space back to the disk for the time of the block."""
        try:
            os.truncate(self._file, 0)
        except OSError as error:
            log.warning("the space that is kept for deletions cannot be used: %s", error)
        try:
            yield
        finally:
            self._fill()

    def _fill(self) -> None:
        """Take as much of the space as there is."""
        try:
            with self._file.open("wb", buffering=0) as stream:
                for _ in range(0, self._size, PART_BYTES):
                    stream.write(bytes(PART_BYTES))  # not sparse, as a file that is only made longer would be
        except OSError as error:
            log.warning("the disk has no room for the %d bytes that are kept for deletions: %s", self._size, error)
