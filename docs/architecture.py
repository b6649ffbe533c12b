"""Draw docs/images/architecture.svg: the packages in layers, with the first lines of their docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"

# Top to bottom: a layer may import those below it. The contracts in pyproject.toml enforce this.
SERVICE: Sequence[Sequence[str]] = (
    ("cli",),
    ("process", "composition"),
    ("api",),
    ("usecases", "replication"),
    ("ports", "files"),
    ("batching", "caches"),
    ("documents", "indexes"),
    ("rendering", "model_loading", "observability"),
)
MODELS: Sequence[Sequence[str]] = (
    ("judgments",),
    ("formats", "encoders"),
    ("runtimes",),
    ("processor",),
    ("networks",),
    ("weightings", "projections"),
    ("adaptation", "model_files"),
    ("measures",),
    ("paraphrases", "selection"),
    ("alignment",),
    ("tokenization", "files"),
)
WIDTH, GAP, ROW, TOP = 560, 8, 62, 64

STYLE = """
text { font-family: system-ui, sans-serif; fill: #1c2733; }
.title { font-size: 19px; font-weight: 600; }
.name { font-size: 15px; font-weight: 600; }
.what { font-size: 11px; fill: #51606e; }
rect { fill: #eef3f8; stroke: #b9c7d4; }
@media (prefers-color-scheme: dark) {
  text { fill: #e7edf3; } .what { fill: #a9b6c3; } rect { fill: #22303d; stroke: #43566a; }
  .page { fill: #10181f; stroke: none; }
}
.page { fill: #ffffff; stroke: none; }
"""


def picture() -> str:
    """The drawing as SVG."""
    height = TOP + max(len(SERVICE), len(MODELS)) * (ROW + GAP) + 8
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH + 60} {height}" role="img">',
            "<title>The packages of Semblance in layers: each may import only those below it</title>",
            f"<style>{_style()}</style>",
            f'<rect class="page" width="{2 * WIDTH + 60}" height="{height}"/>',
            *_stack("service: the product", "service", SERVICE, 20),
            *_stack("models: the science, pure and synchronous", "models", MODELS, WIDTH + 40),
            "</svg>\n",
        ]
    )


def _style() -> str:
    """Style sheet with light colors first, so that those for dark mode override them."""
    rules, _, dark = STYLE.partition("@media")
    dark, _, page = dark.partition("\n}\n")
    return f"{rules}{page}@media{dark}\n}}\n"


def _stack(title: str, folder: str, layers: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    yield f'<text class="title" x="{left}" y="38">{escape(title)}</text>'
    for number, layer in enumerate(layers):
        width = (WIDTH - GAP * (len(layer) - 1)) / len(layer)
        for place, name in enumerate(layer):
            x, y = left + place * (width + GAP), TOP + number * (ROW + GAP)
            yield f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{ROW}" rx="6"/>'
            yield f'<text class="name" x="{x + 12:.0f}" y="{y + 22}">{name}</text>'
            for line, text in enumerate(_wrapped(_summary(ROOT / folder / name), int((width - 20) / 6.1))):
                yield f'<text class="what" x="{x + 12:.0f}" y="{y + 39 + 15 * line}">{escape(text)}</text>'


def _summary(package: Path) -> str:
    """The first line of the package's docstring, without its full stop and backticks."""
    doc = ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""
    return doc.partition("\n")[0].rstrip(".").replace("`", "")


def _wrapped(text: str, columns: int) -> list[str]:
    """Wrap a text into at most two lines."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > columns:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    assert len(lines) <= 2, f"too long for two lines of {columns} characters: {text!r}"
    return lines


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
