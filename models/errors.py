"""Errors of the models: one root class, and leaves with a `code` of the HTTP contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class SemblanceError(Exception):
    """Root of all deliberate errors; the message may be shown to a client."""

    code: ClassVar[str] = "semblance_error"


@dataclass(frozen=True, slots=True)
class TextProblem:
    """One rejected text: its position in the input, a stable code, and a message."""

    index: int
    code: str
    detail: str


class TextsNotEncoded(SemblanceError):
    """Some texts have no vectors; `problems` lists all of them."""

    def __init__(self, problems: Sequence[TextProblem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        super().__init__(f"text {first.index}: {first.detail}{more}")


class BadTexts(TextsNotEncoded):
    """Some texts cannot be encoded.

    Codes: `empty_text` (no token besides special ones), `ill_formed_text` (a lone surrogate) and
    `text_too_long` (more tokens than the encoder accepts, and truncation is off).
    """

    code = "bad_texts"


class ModelFailed(TextsNotEncoded):
    """A model failed on some texts, or gave them vectors that are not finite."""

    code = "model_failed"


class NotExplainable(SemblanceError):
    """The score does not decompose into token links."""

    code = "not_explainable"


class UnknownName(SemblanceError):
    """The family has no entry of that name."""

    code = "unknown_name"

    def __init__(self, family: str, name: str, known: Sequence[str]) -> None:
        self.family = family
        self.name = name
        super().__init__(f"there is no {name!r} among the {family}: choose one of {', '.join(known)}")


class UnknownMeasure(UnknownName):
    """There is no measure of this name."""

    code = "unknown_measure"


class MissingExtra(SemblanceError):
    """The request needs a package that an extra installs."""

    code = "missing_extra"

    def __init__(self, subject: str, package: str, extra: str) -> None:
        super().__init__(_needs(subject, package, extra))


class MeasureNotInstalled(UnknownMeasure):
    """A measure needs a package that an extra installs."""

    def __init__(self, name: str, package: str, extra: str) -> None:
        self.family = "measures"
        self.name = name
        SemblanceError.__init__(self, _needs(f"the measure {name!r}", package, extra))


def _needs(subject: str, package: str, extra: str) -> str:
    return (
        f"{subject} needs {package}, which is not installed: install the extra {extra}, by scripts/install {extra} in "
        f"the folder of Semblance, or there by pip install ./assets ./clients/python '.[{extra}]'"
    )


class BadCheckpoint(SemblanceError):
    """A model folder cannot be served: a file is missing, altered or unsupported."""

    code = "bad_checkpoint"


class BadDataSet(SemblanceError):
    """A data file is missing or has an invalid row; the message names file and line."""

    code = "bad_data_set"


class BuildDisagrees(SemblanceError):
    """A runtime's vectors deviate too far from float32 to serve the same space."""

    code = "build_disagrees"


class NotExportable(SemblanceError):
    """A runtime cannot run this network, or the disk has no room for its export."""

    code = "not_exportable"


class DeviceLost(SemblanceError):
    """The device failed permanently: no later batch in this process can succeed."""

    code = "device_lost"


class OutOfDeviceMemory(Exception):
    """The device has no memory left for this work; smaller or later work may succeed."""


class NotFitted(SemblanceError):
    """A projection cannot be fitted: the vectors are too few or too similar."""

    code = "not_fitted"
