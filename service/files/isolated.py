"""Files read by a process of their own (reader.py), which their content can only end."""

from __future__ import annotations

import json
import os
import subprocess  # nosec B404
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from semblance.service.files.sources import Format, Reading

PROGRAM = ("-m", "semblance.service.files.reader")
TOO_HARD = "reading it took more time or memory than is allowed"
_KEPT = ("PATH", "PYTHONPATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")  # of the environment, which may hold secrets


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file, its name for the reader, and its format; None for that of the `Reading`."""

    path: Path
    name: str
    format: Format | None = None


class IsolatedFiles:
    """Files that are read one after another.

    Args:
        files: to read.
        reading: how to read them.
        texts: fields of the text, none for a guess.
        id_field: field of the id, None for a guess.
    """

    def __init__(
        self, files: Sequence[NamedFile], reading: Reading, texts: Sequence[str] = (), id_field: str | None = None
    ) -> None:
        self._files = files
        self._reading = reading
        self._fields = {"texts": list(texts), "id": id_field}
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """The lines that reader.py describes; a file that ends the process has a problem."""
        ended = 0
        while ended < len(self._files) and not self._stopped:
            for line in self._of_one_process(self._files[ended:]):
                if "end" in line:
                    ended += 1
                else:
                    yield line
            if ended < len(self._files) and not self._stopped:
                yield {"problem": {"code": "bad_file", "detail": TOO_HARD}}
                ended += 1

    def stop(self) -> None:
        """End the process; `lines` then ends, in whatever thread it is."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()

    def _of_one_process(self, files: Sequence[NamedFile]) -> Iterator[Mapping[str, Any]]:
        task = {
            "files": [(str(each.path), each.name, each.format) for each in files],
            "reading": asdict(self._reading),
            "fields": self._fields,
        }
        with subprocess.Popen(  # nosec B603 # noqa: S603 - our own module
            [sys.executable, *PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
        ) as process:
            self._process = process
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                _send(process.stdin, task)
                for line in process.stdout:
                    yield orjson.loads(line)
            finally:
                process.kill()


def environment() -> Mapping[str, str]:
    """The variables that the process gets."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ}


def _send(stream: IO[bytes], task: Mapping[str, Any]) -> None:
    with stream:
        stream.write(json.dumps(task).encode())
