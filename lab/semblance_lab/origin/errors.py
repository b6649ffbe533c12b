"""Errors of Origin."""

from __future__ import annotations

from semblance.models.errors import SemblanceError


class BadCorpus(SemblanceError):
    """The text cannot be read, or has no three sentences in order."""

    code = "bad_corpus"


class BadOrigin(SemblanceError):
    """An origin folder lacks a step, has an incomplete one, or was built from other inputs."""

    code = "bad_origin"


class BadHarvest(SemblanceError):
    """A harvest cannot be read or written, or was made with other settings than expected."""

    code = "bad_harvest"
