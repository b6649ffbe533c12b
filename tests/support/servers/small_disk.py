"""A file system of its own, small enough to be filled."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """A file system in memory, mounted at `folder`."""

    folder: Path

    @classmethod
    def mount(cls, folder: Path, size: int) -> SmallDisk | None:
        """Mount `size` bytes at a new folder; None where this user or machine may not mount."""
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        ran = subprocess.run(command, check=False, capture_output=True)
        return cls(folder) if ran.returncode == 0 else None

    def unmount(self) -> None:
        """Remove the file system with its contents, even while it is in use."""
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        filler = self.folder / "filler"
        try:
            with filler.open("wb", buffering=0) as stream, suppress(OSError):
                while True:
                    stream.write(bytes(CHUNK_BYTES))  # the last one is written in part
            yield
        finally:
            filler.unlink()
