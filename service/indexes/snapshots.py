"""Save and load snapshots of an index, so that a start need not rebuild it.

Three files named by their own SHA-256 contain the engine's rows, their documents, and their terms; `manifest.json`
names them and the collection they belong to. The manifest is renamed into place last: before that, the folder has the
old snapshot, and afterwards the new one. A snapshot is never authoritative: if it is damaged or does not match the
collection, it is ignored, and the index is rebuilt from the store.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from semblance.models import catalogue
from semblance.models.files.atomic import fsync, publish
from semblance.models.files.digests import digest
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.indexes.columns.array_file import MappedArrays
from semblance.service.ports.device import ON_CPU, Device
from semblance.service.ports.documents import Collection, CollectionSettings, Version
from semblance.service.ports.indexes import AUTO, ENGINES, VectorReader, VectorRows

log = logging.getLogger(__name__)

FORMAT = 6
MANIFEST = "manifest.json"
PARTIAL = "partial-"  # prefix of files that are being written
SNAPSHOT_FILE = re.compile(rf"(index|rows|terms|{PARTIAL[:-1]})-.+")
DATA_FILE = re.compile(r"(?:index|rows|terms)-([0-9a-f]{64})\.\w+")  # in a manifest; no paths to other folders


class _Unusable(Exception):
    """Reason why a snapshot cannot be used."""


class _Foreign(_Unusable):
    """Reason why a sound snapshot is not of this collection, or not for this release."""


@dataclass(frozen=True, slots=True)
class _Manifest:
    """Contents of a snapshot, and its file names. The field names are those of the JSON."""

    format: int
    space: str  # CollectionSettings.generation
    dim: int
    engine: str
    version: str
    count: int
    rows: int
    index_file: str
    rows_file: str
    terms_file: str

    @property
    def files(self) -> tuple[str, str, str]:
        """Names of the files with the content."""
        return self.index_file, self.rows_file, self.terms_file


def save(folder: Path, index: CollectionIndex, settings: CollectionSettings) -> None:
    """Replace the snapshot in `folder` by that of an index, which then maps its files.

    Searches continue while it is written, but changes wait, and searches that arrive after a waiting change: so save in
    the thread that applies changes. Not safe for two threads at once in one folder.

    Raises:
        OSError, RuntimeError, ValueError: it could not be written; the previous snapshot is intact.
        IndexDamaged: what was saved last has changed since.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vectors, documents, terms = (folder / f"{PARTIAL}{part}" for part in ("index", "rows", "terms"))
    saved = index.save(vectors, documents, terms)
    suffix = catalogue.find(ENGINES, saved.engine).suffix
    manifest = _Manifest(
        format=FORMAT,
        space=settings.generation,
        dim=settings.dim,
        engine=saved.engine,
        version=str(saved.version),
        count=saved.count,
        rows=saved.rows,
        index_file=_publish(vectors, f"index-{_file_sha256(vectors)}.{suffix}"),
        rows_file=_publish(documents, f"rows-{_file_sha256(documents)}.safetensors"),
        terms_file=_publish(terms, f"terms-{_file_sha256(terms)}.safetensors"),
    )
    _write_manifest(folder, manifest)
    fsync(folder.parent)
    index.adopt(*_mapped(folder, manifest))
    _remove_leftovers(folder, manifest)


def load(
    folder: Path, collection: Collection, read: VectorReader | None = None, device: Device = ON_CPU
) -> CollectionIndex | None:
    """Load the index of a collection; None, with the reason in the log, if it is unusable.

    `read` gets vectors from the store.
    """
    return load_or_damage(folder, collection, read, device)[0]


def load_or_damage(
    folder: Path, collection: Collection, read: VectorReader | None = None, device: Device = ON_CPU
) -> tuple[CollectionIndex | None, str]:
    """As `load`, with the damage for which the snapshot is not used, or an empty text."""
    if not (folder / MANIFEST).exists():
        level = logging.INFO if collection.version.number else logging.DEBUG  # a new collection needs none
        log.log(level, "collection %s has no snapshot", collection.name)
        return None, ""
    try:
        manifest = _read_manifest(folder)
        _require_fit(manifest, collection)
        index = _read(folder, manifest, collection.settings.index, read, device)
    except (_Unusable, OSError, ValueError, TypeError, LookupError, OverflowError, RuntimeError) as error:
        log.warning("collection %s: its snapshot is not used: %s", collection.name, error)
        return None, "" if isinstance(error, _Foreign) else str(error)
    _remove_leftovers(folder, manifest)
    return index, ""


def discard(folder: Path) -> None:
    """Remove a snapshot that does not match the store: after more writes it might seem to.

    Raises:
        OSError: it could not be removed.
    """
    manifest = folder / MANIFEST
    if manifest.exists():
        manifest.unlink()
        fsync(folder)


def copy(folder: Path, target: Path) -> None:
    """Copy a snapshot that a service may replace meanwhile; an unusable one is not copied.

    Raises:
        OSError: the copy could not be written.
    """
    former = None
    while (manifest := _intact_manifest(folder)) is not None and manifest != former:
        target.mkdir(parents=True, exist_ok=True)
        try:
            for name in manifest.files:
                shutil.copyfile(folder / name, target / name)
        except FileNotFoundError:  # replaced by a newer snapshot, or missing if the manifest is the same
            former = manifest
            shutil.rmtree(target)
        else:
            _write_manifest(target, manifest)
            break


def _intact_manifest(folder: Path) -> _Manifest | None:
    """Manifest of a snapshot, or None if it is missing or damaged."""
    try:
        return _read_manifest(folder)
    except FileNotFoundError:
        return None
    except (_Unusable, ValueError, TypeError, KeyError) as error:
        log.warning("the snapshot in %s is not copied: %s", folder, error)
        return None


def _write_manifest(folder: Path, manifest: _Manifest) -> None:
    partial = folder / f"{PARTIAL}manifest"
    content = asdict(manifest)
    partial.write_text(json.dumps({"manifest": content, "sha256": digest(**content)}), "utf-8")
    _publish(partial, MANIFEST)


def _read_manifest(folder: Path) -> _Manifest:
    content = json.loads((folder / MANIFEST).read_text("utf-8"))
    if digest(**content["manifest"]) != content["sha256"]:
        raise _Unusable(f"{MANIFEST} is damaged")
    if content["manifest"]["format"] != FORMAT:
        raise _Foreign(f"its format is {content['manifest']['format']}, this release reads {FORMAT}")
    manifest = _Manifest(**content["manifest"])
    for name in manifest.files:
        _digest_in_name(name)
    return manifest


def _digest_in_name(name: str) -> str:
    """Digest in the name of a file."""
    named = DATA_FILE.fullmatch(name)
    if named is None:
        raise _Unusable(f"{name} is damaged")
    return named[1]


def _require_fit(manifest: _Manifest, collection: Collection) -> None:
    """Raise unless the snapshot is of this collection, at its version or an earlier one."""
    settings, version = collection.settings, Version.parse(manifest.version)
    if (manifest.space, manifest.dim) != (settings.generation, settings.dim):
        raise _Foreign(f"its vectors are those of {manifest.space}, not {settings.generation}")
    if settings.index not in (AUTO, manifest.engine):
        raise _Foreign(f"its engine is {manifest.engine}, not {settings.index}")
    if version.epoch != collection.version.epoch or version.number > collection.version.number:
        raise _Foreign(f"it is of version {version}, and the store is at {collection.version}")


def _read(
    folder: Path, manifest: _Manifest, setting: str, read: VectorReader | None, device: Device
) -> CollectionIndex:
    """Load the index from its files, after checking their digests."""
    if _file_sha256(folder / manifest.index_file) != _digest_in_name(manifest.index_file):
        raise _Unusable(f"{manifest.index_file} is damaged")
    rows: VectorRows = catalogue.find(ENGINES, manifest.engine).load(folder / manifest.index_file, device)
    shape = (len(rows), rows.rows([0]).shape[1] if len(rows) else manifest.dim)
    if shape != (manifest.rows, manifest.dim):
        raise _Unusable(f"{manifest.index_file} contains {shape[0]} rows of {shape[1]} numbers")
    index = CollectionIndex.load(rows, *_mapped(folder, manifest), Version.parse(manifest.version), setting, read)
    if len(index) != manifest.count:
        raise _Unusable(f"{manifest.rows_file} contains {len(index)} documents, not {manifest.count}")
    return index


def _mapped(folder: Path, manifest: _Manifest) -> tuple[MappedArrays, MappedArrays]:
    """The rows and the terms. Raises OSError, ValueError, KeyError."""
    rows, terms = (MappedArrays(folder / file, _digest_in_name(file)) for file in manifest.files[1:])
    return rows, terms


def _publish(partial: Path, name: str) -> str:
    """Flush a complete file to disk and rename it; returns the name."""
    publish(partial, partial.with_name(name))
    return name


def _file_sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _remove_leftovers(folder: Path, manifest: _Manifest) -> None:
    """Remove files that the manifest does not name: older ones, and partial ones after a crash."""
    current = set(manifest.files)
    for file in folder.iterdir():
        if SNAPSHOT_FILE.fullmatch(file.name) and file.name not in current:
            try:
                file.unlink()
            except OSError as error:  # it only wastes space
                log.warning("%s could not be removed: %s", file, error)
