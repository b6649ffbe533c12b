"""Built-in models, whose files come in installed Python packages and in `service/adapters/`."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.source import Source


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A model in the package of data.

    Attributes:
        folder: folder of the model in the package.
        weights_sha256: SHA-256 of its weights.
        adapter: folder of its adapter in `service/adapters/`, if it has one.
        adapter_sha256: SHA-256 of the adapter's weights.
    """

    folder: str
    weights_sha256: str
    adapter: str | None = None
    adapter_sha256: str | None = None

    @property
    def installed_by(self) -> str:
        """The commands that install the folder, in words."""
        name = "" if self.folder == "model" else f" {self.folder}"
        return (
            f"run `scripts/install{name}` in the folder of Semblance or, for an environment of your own, there "
            f"`python assets/fetch.py{name}` and `pip install ./assets`"
        )


PACKAGE = "semblance_assets"
_MINILM = BuiltIn(
    folder="model",
    weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
_MPNET = BuiltIn(
    folder="mpnet",
    weights_sha256="78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
)
BUILT_IN: Mapping[str, BuiltIn] = {
    "minilm-graded": replace(
        _MINILM,
        adapter="minilm_graded",
        adapter_sha256="0cb9a2fe235201b4c844aa7fd6e82c0e660aa1599dee1dca245b65791b553ca8",
    ),
    "minilm-words": replace(
        _MINILM,
        adapter="minilm_words",
        adapter_sha256="469a54fbc1417e6a80d4926fbfeb367f01d521bd73a75f24571ec82b744e42fc",
    ),
    "minilm-clrcmd": replace(
        _MINILM,
        adapter="minilm_clrcmd",
        adapter_sha256="9651c019d336fce35a15867b068d4eebb08cd3130863982f01ddd572a23c0967",
    ),
    "minilm": _MINILM,
    "multilingual": BuiltIn(
        folder="multilingual",
        weights_sha256="5f7bc961541f20fdf15a1a580e1a215da15b77cbe05105061f1fccff901f874d",
    ),
    "mpnet": _MPNET,
    "mpnet-clrcmd": replace(
        _MPNET,
        adapter="mpnet_clrcmd",
        adapter_sha256="7d821f6d3920847ebd82f35cf84e23f4abf7cced4a07455d1224a83ca33580ba",
    ),
}

_HUB_NAMES = {"all-minilm-l6-v2": "minilm", "all-mpnet-base-v2": "mpnet", "multilingual-e5-small": "multilingual"}


def built_in_hint(place: str) -> str:
    """The end of a message about an unknown name: the built-in model of that name on a hub.

    >>> built_in_hint("sentence-transformers/all-MiniLM-L6-v2"), built_in_hint("org/other")
    ('; its weights are built in as minilm', '')
    """
    known = _HUB_NAMES.get(place.partition("@")[0].rpartition("/")[2].lower())
    return f"; its weights are built in as {known}" if known else ""


def built_in_source(name: str, options: Mapping[str, str]) -> Source:
    """Source of the built-in model of that name.

    Raises:
        BadCheckpoint: it is not installed, or the options replace its adapter.
    """
    model = BUILT_IN[name]
    package = importlib.util.find_spec(PACKAGE)
    folder = Path(package.origin).parent / model.folder if package is not None and package.origin is not None else None
    if folder is None or not folder.is_dir():
        raise BadCheckpoint(f"{name} is not installed: {model.installed_by}")
    if model.adapter is None:
        return Source(folder, options, model.weights_sha256)
    if "adapter" in options:
        raise BadCheckpoint(f"{name} includes an adapter and accepts no other")
    adapter = {"adapter": str(Path(__file__).parents[1] / "adapters" / model.adapter)}
    return Source(folder, {**options, **adapter}, model.weights_sha256, model.adapter_sha256)
