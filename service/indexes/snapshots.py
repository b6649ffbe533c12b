"""An index in a folder, so that a start need not build it anew.

Two files named by their own SHA-256 hold the engine's rows and a line about each; `manifest.json` names them and says
what they belong to. The manifest is renamed into place last: before that, the folder holds the old snapshot, and
afterwards the new one. A snapshot is never authoritative: one that is damaged or belongs elsewhere is left out, and the
index is built from the store.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from semblance.models import catalogue
from semblance.models.files.atomic import publish, sync
from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.ports.device import ON_CPU, Device
from semblance.service.ports.documents import Collection, CollectionSettings, Version
from semblance.service.ports.indexes import AUTO, ENGINES, VectorRows

log = logging.getLogger(__name__)

FORMAT = 1
MANIFEST = "manifest.json"
PARTIAL = "partial-"  # begins the names of files that are being written
OURS = re.compile(rf"(index|rows|{PARTIAL[:-1]})-.+")
NAMED = re.compile(r"(?:index|rows)-([0-9a-f]{64})\.\w+")  # in a manifest; nothing that leads to another folder


class _Unusable(Exception):
    """A snapshot that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What a snapshot is of, and the names of its files."""

    format: int
    space: str
    dim: int
    engine: str
    version: str
    count: int
    rows: int
    index_file: str
    rows_file: str


def save(folder: Path, index: CollectionIndex, settings: CollectionSettings) -> None:
    """Save an index of a collection of these settings, in the place of what `folder` holds.

    Searches go on meanwhile; changes wait until the files are written, and searches behind them: save where the
    changes are applied, after them. Not for two threads at once in one folder.

    Raises:
        OSError, RuntimeError: it could not be written; the snapshot that was there still is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vectors, documents = folder / f"{PARTIAL}index", folder / f"{PARTIAL}rows"
    saved = index.save(vectors, documents)
    suffix = catalogue.find(ENGINES, saved.engine).suffix
    manifest = _Manifest(
        format=FORMAT,
        space=settings.space,
        dim=settings.dim,
        engine=saved.engine,
        version=str(saved.version),
        count=saved.count,
        rows=saved.rows,
        index_file=_publish(vectors, f"index-{_digest(vectors)}.{suffix}"),
        rows_file=_publish(documents, f"rows-{_digest(documents)}.jsonl"),
    )
    _write_manifest(folder, manifest)
    sync(folder.parent)
    _remove_leftovers(folder, manifest)


def load(folder: Path, collection: Collection, device: Device = ON_CPU) -> CollectionIndex | None:
    """The index that was saved of a collection, or None, and the log says why."""
    if not (folder / MANIFEST).exists():
        log.info("collection %s has no snapshot", collection.name)
        return None
    try:
        manifest = _read_manifest(folder)
        _require_fit(manifest, collection)
        index = _read(folder, manifest, collection.settings.index, device)
    except (_Unusable, OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        log.warning("collection %s: its snapshot is not used: %s", collection.name, error)
        return None
    _remove_leftovers(folder, manifest)
    return index


def discard(folder: Path) -> None:
    """Take a snapshot for none from now on: what the store cannot use today may look like its own after more writes.

    Raises:
        OSError: it could not be removed.
    """
    manifest = folder / MANIFEST
    if manifest.exists():
        manifest.unlink()
        sync(folder)


def copy(folder: Path, target: Path) -> None:
    """Copy a snapshot beside a service that may replace it meanwhile; if it is of no use, nothing is copied.

    Raises:
        OSError: the copy could not be written.
    """
    former = None
    while (manifest := _named(folder)) is not None and manifest != former:
        target.mkdir(parents=True, exist_ok=True)
        try:
            for name in (manifest.index_file, manifest.rows_file):
                shutil.copyfile(folder / name, target / name)
        except FileNotFoundError:  # a newer one took its place; unless its manifest is still there
            former = manifest
            shutil.rmtree(target)
        else:
            _write_manifest(target, manifest)
            break


def _named(folder: Path) -> _Manifest | None:
    """The manifest of a snapshot, if there is one and it is whole."""
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
    partial.write_text(json.dumps({"manifest": content, "sha256": _seal(content)}), "utf-8")
    _publish(partial, MANIFEST)


def _read_manifest(folder: Path) -> _Manifest:
    content = json.loads((folder / MANIFEST).read_text("utf-8"))
    if _seal(content["manifest"]) != content["sha256"]:
        raise _Unusable(f"{MANIFEST} is damaged")
    if content["manifest"]["format"] != FORMAT:
        raise _Unusable(f"it has format {content['manifest']['format']}, and this release reads {FORMAT}")
    manifest = _Manifest(**content["manifest"])
    for name in (manifest.index_file, manifest.rows_file):
        _digest_in(name)
    return manifest


def _digest_in(name: str) -> str:
    """The digest that a file is named by."""
    named = NAMED.fullmatch(name)
    if named is None:
        raise _Unusable(f"{name} is damaged")
    return named[1]


def _require_fit(manifest: _Manifest, collection: Collection) -> None:
    """Raise unless it is a snapshot of this very collection, of now or before."""
    settings, version = collection.settings, Version.parse(manifest.version)
    if (manifest.space, manifest.dim) != (settings.space, settings.dim):
        raise _Unusable(f"its vectors are those of space {manifest.space[:12]}, not {settings.space[:12]}")
    if settings.index not in (AUTO, manifest.engine):
        raise _Unusable(f"its engine is {manifest.engine}, not {settings.index}")
    if version.epoch != collection.version.epoch or version.number > collection.version.number:
        raise _Unusable(f"it is of version {version}, and the store is at {collection.version}")


def _read(folder: Path, manifest: _Manifest, setting: str, device: Device) -> CollectionIndex:
    """The index from its files, once they have proved to be what the manifest names."""
    for name in (manifest.index_file, manifest.rows_file):
        if _digest(folder / name) != _digest_in(name):
            raise _Unusable(f"{name} is damaged")
    rows: VectorRows = catalogue.find(ENGINES, manifest.engine).load(folder / manifest.index_file, device)
    found = (len(rows), rows.rows([0]).shape[1] if len(rows) else manifest.dim)
    if found != (manifest.rows, manifest.dim):
        raise _Unusable(f"{manifest.index_file} holds {found[0]} rows of {found[1]} numbers")
    with (folder / manifest.rows_file).open(encoding="utf-8") as lines:
        index = CollectionIndex.restore(rows, setting, Version.parse(manifest.version), lines)
    if len(index) != manifest.count:
        raise _Unusable(f"{manifest.rows_file} holds {len(index)} documents, not {manifest.count}")
    return index


def _publish(aside: Path, name: str) -> str:
    """Give a file that is written its name, after all of it is on disk."""
    publish(aside, aside.with_name(name))
    return name


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _seal(content: Mapping[str, Any]) -> str:
    """The digest that tells a damaged manifest."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _remove_leftovers(folder: Path, manifest: _Manifest) -> None:
    """Remove files that no manifest names: older ones, and what a crash left half written."""
    named = {manifest.index_file, manifest.rows_file}
    for file in folder.iterdir():
        if OURS.fullmatch(file.name) and file.name not in named:
            try:
                file.unlink()
            except OSError as error:  # it only takes room
                log.warning("%s could not be removed: %s", file, error)
