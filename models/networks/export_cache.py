"""Cache of exported networks on disk: exported once, verified by checksum on every use."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock, Timeout

from semblance.models.errors import BadCheckpoint, NotExportable
from semblance.models.files.atomic import publish, write_json
from semblance.models.files.digests import file_sha256
from semblance.models.files.json_file import read_json

log = logging.getLogger(__name__)

MANIFEST = "manifest.json"  # the SHA-256 of each file beside it


@contextmanager
def cached_export(exports: Path | None, fingerprint: str, export: Callable[[Path], None]) -> Iterator[Path]:
    """Folder of the export with that fingerprint; `export` fills it if missing or damaged.

    One process exports, others wait for it. An intact export is read without a lock, so that the cache may lie on a
    read-only disk.

    Args:
        exports: folder of the cache; None exports into a temporary folder that is deleted after the block.
        fingerprint: digest of everything that decides the content.
        export: writes all files into the folder that it receives.

    Raises:
        NotExportable: the cache cannot be read or written.
    """
    try:
        if exports is None:
            with TemporaryDirectory() as temporary:
                export(Path(temporary))
                yield Path(temporary)
            return
        folder = exports / fingerprint
        if _damage(folder) is not None:
            _export_under_lock(folder, export)
        yield folder
    except OSError as error:
        raise NotExportable(f"cannot read or write an export of the network: {error}") from error


def _damage(folder: Path) -> str | None:
    """Why the export is missing or damaged; None if every file has its checksum."""
    try:
        listed = read_json(folder / MANIFEST, dict)
        changed = [name for name, sha256 in listed.items() if file_sha256(folder / name) != sha256]
    except BadCheckpoint as error:
        return str(error)
    return f"{folder / changed[0]} has changed" if changed else None


def _export_under_lock(folder: Path, export: Callable[[Path], None]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _acquired(FileLock(folder.with_name(f"{folder.name}.lock"))):
        damage = _damage(folder)
        if damage is None:  # another process has exported it meanwhile
            return
        if folder.exists():
            log.warning("an export of a network is damaged and will be replaced: %s", damage)
        partial = folder.with_name(f".making-{folder.name}")
        shutil.rmtree(partial, ignore_errors=True)  # left by a process that was killed
        partial.mkdir()
        log.info("exporting the network for its runtime, once; later starts reuse it from %s", folder.parent)
        began = time.perf_counter()
        try:
            export(partial)
            write_json(partial / MANIFEST, {file.name: file_sha256(file) for file in sorted(partial.iterdir())})
            shutil.rmtree(folder, ignore_errors=True)
            publish(partial, folder)
            log.info("exported the network in %.1f s", time.perf_counter() - began)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _acquired(lock: FileLock) -> AbstractContextManager[object]:
    """Acquire a lock; a line in the log if another process holds it."""
    try:
        return lock.acquire(blocking=False)
    except Timeout:
        log.info("another process is exporting the network; waiting for it")
        return lock.acquire()
