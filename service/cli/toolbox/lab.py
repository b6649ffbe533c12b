"""The lab, a distribution of its own that adds verbs: it may be absent."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from semblance.models.errors import SemblanceError

LAB = "semblance_lab"


class MissingLab(SemblanceError):
    """The lab is not installed."""


def lab_module(name: str) -> ModuleType:
    """The module of that name in the lab.

    >>> lab_module("cli.train").__name__
    'semblance_lab.cli.train'

    Raises:
        MissingLab: the lab is not installed.
    """
    if find_spec(LAB) is None:
        raise MissingLab(
            "training, evaluation, Origin and pairs are in the package semblance-lab, which is not installed: install "
            "it by `scripts/install lab` in the folder of Semblance, or there by `pip install ./lab`"
        )
    return import_module(f"{LAB}.{name}")
