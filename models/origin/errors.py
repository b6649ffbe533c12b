"""What can go wrong in similarity from contexts."""

from __future__ import annotations

from semblance.models.errors import SemblanceError


class BadCorpus(SemblanceError):
    """The text will not do: it cannot be read, or has no three sentences in order."""

    code = "bad_corpus"


class BadOrigin(SemblanceError):
    """An origin folder lacks a step, was cut off in one, or was made of something else than is asked for."""

    code = "bad_origin"


class BadHarvest(SemblanceError):
    """Harvested pairs cannot be read or written, or are of another harvest than what they should go on or join."""

    code = "bad_harvest"
