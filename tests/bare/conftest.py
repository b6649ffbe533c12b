"""The installations of this folder, and a service of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bare.installations import Installation, from_clone, from_wheels
from tests.support.page_commands import serving

INSTALLATIONS = {"clone": from_clone, "wheels": from_wheels}


@pytest.fixture(scope="module", params=INSTALLATIONS)  # one after the other: the second needs the first
def installation(request: pytest.FixtureRequest) -> Installation:
    return INSTALLATIONS[request.param]()


@pytest.fixture(scope="module")
def home(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a user of an installation, also the working directory: empty, without a checkout."""
    return tmp_path_factory.mktemp(installation.environment.name)


@pytest.fixture(scope="module")
def url(installation: Installation, home: Path) -> Iterator[str]:
    """The address of a service with the sample, started as users start it."""
    variables = {**installation.variables(home), "SEMBLANCE_PRECISION": "float32"}
    with serving([*installation.serve, "--port", "0"], home, variables) as address:
        yield address
