"""Writes the parts of the documentation that the code itself knows, between markers in the files: scripts/docs.

<!-- settings --> ... <!-- /settings -->
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from semblance.models import catalogue
from semblance.models.evaluation import datasets
from semblance.models.origin.origin_settings import OriginSettings
from semblance.models.training.recipe import LowRank, Recipe
from semblance.service.api import errors
from semblance.service.cli.train.asked import RECIPES
from semblance.service.settings import Settings

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
    """One line a measure, from what its docstring says in paragraphs of their own."""
    yield "| measure | what it is | formula | bounds | explains | cost | when | source |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in catalogue.names(catalogue.SIMILARITIES):
        found = catalogue.similarity(name)
        doc = inspect.getdoc(type(found)) or ""
        cells = (
            f"`{name}`",
            catalogue.summary(name),
            f"`{_formula(doc)}`",
            " to ".join(_bound(bound) for bound in found.bounds),
            "yes" if catalogue.explains(name) else "no",
            _paragraph(doc, "Costs "),
            _paragraph(doc, "Prefer "),
            found.reference,
        )
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def data_sets() -> Iterator[str]:
    """One line a benchmark."""
    yield "| set | what it asks | looked for in the folder of data | where to get it |"
    yield "|---|---|---|---|"
    for each in datasets.data_sets().values():
        files = " or ".join(f"`{file}`" for file in each.files)
        yield f"| `{each.name}` | {each.what} | {files} | {each.source} |"


def codes() -> Iterator[str]:
    """One line an error code."""
    yield "| code | status | when |"
    yield "|---|---|---|"
    rows = [(leaf.code, status, _first_line(leaf)) for leaf, status in errors.STATUS.items()]
    rows += [(code, status, when) for code, (status, when) in errors.OTHER_CODES.items()]
    for code, status, when in sorted(rows, key=lambda row: (row[1], row[0])):
        yield f"| `{code}` | {status} | {when} |"


def recipes() -> Iterator[str]:
    """One line a recipe."""
    yield "| recipe | what it is | columns | source |"
    yield "|---|---|---|---|"
    for name in catalogue.names(RECIPES):
        kind = catalogue.find(RECIPES, name)
        doc = inspect.getdoc(kind) or ""
        label = kind.model_fields["label"].default
        columns = ", ".join(f"`{each}`" for each in (*kind.columns, *([label] if label else [])))
        what = doc.partition("\n\n")[0].replace("\n", " ")
        source = _paragraph(doc, "Source: ").removeprefix("Source: ")
        yield f"| `{name}` | {what.replace('|', chr(92) + '|')} | {columns} | {source} |"


def recipe_settings() -> Iterator[str]:
    """One line a setting of recipes: what all have, then what some have of their own."""
    kinds = {name: catalogue.find(RECIPES, name) for name in catalogue.names(RECIPES)}
    own = {name: field for kind in kinds.values() for name, field in kind.model_fields.items()}
    yield "| setting | default | what it does |"
    yield "|---|---|---|"
    for name in dict.fromkeys((*Recipe.model_fields, *own)):
        field = Recipe.model_fields.get(name, own[name])
        yield f"| `{name}` | {_defaults(name, kinds)} | {field.description} |"
    for name, field in LowRank.model_fields.items():
        yield f"| `low_rank.{name}` | {_shown(field.default)} | {field.description} |"


def origin_settings() -> Iterator[str]:
    """One line a setting of Origin, section by section."""
    yield "| setting | default | what it does |"
    yield "|---|---|---|"
    for section, each in OriginSettings.model_fields.items():
        for name, field in type(each.default).model_fields.items():
            yield f"| `{section}.{name}` | {_shown(field.default)} | {field.description} |"


def _defaults(name: str, kinds: Mapping[str, type[Recipe]]) -> str:
    """The default of a setting, and the recipes that have another one."""
    by_value: dict[str, list[str]] = {}
    if name in Recipe.model_fields:
        by_value[_shown(Recipe.model_fields[name].default)] = []
    for kind, each in kinds.items():
        if name in each.model_fields:
            by_value.setdefault(_shown(each.model_fields[name].default), []).append(f"`{kind}`")
    shared, *_ = by_value if name in Recipe.model_fields else (None,)
    return "; ".join(value if value == shared else f"{value} for {', '.join(of)}" for value, of in by_value.items())


def _shown(value: object) -> str:
    plain = ", ".join(map(str, value)) if isinstance(value, tuple) else value
    return "none" if plain is None or plain == "" else f"`{str(plain).lower() if isinstance(plain, bool) else plain}`"


GENERATED: Mapping[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "settings": ("README.md", settings),
    "measures": ("docs/measures.md", measures),
    "data_sets": ("docs/measures.md", data_sets),
    "codes": ("docs/errors.md", codes),
    "recipes": ("docs/training.md", recipes),
    "recipe_settings": ("docs/training.md", recipe_settings),
    "origin_settings": ("docs/origin.md", origin_settings),
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


def _formula(doc: str) -> str:
    """The first line of the first indented block, without the range that may stand at its end."""
    line = doc.partition("::\n\n")[2].partition("\n")[0]
    return " ".join(re.sub(r"\s+in [\[(].*", "", line).split())


def _bound(bound: float) -> str:
    return {-math.inf: "minus infinity", math.inf: "infinity"}.get(bound, f"{bound:g}")


def _paragraph(doc: str, opening: str) -> str:
    """The paragraph that begins so, on one line; what the docstring lacks stays empty."""
    found = [paragraph for paragraph in doc.split("\n\n") if paragraph.startswith(opening)]
    return " ".join(found[0].split()) if found else ""


def _first_line(leaf: type[Exception]) -> str:
    return (inspect.getdoc(leaf) or "").partition("\n")[0].rstrip(".")


if __name__ == "__main__":
    stale = False
    for part in GENERATED:
        path, text = filled(part)
        stale |= path.read_text("utf-8") != text
        path.write_text(text, "utf-8")
    sys.stdout.write("written\n" if stale else "already up to date\n")
