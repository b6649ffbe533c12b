"""Write the generated parts of the documentation, between markers in its files; run by scripts/docs.

<!-- settings --> ... <!-- /settings -->
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from fastapi.routing import APIRoute
from pydantic import SecretStr
from pydantic_core import PydanticUndefined
from semblance_client.vocabulary.responses import WARNINGS

from docs.request import request
from semblance.models import catalogue
from semblance.service.api import errors
from semblance.service.api.edge.key_entries import KeyRing, entry_of
from semblance.service.api.edge.keys import Guard, scope_of
from semblance.service.api.routes import ROUTERS
from semblance.service.settings import Settings
from semblance_lab.cli.train import RECIPES
from semblance_lab.evaluation import datasets
from semblance_lab.origin.origin_settings import OriginSettings
from semblance_lab.training.recipe import Align, Keep, LowRank, Recipe

ROOT = Path(__file__).parents[1]

# the first setting of each group; a group extends to the next one
GROUPS = {
    "host": "Server",
    "api_keys": "Keys and access",
    "home": "Documents",
    "models": "Models",
    "max_batch_tokens": "Batching",
    "cache": "Cache",
    "max_connections": "Connections",
    "log_level": "Log and traces",
    "max_text_chars": "Request limits",
    "ready_within_s": "Readiness and shutdown",
}


def settings() -> Iterator[str]:
    """A table for each group of settings."""
    for title, names in settings_by_group().items():
        yield from ("", f"## {title}", "", "| variable | default | meaning |", "|---|---|---|")
        for name in names:
            field = Settings.model_fields[name]
            plain = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
            default = "" if plain is PydanticUndefined or plain is None else str(plain)
            shown = f"`{default}`" if default else ""
            yield f"| `SEMBLANCE_{name.upper()}` | {shown} | {field.description} |"
    yield ""


def settings_by_group() -> dict[str, list[str]]:
    """Names of the settings under the title of their group, in order."""
    groups: dict[str, list[str]] = {}
    title = ""
    for name in Settings.model_fields:
        title = GROUPS.get(name, title)
        groups.setdefault(title, []).append(name)
    return groups


def measures() -> Iterator[str]:
    """Table of measures, from the paragraphs of their docstrings."""
    yield "| measure | what it is | formula | bounds | explains | multiplications a pair | when | source |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in catalogue.names(catalogue.MEASURES):
        similarity = catalogue.similarity(name)
        doc = inspect.getdoc(type(similarity)) or ""
        cells = (
            f"`{name}`",
            catalogue.summary(name),
            f"`{_formula(doc)}`",
            " to ".join(_bound(bound) for bound in similarity.bounds),
            "yes" if catalogue.explains(name) else "no",
            _paragraph(doc, "Costs ").removeprefix("Costs ").replace(" multiplications a pair", ""),
            _paragraph(doc, "Prefer "),
            similarity.reference,
        )
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def data_sets() -> Iterator[str]:
    """Table of evaluation sets."""
    yield "| set | task | files in the data folder | where to get it |"
    yield "|---|---|---|---|"
    shown = ""
    for each in datasets.data_sets().values():
        if each.name.endswith(("_panel", "_rest")):  # parts of other sets
            continue
        files = " or ".join(f"`{file}`" for file in each.files)
        source = "same" if each.source == shown else each.source
        shown = each.source
        yield f"| `{each.name}` | {each.what} | {files} | {source} |"


def codes() -> Iterator[str]:
    """Table of error codes."""
    yield "| code | status | when |"
    yield "|---|---|---|"
    rows = [(leaf.code, status, _first_line(leaf)) for leaf, status in errors.STATUS.items()]
    rows += [(code, status, when) for code, (status, when) in errors.OTHER_CODES.items()]
    for code, status, when in sorted(rows, key=lambda row: (row[1], row[0])):
        yield f"| `{code}` | {status} | {when} |"


def warning_codes() -> Iterator[str]:
    """Table of the codes of warnings."""
    yield "| code | when |"
    yield "|---|---|"
    for code, when in sorted(WARNINGS.items()):
        yield f"| `{code}` | {when} |"


def recipes() -> Iterator[str]:
    """Table of training recipes."""
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
    """Table of recipe settings: those of all recipes first, then those of some."""
    kinds = {name: catalogue.find(RECIPES, name) for name in catalogue.names(RECIPES)}
    specific = {name: field for kind in kinds.values() for name, field in kind.model_fields.items()}
    yield "| setting | default | what it does |"
    yield "|---|---|---|"
    for name in dict.fromkeys((*Recipe.model_fields, *specific)):
        field = Recipe.model_fields.get(name, specific[name])
        yield f"| `{name}` | {_defaults(name, kinds)} | {field.description} |"
    for section, group in (("low_rank", LowRank), ("keep", Keep), ("align", Align)):
        for name, field in group.model_fields.items():
            default = "required" if field.is_required() else _format(field.default)
            yield f"| `{section}.{name}` | {default} | {field.description} |"


def origin_settings() -> Iterator[str]:
    """Table of the settings of Origin, by section."""
    yield "| setting | default | what it does |"
    yield "|---|---|---|"
    for section, each in OriginSettings.model_fields.items():
        for name, field in type(each.default).model_fields.items():
            yield f"| `{section}.{name}` | {_format(field.default)} | {field.description} |"


def scopes() -> Iterator[str]:
    """The requests of each scope of a key, in the order of their paths."""
    guard = Guard(KeyRing(entry_of("any", ["read"], "any")))
    requests: dict[str, list[str]] = {}
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    for route in sorted(routes, key=lambda route: route.path):
        for method in sorted(route.methods or ()):
            scope = f"`{scope_of(method, route.path)}`" if guard.needs_key(method, route.path) else "no key"
            requests.setdefault(scope, []).append(f"`{method} {route.path.replace(':path', '')}`")
    yield from ("| scope | requests |", "|---|---|")
    for scope, own in sorted(requests.items()):
        yield f"| {scope} | {', '.join(own)} |"


def _defaults(name: str, kinds: Mapping[str, type[Recipe]]) -> str:
    """The default of a recipe setting, with the recipes that override it."""
    by_value: dict[str, list[str]] = {}
    if name in Recipe.model_fields:
        by_value[_format(Recipe.model_fields[name].default)] = []
    for kind, each in kinds.items():
        if name in each.model_fields:
            by_value.setdefault(_format(each.model_fields[name].default), []).append(f"`{kind}`")
    shared, *_ = by_value if name in Recipe.model_fields else (None,)
    return "; ".join(value if value == shared else f"{value} for {', '.join(of)}" for value, of in by_value.items())


def _format(value: object) -> str:
    plain = ", ".join(map(str, value)) if isinstance(value, tuple) else value
    return "none" if plain is None or plain == "" else f"`{str(plain).lower() if isinstance(plain, bool) else plain}`"


GENERATED: Mapping[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "settings": ("docs/settings.md", settings),
    "measures": ("docs/measures.md", measures),
    "data_sets": ("docs/measures.md", data_sets),
    "codes": ("docs/errors.md", codes),
    "warning_codes": ("docs/errors.md", warning_codes),
    "scopes": ("docs/operation.md", scopes),
    "recipes": ("docs/training.md", recipes),
    "recipe_settings": ("docs/training.md", recipe_settings),
    "origin_settings": ("docs/origin.md", origin_settings),
    "request": ("docs/request.md", request),
}


def filled(name: str) -> tuple[Path, str]:
    """The file of a generated part, and its text with that part up to date."""
    file, lines = GENERATED[name]
    path = ROOT / file
    body = "\n".join(lines())
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    text, count = re.subn(
        pattern, lambda match: f"{match[1]}{body}\n{match[2]}", path.read_text("utf-8"), flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"{file} needs one <!-- {name} --> ... <!-- /{name} -->")
    return path, text


def _formula(doc: str) -> str:
    """The first line of the first indented block, without a range at its end."""
    line = doc.partition("::\n\n")[2].partition("\n")[0]
    return " ".join(re.sub(r"\s+in [\[(].*", "", line).split())


def _bound(bound: float) -> str:
    return {-math.inf: "minus infinity", math.inf: "infinity"}.get(bound, f"{bound:g}")


def _paragraph(doc: str, opening: str) -> str:
    """The paragraph that begins with `opening`, on one line; empty if there is none."""
    paragraphs = [paragraph for paragraph in doc.split("\n\n") if paragraph.startswith(opening)]
    return " ".join(paragraphs[0].split()) if paragraphs else ""


def _first_line(leaf: type[Exception]) -> str:
    return (inspect.getdoc(leaf) or "").partition("\n")[0].rstrip(".")


if __name__ == "__main__":
    stale = False
    for part in GENERATED:
        path, text = filled(part)
        stale |= path.read_text("utf-8") != text
        path.write_text(text, "utf-8")
    sys.stdout.write("updated\n" if stale else "already up to date\n")
