"""Read files of strangers in a process of its own, within bounds of time and memory.

    python -m semblance.service.files.reader

reads a task as JSON from standard input and writes lines of JSON: `{"file": NAME}`, how the file was read, its
documents and the rows that are none, and `{"end": NAME}`. `isolated.py` starts it. A file that is too hard for it ends
this process, not the one that asked.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from semblance.models.errors import SemblanceError
from semblance.service.files.column_types import column_types
from semblance.service.files.encodings import known_encoding
from semblance.service.files.fields import DocumentFields
from semblance.service.files.guesses import guessed_fields
from semblance.service.files.opening import open_source
from semblance.service.files.sources import TABLES, Reading, RowProblem, RowSource

MAX_MEMORY = 2 << 30  # bytes of address space
FILE_S = 30  # of processor time for one file
FIRST_ROWS = 100  # whose fields are the columns of a file of JSON


def main() -> None:
    """Read one task."""
    _limit_memory()
    task = json.load(sys.stdin)
    reading = Reading(**task["reading"])
    for path, name, kind in task["files"]:
        _write({"file": name})
        _limit_time()
        try:
            for line in _lines(Path(path), name, replace(reading, format=kind or reading.format), task["fields"]):
                _write(line)
        except SemblanceError as error:
            _write({"problem": {"code": error.code, "detail": str(error).replace(path, name)}})
        except ModuleNotFoundError as error:
            _write({"problem": {"code": "missing_extra", "detail": f"{name} needs {error.name}, which is missing"}})
        except Exception:  # noqa: BLE001 - of libraries that parse what others made
            _write({"problem": {"code": "bad_file", "detail": f"{name} is damaged, or of a kind that is not known"}})
        _write({"end": name})
        sys.stdout.buffer.flush()  # a file that ends this process must not take the earlier ones with it


def _lines(path: Path, name: str, reading: Reading, named: Mapping[str, Any]) -> Iterator[Mapping[str, Any] | bytes]:
    """The fields of a file, and its rows."""
    if reading.encoding is not None:
        reading = replace(reading, encoding=known_encoding(reading.encoding))
    source = open_source(path, reading, name)
    fields = DocumentFields(name, named["id"], tuple(named["texts"]))
    try:
        fields = _completed(source, fields)
    finally:
        yield {"read": _read(source, fields)}  # also if its fields are wrong: they can be chosen among its columns
    for row in source.rows():
        match fields.document(row):
            case RowProblem(code, detail):
                yield {source.unit: row.number, "problem": {"code": code, "detail": detail}}
            case bytes() as line if isinstance(row.fields, Mapping) and _is_json(line):
                yield b'{"%s": %d, "document": %b}' % (source.unit.encode(), row.number, line)
            case _:
                problem = {"code": "malformed_json", "detail": "it is not an object of JSON, or has NaN in it"}
                yield {source.unit: row.number, "problem": problem}


def _completed(source: RowSource, fields: DocumentFields) -> DocumentFields:
    """The fields, with guesses and the types of columns. Raises BadDataSet."""
    fields = guessed_fields(source, fields)
    if source.columns is not None:
        fields.require(source.columns)
    return fields if source.typed else replace(fields, casts=column_types(source.rows()))


def _read(source: RowSource, fields: DocumentFields) -> Mapping[str, Any]:
    how = source.reading
    return {
        "format": how.format,
        "encoding": how.encoding,
        "separator": how.separator,
        "columns": _columns(source),
        "unnamed": list(source.unnamed),
        "text_fields": list(fields.texts),
        "id_field": fields.id,
    }


def _columns(source: RowSource) -> list[str] | None:
    """Names of the columns of a table; of JSON, those of the first rows."""
    if source.columns is not None:
        return [each for each in source.columns if each]
    if source.reading.format not in TABLES:
        return None
    rows = (row.fields for row in islice(source.rows(), FIRST_ROWS))
    return list(dict.fromkeys(name for fields in rows if isinstance(fields, Mapping) for name in fields))


def _is_json(line: bytes) -> bool:
    """Whether a line is strictly JSON: without NaN, infinity and lone surrogates."""
    try:
        orjson.loads(line)
    except ValueError:
        return False
    return True


def _write(line: Mapping[str, Any] | bytes) -> None:
    content = line if isinstance(line, bytes) else json.dumps(line).encode()
    sys.stdout.buffer.write(content + b"\n")


def _limit_memory() -> None:
    try:
        import resource  # noqa: PLC0415 - not on Windows, where nothing limits the memory
    except ModuleNotFoundError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time() -> None:
    """Let the system end this process after `FILE_S` from now."""
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.setitimer(signal.ITIMER_PROF, FILE_S)


if __name__ == "__main__":
    main()
