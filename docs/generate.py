"""Writes the parts of the documentation that the code itself knows, between markers in the files: scripts/docs.

<!-- settings --> ... <!-- /settings -->
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from models import catalogue
from models.protocols import Explainable
from service.api import errors
from service.settings import Settings

ROOT = Path(__file__).parents[1]


def settings() -> Iterator[str]:
    """One line a setting."""
    yield "| variable | default | what it does |"
    yield "|---|---|---|"
    for name, field in Settings.model_fields.items():
        plain = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
        default = "" if plain is PydanticUndefined else str(plain)
        shown = f"`{default}`" if default else ""
        yield f"| `SEMBLANCE_{name.upper()}` | {shown} | {field.description} |"


def measures() -> Iterator[str]:
    """One line a measure."""
    yield "| measure | what it is | bounds | symmetric | explains | source |"
    yield "|---|---|---|---|---|---|"
    for name in catalogue.names("models.similarities"):
        found = catalogue.similarity(name)
        low, high = found.bounds
        explains = "yes" if isinstance(found, Explainable) else "no"
        symmetric = "yes" if found.symmetric else "no"
        bounds = f"{low:g} to {high:g}"
        yield f"| `{name}` | {catalogue.summary(name)} | {bounds} | {symmetric} | {explains} | {found.reference} |"


def codes() -> Iterator[str]:
    """One line an error code."""
    yield "| code | status | when |"
    yield "|---|---|---|"
    rows = [(leaf.code, status, _first_line(leaf)) for leaf, status in errors.STATUS.items()]
    rows += [(code, status, when) for code, (status, when) in errors.OTHER_CODES.items()]
    for code, status, when in sorted(rows, key=lambda row: (row[1], row[0])):
        yield f"| `{code}` | {status} | {when} |"


GENERATED: Mapping[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "settings": ("README.md", settings),
    "measures": ("docs/measures.md", measures),
    "codes": ("docs/errors.md", codes),
}


def filled(name: str) -> tuple[Path, str]:
    """A file, and its text with the part of that name as it should be."""
    file, lines = GENERATED[name]
    path = ROOT / file
    body = "\n".join(lines())
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    text, count = re.subn(
        pattern, lambda found: f"{found[1]}{body}\n{found[2]}", path.read_text("utf-8"), flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"{file} needs one <!-- {name} --> ... <!-- /{name} -->")
    return path, text


def _first_line(leaf: type[Exception]) -> str:
    return (inspect.getdoc(leaf) or "").partition("\n")[0].rstrip(".")


if __name__ == "__main__":
    stale = False
    for part in GENERATED:
        path, text = filled(part)
        stale |= path.read_text("utf-8") != text
        path.write_text(text, "utf-8")
    sys.stdout.write("written\n" if stale else "already up to date\n")
