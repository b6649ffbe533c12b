"""A folder that is there whole or not at all."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.files.atomic import publish


@contextmanager
def whole_folder(out: Path, *, private: bool = False) -> Iterator[tuple[Path, Path]]:
    """A folder that gets the name `out` when the block ends well, and one for what is only needed on the way.

    Both lie in a hidden folder beside `out`, on the same disk. It is deleted however the block ends, but for a process
    that is killed outright; then `out` does not exist either. With `private`, nobody else may read it.

    Raises:
        BadDataSet: `out` is a file, or a folder that is not empty.
        OSError: its parent cannot be written to.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise BadDataSet(f"{out} exists already: name a new folder, or delete it")
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that all is deleted then, too
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as aside:
        made, scratch = Path(aside, "made"), Path(aside, "scratch")
        made.mkdir()
        scratch.mkdir()
        yield made, scratch
        if private:
            _close_to_others(made)
        publish(made, out)


def _close_to_others(folder: Path) -> None:
    """It was in a folder that is closed to them so far."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
