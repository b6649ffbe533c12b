"""What can go wrong in the science, as a vocabulary: one root, small leaves.

Every leaf has a stable `code` that the HTTP contract repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class SemblanceError(Exception):
    """Root of every error that Semblance raises on purpose; its text may be shown to a client."""

    code: ClassVar[str] = "semblance_error"


@dataclass(frozen=True, slots=True)
class TextProblem:
    """One refused text: its position in the sequence that was given, a stable code, and a sentence for people."""

    index: int
    code: str
    detail: str


class BadTexts(SemblanceError):
    """Some of the given texts cannot be encoded; `problems` names every one of them.

    Codes: `empty_text` (no real token is left after tokenising), `ill_formed_text` (a lone surrogate) and
    `text_too_long` (more tokens than the encoder takes, and truncation was not allowed).
    """

    code = "bad_texts"

    def __init__(self, problems: Sequence[TextProblem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        super().__init__(f"text {first.index}: {first.detail}{more}")


class NotExplainable(SemblanceError):
    """The score has no decomposition into token links, so there is nothing true to show."""

    code = "not_explainable"


class UnknownName(SemblanceError):
    """The catalogue holds nothing of that name in that family."""

    code = "unknown_name"

    def __init__(self, family: str, name: str, known: Sequence[str]) -> None:
        self.family = family
        self.name = name
        super().__init__(f"there is no {name!r} among the {family}: choose one of {', '.join(known)}")


class BadCheckpoint(SemblanceError):
    """A model folder cannot be served: a file is missing or altered, or it holds a module that is not supported."""

    code = "bad_checkpoint"


class BadDataSet(SemblanceError):
    """A file of data is missing, or a row of it cannot be read; the message names file and line."""

    code = "bad_data_set"


class BuildDisagrees(SemblanceError):
    """A runtime's vectors are too far from the float32 ones to serve the same space."""

    code = "build_disagrees"


class NotExportable(SemblanceError):
    """A runtime cannot run this network, or there is no room for the form of it that the runtime reads."""

    code = "not_exportable"


class DeviceLost(SemblanceError):
    """The device that runs a network failed for good: no later pass in this process can succeed."""

    code = "device_lost"


class NotFitted(SemblanceError):
    """A projection cannot be fitted to these vectors: they are too few, or too much alike."""

    code = "not_fitted"
