"""Models of requests and responses that a process defines, of which it uses few."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel
from pydantic.warnings import UnsupportedFieldAttributeWarning
from semblance_client.vocabulary.fields import RequestBody
from semblance_client.vocabulary.responses import ResponseBody

_BASES = (BaseModel, RequestBody, ResponseBody)  # a class inherits the configuration that these have when it is defined


@contextmanager
def unused_models() -> Iterator[None]:
    """Leave out of imports in the block what only models in use need.

    What validates and serializes a model is made when it is first used, and FastAPI's part of it, too. FastAPI ignores
    a warning of pydantic while it makes that; so does this process from now on.
    """
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)
    for base in _BASES:
        base.model_config["defer_build"] = True
    try:
        yield
    finally:
        for base in _BASES:
            del base.model_config["defer_build"]
