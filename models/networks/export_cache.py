"""Networks in the form that a runtime reads: made once, kept in a folder, and used only if nothing has changed."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from semblance.models.errors import BadCheckpoint, NotExportable
from semblance.models.files.atomic import publish, write_json
from semblance.models.files.digests import file_sha256
from semblance.models.files.json_file import read_json

log = logging.getLogger(__name__)

MANIFEST = "manifest.json"  # the SHA-256 of each file beside it


@contextmanager
def exported(exports: Path | None, fingerprint: str, make: Callable[[Path], None]) -> Iterator[Path]:
    """The folder of the export with that fingerprint, which `make` fills if it is not there, or is damaged.

    Of several processes one makes it, and the others wait for that. One that is whole is read without a lock, so that
    exports may lie on a disk that cannot be written.

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
        if _damage(folder) is not None:
            _make_unless_made(folder, make)
        yield folder
    except OSError as error:
        raise NotExportable(f"no export of the network can be written or read: {error}") from error


def _damage(folder: Path) -> str | None:
    """What is wrong with an export; None if every file is what was written."""
    try:
        listed = read_json(folder / MANIFEST, dict)
        changed = [name for name, sha256 in listed.items() if file_sha256(folder / name) != sha256]
    except BadCheckpoint as error:
        return str(error)
    return f"{folder / changed[0]} has changed" if changed else None


def _make_unless_made(folder: Path, make: Callable[[Path], None]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        damage = _damage(folder)
        if damage is None:  # another process was faster
            return
        if folder.exists():
            log.warning("an export of a network is damaged and made anew: %s", damage)
        aside = folder.with_name(f".making-{folder.name}")
        shutil.rmtree(aside, ignore_errors=True)  # of one that was killed
        aside.mkdir()
        try:
            make(aside)
            write_json(aside / MANIFEST, {file.name: file_sha256(file) for file in sorted(aside.iterdir())})
            shutil.rmtree(folder, ignore_errors=True)
            publish(aside, folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
