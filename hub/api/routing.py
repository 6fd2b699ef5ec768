"""Routes: the caller first, then the names in the query, then the body within bounds, then FastAPI.

    @router.get("/v1/jobs", response_model=JobList)
    @allow(ADMINISTRATOR, VIEWER)
    @refuses(RejectCode.BAD_CONTINUE, RejectCode.EXPIRED)
    async def list_jobs(request: Request, asked: Annotated[JobFilters, Query()]) -> Response: ...

FastAPI reads and describes declared parameters; answers are ready-made `Response`s, described by
`response_model` and not read through it. An endpoint that takes only the request and texts of its path is
called directly, because resolving parameters would cost more than most of them do: such a frequent route
reads query and body itself, and describes them by `openapi_extra` (`hub.api.openapi_parts`).
"""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from hub.api.bodies import read_object
from hub.api.policy import PEER, PUBLIC, admit, needs_of, policy_of
from hub.services.access.budgets import Kind
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
E = TypeVar("E", bound=Callable[..., Any])
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


def new_router(noun: str) -> APIRouter:
    """A router whose routes check their policies; `noun` is what they are about."""
    return APIRouter(
        route_class=PolicyRoute, tags=[noun], generate_unique_id_function=_operation_id
    )


def refuses(*codes: RejectCode) -> Callable[[E], E]:
    """Declare the error codes of an endpoint, besides those of every route."""

    def declare(endpoint: E) -> E:
        endpoint.refuses = codes  # type: ignore[attr-defined]  # read by `refusals_of`
        return endpoint

    return declare


def refusals_of(endpoint: object) -> tuple[RejectCode, ...]:
    """The result of `refuses`."""
    return getattr(endpoint, "refuses", ())


class PolicyRoute(APIRoute):
    """A route that checks its endpoint's policy, and the names in the query, before anything is read."""

    def get_route_handler(self) -> Endpoint:
        inner = self._plain() or super().get_route_handler()
        policy = policy_of(self.endpoint)
        if policy is None or policy & {PUBLIC, PEER}:
            return inner
        known = query_names(self)
        reads_body = self.body_field is not None
        kind, needs = self._budget(), needs_of(self.endpoint)

        async def checked(request: Request) -> Response:
            await admit(request, policy, kind, needs)
            if request.scope["query_string"]:
                _check_names(request, known)
            if reads_body:
                request = _Read(request, await read_object(request))
            return await inner(request)

        return checked

    def _budget(self) -> Kind | None:
        """The budget of its callers; None: streams, which pay when they are opened."""
        answer = self.response_class
        if inspect.isclass(answer) and issubclass(answer, StreamingResponse):
            return None
        return "reads" if _READING.issuperset(self.methods or ()) else "writes"

    def _plain(self) -> Endpoint | None:
        """Calls the endpoint directly, or None where FastAPI has to resolve its parameters."""
        parameters = inspect.signature(self.endpoint).parameters
        texts = {name for name, each in parameters.items() if each.annotation is str}
        if set(parameters) != {"request"} | (texts & set(self.param_convertors)):
            return None
        endpoint = self.endpoint

        async def called(request: Request) -> Response:
            reply = await endpoint(request, **request.path_params)
            assert isinstance(reply, Response)
            return reply

        return called


class _Read(Request):
    """A request whose body has been read within bounds: FastAPI is given what was found in it."""

    def __init__(self, request: Request, found: Json | None) -> None:
        super().__init__(request.scope)
        self._found = found

    async def body(self) -> bytes:
        """Whether there is one: FastAPI asks before it takes `json`."""
        return b"" if self._found is None else b"{}"

    async def json(self) -> Any:
        """The content of the body."""
        return self._found


def query_names(route: APIRoute) -> frozenset[str]:
    """Names of the parameters that a route takes in the query, declared or described."""
    names: set[str] = set()
    for field in route.dependant.query_params:
        model = field.field_info.annotation
        if inspect.isclass(model) and issubclass(model, BaseModel):
            names |= {each.alias or name for name, each in model.model_fields.items()}
        else:
            names.add(field.alias)
    described = (route.openapi_extra or {}).get("parameters", ())
    return frozenset(names | {each["name"] for each in described if each["in"] == "query"})


def _check_names(request: Request, known: frozenset[str]) -> None:
    """Refuse an unknown or repeated parameter: none is ignored."""
    given: set[str] = set()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            expected = f"expected one of {', '.join(sorted(known))}"
            raise Rejected(
                RejectCode.UNKNOWN_PARAMETER,
                expected if known else "no parameter is taken here",
                name[:80],
            )
        if name in given:
            raise Rejected(RejectCode.REPEATED_PARAMETER, "give it once", name)
        given.add(name)


def _operation_id(route: APIRoute) -> str:
    """`list_jobs` is called `listJobs`: generated clients name their functions so."""
    return to_camel(route.endpoint.__name__)
