"""Parameters of paths, as the OpenAPI document shows them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from semblance_client.vocabulary.fields import ID_PATTERN, NAME_PATTERN, documented

# names of existing things: a malformed name is as unknown as any other
CollectionInPath = Annotated[str, documented(pattern=NAME_PATTERN, examples=["default"]), Path()]
ModelInPath = Annotated[str, documented(pattern="^.+$", examples=["minilm-graded"]), Path()]
DeploymentInPath = Annotated[
    str, documented(known_enum="models", pattern="^[^/]+$", examples=["minilm-graded"]), Path()
]
DocumentInPath = Annotated[
    str, documented(minLength=1, maxLength=256, pattern=ID_PATTERN, examples=["shipping-001"]), Path()
]
