"""Routes found by their path are those that a comparison with each route finds."""

from __future__ import annotations

import pytest
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from semblance.service.api.exact_paths import ExactPaths
from semblance.service.api.routes import ROUTERS
from semblance.service.api.routing import JsonRoute

ALL = [route for router in ROUTERS for route in router.routes]
JSON_ROUTES = [route for route in ALL if isinstance(route, JsonRoute)]


def scope_of(path: str, method: str) -> Scope:
    return {"type": "http", "path": path, "method": method, "root_path": ""}


def compared(scope: Scope) -> BaseRoute:
    """The first route whose pattern and methods match."""
    found: BaseRoute = next(route for route in ALL if route.matches(scope)[0] == Match.FULL)
    return found


@pytest.mark.parametrize("route", JSON_ROUTES, ids=lambda route: str(route.path))
def test_a_path_without_parameters_is_found_at_once(route: JsonRoute) -> None:
    exact, scope = ExactPaths(ALL), scope_of(route.path, "POST")
    match, found = exact.matches(scope)
    if route.param_convertors:
        assert match == Match.NONE
        return
    assert (match, exact.path_format) == (Match.FULL, route.path)
    assert found["route"] is compared(scope)


@pytest.mark.parametrize(("path", "method"), [("/similarity", "GET"), ("/similarity/", "POST"), ("/ready", "GET")])
def test_other_requests_are_left_to_the_framework(path: str, method: str) -> None:
    assert ExactPaths(ALL).matches(scope_of(path, method)) == (Match.NONE, {})
