"""Files that verbs write: results as JSON, and folders that appear complete or not at all."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.atomic import publish


def raise_on_sigterm() -> None:
    """Turn SIGTERM into SystemExit, so that context managers still clean up."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def save_json(content: Mapping[str, object], file: Path) -> None:
    """Write a JSON file, or to a device such as /dev/stdout; the folder is created."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")


@contextmanager
def atomic_folder(out: Path, *, private: bool = False) -> Iterator[tuple[Path, Path]]:
    """Yield a folder that becomes `out` if the block succeeds, and one for temporary files.

    Both lie in a hidden folder beside `out`, on the same disk. It is deleted however the block ends, unless the process
    is killed; then `out` does not exist either. With `private`, only the owner can read the result.

    Raises:
        BadDataSet: `out` is a file, or a folder that is not empty.
        OSError: its parent cannot be written to.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise BadDataSet(f"{out} already exists; name a new folder or delete it")
    raise_on_sigterm()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as hidden:
        result, scratch = Path(hidden, "made"), Path(hidden, "scratch")
        result.mkdir()
        scratch.mkdir()
        yield result, scratch
        if private:
            _restrict_to_owner(result)
        publish(result, out)


def _restrict_to_owner(folder: Path) -> None:
    """So far the permissions of the hidden folder above it protected it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
