"""The fonts that pictures are set in, from pinned Python packages, so that any machine draws the same."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

# DejaVu Sans: Latin, Greek, Cyrillic, Armenian, Georgian, Arabic, Hebrew, symbols. Noto Sans CJK: Chinese, Japanese,
# Korean, in the shapes of each. The packages are never imported: only their files are wanted.
_FILES = (
    ("matplotlib", "mpl-data/fonts/ttf/DejaVuSans.ttf"),
    ("matplotlib", "mpl-data/fonts/ttf/DejaVuSans-Bold.ttf"),
    ("noto_cjk_sans_otc", "NotoSansCJK-Regular.ttc"),
)


@cache
def font_files() -> tuple[str, ...]:
    """Paths of the fonts.

    Raises:
        RuntimeError: naming the package that the installation lacks.
    """
    return tuple(str(_file(package, name)) for package, name in _FILES)


def _file(package: str, name: str) -> Path:
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0]) / name if folders else None
    if path is None or not path.is_file():
        raise RuntimeError(f"pictures need {name} of the Python package {package}, which is not installed")
    return path
