"""Hook of mkdocs: add pages from outside docs/ to the site, and adjust links."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
ADAPTERS = ("minilm-graded", "minilm-words", "minilm-clrcmd", "mpnet-clrcmd")
OUTSIDE_DOCS = {  # path in the repository -> path in the site
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "clients/langchain/README.md": "langchain-semblance.md",
    "clients/litellm/README.md": "litellm-semblance.md",
    "clients/llama_index/README.md": "llama-index-semblance.md",
    "clients/python/README.md": "python-client.md",
    "references.bib": "references.bib",
}
for name in ADAPTERS:
    folder = f"service/adapters/{name.replace('-', '_')}"
    beside = [file.name for pattern in ("*.yaml", "*.png") for file in (ROOT / folder).glob(pattern)]
    OUTSIDE_DOCS |= {f"{folder}/README.md": f"{name}.md", **{f"{folder}/{each}": f"{name}/{each}" for each in beside}}
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def on_files(files: Files, config: Any) -> Files:
    """Add the files outside docs/."""
    for source, target in OUTSIDE_DOCS.items():
        file = ROOT / source
        content = _adjusted(file.read_text("utf-8"), source, target) if target.endswith(".md") else file.read_bytes()
        files.append(File.generated(config, target, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Adjust the links of pages in docs/."""
    target = page.file.src_uri
    return markdown if target in OUTSIDE_DOCS.values() else _adjusted(markdown, f"docs/{target}", target)


def _adjusted(text: str, source: str, target: str) -> str:
    """Replace links by those of the site; links to files that are not in the site lead nowhere."""

    def link(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[1]))
        page = OUTSIDE_DOCS.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
        return f"]({posixpath.relpath(page, posixpath.dirname(target) or '.')}" if page else "](#"

    return _LINK.sub(link, text)
