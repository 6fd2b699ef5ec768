"""Is an answer as its route is described? Asked of every answer that the tests of the API get."""

from collections.abc import Sequence
from typing import Any

import httpx
import orjson
import pydantic
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from hub.api.description import codes_of, described_routes
from hub.api.errors import PROBLEM_TYPE
from hub.api.models.objects import ObjectList, ShownObject
from hub.api.models.problem import Problem
from shared.reject_codes import RejectCode

# Objects have whatever fields their kinds have.
OPEN = (ShownObject, ObjectList)


def faults(model: Any, content: bytes) -> list[str]:
    """What is missing in an answer, is there besides, or is of another type."""
    extra: Any = None if model in OPEN else "forbid"
    try:
        pydantic.TypeAdapter(model).validate_json(content, extra=extra)
    except pydantic.ValidationError as fault:
        return [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in fault.errors()]
    return []


class Conformance:
    """Holds answers of one application to what its routes declare."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._routes = described_routes(routes)

    def route_of(self, method: str, path: str) -> APIRoute | None:
        """The route that answers, or None for a path or method that is not described."""
        for route in self._routes:
            if route.path_regex.match(path) and method in (route.methods or ()):
                return route
        return None

    async def check(self, response: httpx.Response) -> None:
        """What `httpx` calls with every response."""
        route = self.route_of(response.request.method, response.request.url.path)
        if route is None:
            return
        content = await response.aread()
        asked = f"{response.request.method} {response.request.url} {response.status_code}"
        if response.status_code < 400:
            _check_answer(route, response, content, asked)
        else:
            _check_problem(route, response, content, asked)


def _check_answer(route: APIRoute, response: httpx.Response, content: bytes, asked: str) -> None:
    assert response.status_code in {route.status_code or 200, *route.responses}, asked
    if route.response_model is not None:
        assert response.headers["content-type"] == "application/json", asked
        assert faults(route.response_model, content) == [], asked


def _check_problem(route: APIRoute, response: httpx.Response, content: bytes, asked: str) -> None:
    assert response.headers["content-type"] == PROBLEM_TYPE, asked
    assert faults(Problem, content) == [], asked
    code = RejectCode(orjson.loads(content)["code"])
    assert code.status == response.status_code, asked
    if code.status != 422:  # of fields, any may come
        assert code in codes_of(route, with_body=has_body(route)), (asked, code)


def has_body(route: APIRoute) -> bool:
    """Does the route read a body?"""
    return route.body_field is not None or "requestBody" in (route.openapi_extra or {})
