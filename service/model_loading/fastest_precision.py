"""The fastest number type of each runtime here, measured once and kept in the home folder."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import get_args

from semblance.models.embeddings import Precision
from semblance.models.files.atomic import write_json
from semblance.models.files.digests import digest
from semblance.models.processor.identity import processor

log = logging.getLogger(__name__)

FILE = "precisions.json"  # in the home folder


def kept_precision(home: Path, runtime: str, measure: Callable[[], Precision]) -> Precision:
    """The number type chosen before for this runtime on such a processor, or measured.

    A measurement on a busy machine may come out otherwise, and vectors would differ between two starts.
    """
    library = version(runtime.partition("_")[0])  # runtimes are named after their library
    file, key = home / FILE, digest(runtime=runtime, version=library, processor=processor())
    kept = _read(file)
    if kept.get(key) in get_args(Precision):
        return kept[key]
    precision = measure()
    try:
        home.mkdir(parents=True, exist_ok=True)
        write_json(file, {**kept, key: precision})
    except OSError as error:
        log.warning("the number type that was measured, %s, cannot be kept: %s", precision, error)
    return precision


def _read(file: Path) -> dict[str, Precision]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
