"""Networks in the form that a runtime reads: made once, kept in a folder, and used only if nothing has changed."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from models.durable_files import publish, write_json
from models.errors import BadCheckpoint, NotExportable
from models.model_files import file_sha256, read_json

log = logging.getLogger(__name__)

MANIFEST = "manifest.json"  # the SHA-256 of each file beside it


@contextmanager
def exported(exports: Path | None, fingerprint: str, make: Callable[[Path], None]) -> Iterator[Path]:
    """The folder of the export with that fingerprint, which `make` fills if it is not there, or is damaged.

    Args:
        exports: where exports are kept; None keeps none, and the folder goes with the block.
        fingerprint: of everything that decides what is in it.
        make: writes all its files into the folder that it is given.

    Raises:
        NotExportable: the disk will not do.
    """
    try:
        if exports is None:
            with TemporaryDirectory() as passing:
                make(Path(passing))
                yield Path(passing)
            return
        folder = exports / fingerprint
        if not _whole(folder):
            _make_anew(folder, make)
        yield folder
    except OSError as error:
        raise NotExportable(f"no export of the network can be written or read: {error}") from error


def _whole(folder: Path) -> bool:
    """Whether every file is what was written."""
    if not folder.is_dir():
        return False
    try:
        listed = read_json(folder / MANIFEST, dict)
        damaged = [name for name, sha256 in listed.items() if file_sha256(folder / name) != sha256]
    except BadCheckpoint as error:
        log.warning("an export of a network is damaged and made anew: %s", error)
        return False
    if damaged:
        log.warning("an export of a network is damaged and made anew: %s/%s has changed", folder, damaged[0])
    return not damaged


def _make_anew(folder: Path, make: Callable[[Path], None]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(mkdtemp(prefix=".making-", dir=folder.parent))
    try:
        make(aside)
        write_json(aside / MANIFEST, {file.name: file_sha256(file) for file in sorted(aside.iterdir())})
        shutil.rmtree(folder, ignore_errors=True)  # damaged, if it is there
        publish(aside, folder)
    except OSError:
        if not _whole(folder):  # another process may have been faster
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
