"""`/openapi.json`: what FastAPI knows of the routes, with callers, refusals and shared schemas added.

Everything stands beside its route: the caller in `allow`, codes in `refuses`, what is read by hand in
`openapi_extra`. The statuses of the front door (`hub.api.guard`, `hub.api.connections`) are added to every
operation here, so that none is undescribed.
"""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from hub.api.errors import PROBLEM_TYPE
from hub.api.models.fleet import FeedChange
from hub.api.models.objects import DeleteOptions, JobManifest, Manifest
from hub.api.models.pods import LogRecord
from hub.api.models.problem import Problem
from hub.api.models.workloads import (
    WorkloadChanges,
    WorkloadManifest,
    WorkloadPatch,
    WorkloadReport,
)
from hub.api.policy import ADMINISTRATOR, AGENT, PUBLIC, USER, policy_of
from hub.api.routing import refusals_of
from shared.documents import Json, JsonView
from shared.reject_codes import RejectCode
from shared.wire.agent_v1 import REGISTER_PATH, Register, SyncRequest
from shared.wire.streams_v1 import FailedPods, StreamPart

Described = Json
TITLE: Final = "Roadstead"
VERSION: Final = "1"  # of the paths under /v1
# Models of routes that read or stream by themselves.
RAW: Final = (
    DeleteOptions,
    FeedChange,
    JobManifest,
    LogRecord,
    Manifest,
    Problem,
    Register,
    FailedPods,
    StreamPart,
    SyncRequest,
    WorkloadChanges,
    WorkloadManifest,
    WorkloadPatch,
    WorkloadReport,
)
TAGS: Final[Mapping[str, str]] = {
    "jobs": "Submit Jobs, follow them, hold and cancel them.",
    "cronjobs": "CronJobs whose schedule the hub keeps.",
    "kinds": "Kinds of work that administrators define.",
    "workloads": "Workloads as Kueue shows them; bare ones, which executors outside run.",
    "queues": "ClusterQueues, LocalQueues and cohorts, with charged quota and waiting jobs.",
    "rollouts": "Staged update runs; placements that are rolling out.",
    "checks": "Admission checks, for the controllers that answer them.",
    "placements": "Objects that are kept on several members.",
    "clusters": "Members: declare, join, cordon and fence them.",
    "objects": "Objects of any kind but Jobs.",
    "fleet": "The fleet at a glance, its history, and the stream of changes.",
    "hub cluster": "The bridge to the cluster that people use with kubectl.",
    "tokens": "Credentials of people.",
    "access": "The caller's identity and rights, and role bindings.",
    "health": "For probes and Prometheus.",
    "agents": "For the members' agents.",
}
_OF_FIELDS: Final = 422
_NAMED: Final = 6  # codes that the name of a response can hold
# What the front door may say to any request.
_OF_ALL: Final = (
    RejectCode.BAD_REQUEST,
    RejectCode.TOO_MANY_PARAMETERS,
    RejectCode.REQUEST_TIMEOUT,
    RejectCode.BODY_TOO_LARGE,
    RejectCode.URL_TOO_LONG,
    RejectCode.ENCODING_NOT_SUPPORTED,
    RejectCode.TOO_MANY_REQUESTS,
    RejectCode.HEADER_TOO_LARGE,
    RejectCode.INTERNAL,
    RejectCode.TOO_MANY_CONNECTIONS,
    RejectCode.UNAVAILABLE,
)
# Tokens of other issuers.
_OF_PEOPLE: Final = (
    RejectCode.SIGN_IN_UNAVAILABLE,
    RejectCode.TOKEN_EXPIRED,
    RejectCode.TOKEN_NOT_ACCEPTED,
)
_OF_BODIES: Final = (
    RejectCode.ALIAS_NOT_ALLOWED,
    RejectCode.DUPLICATE_KEY,
    RejectCode.EMPTY_BODY,
    RejectCode.INVALID_ENCODING,
    RejectCode.MALFORMED_JSON,
    RejectCode.MALFORMED_YAML,
    RejectCode.MULTIPLE_DOCUMENTS,
    RejectCode.NON_FINITE_NUMBER,
    RejectCode.TOO_DEEP,
    RejectCode.UNSAFE_TAG,
    RejectCode.TOO_MANY_VALUES,
    RejectCode.TOO_MANY_DOCUMENTS,
    RejectCode.UNSUPPORTED_MEDIA_TYPE,
)
_SCHEMES: Final[Described] = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A person's token, `ID.SECRET`, of an administrator or a viewer.",
    },
    "credential": {
        "type": "http",
        "scheme": "bearer",
        "description": "An agent's credential, which it got for its join token.",
    },
    "joinToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "The join token of a declared member; works once.",
    },
}
_ABOUT: Final = """Submit jobs once; they wait in one queue and run where they fit best.

A refusal is `application/problem+json` with a `code` that stays; `X-Request-Id` stands in the hub's log.
Unknown parameters and fields are refused. Clients have to expect new fields in answers."""


def describe(routes: Sequence[BaseRoute]) -> Described:
    """The whole description; takes a good part of a second: once, and beside the event loop."""
    told = get_openapi(
        title=TITLE,
        version=VERSION,
        description=_ABOUT,
        license_info={"name": "Apache 2.0", "identifier": "Apache-2.0"},
        tags=[{"name": name, "description": said} for name, said in TAGS.items()],
        routes=routes,
        separate_input_output_schemas=True,
    )
    components = told["components"]
    components["schemas"] |= _schemas(RAW)
    for left in ("HTTPValidationError", "ValidationError"):  # FastAPI's own shape of a refusal
        components["schemas"].pop(left, None)
    components["securitySchemes"] = _SCHEMES
    problems: Described = {}
    for route in described_routes(routes):
        for method in route.methods or ():
            operation = told["paths"][route.path_format][method.lower()]
            operation |= _words(route) | {"tags": operation["tags"][-1:]}
            operation["security"] = _security(route)
            _say_answers(operation["responses"], components["schemas"])
            operation["responses"] |= _problems(route, operation, problems)
    components["responses"] = dict(sorted(problems.items()))
    return told


def described_routes(routes: Sequence[BaseRoute]) -> list[APIRoute]:
    """Routes that are in the description."""
    return [r for r in routes if isinstance(r, APIRoute) and r.include_in_schema]


def codes_of(route: APIRoute, *, with_body: bool) -> list[RejectCode]:
    """Every code with which a route may refuse, but those of fields, which are all 422."""
    policy = policy_of(route.endpoint) or frozenset()
    codes = [*_OF_ALL, *refusals_of(route.endpoint)]
    if PUBLIC not in policy:
        codes.append(RejectCode.UNAUTHENTICATED)
        if AGENT not in policy:
            codes += _OF_PEOPLE
    if ADMINISTRATOR in policy and USER not in policy:
        codes.append(RejectCode.FORBIDDEN)
    if route.param_convertors:
        codes.append(RejectCode.NOT_FOUND)
    if route.path.startswith("/v1/"):
        codes.append(RejectCode.NOT_ACCEPTABLE)
    if with_body:
        codes += _OF_BODIES
    return sorted(set(codes))


def _words(route: APIRoute) -> Described:
    """The first sentence of an endpoint's docstring, and the rest."""
    summary, _, more = inspect.cleandoc(route.endpoint.__doc__ or "").partition("\n\n")
    return {"summary": " ".join(summary.split()), "description": more}


def _say_answers(responses: Described, schemas: JsonView) -> None:
    """The description of each answer is its model's docstring, unless its route has one."""
    for told in responses.values():
        schema = told.get("content", {}).get("application/json", {}).get("schema", {})
        first, *_ = schema.get("anyOf") or [schema]  # a change before its preview
        named = first.get("$ref", "")
        model = schemas.get(named.rpartition("/")[2], {})
        if told.get("description") == "Successful Response" and "description" in model:
            told["description"] = model["description"]


def _problems(route: APIRoute, operation: JsonView, shared: Described) -> Described:
    """Refusals of an operation by status; `shared` keeps each description, by name."""
    by_status: dict[int, list[RejectCode]] = {}
    for code in codes_of(route, with_body="requestBody" in operation):
        by_status.setdefault(code.status, []).append(code)
    if PUBLIC not in (policy_of(route.endpoint) or ()) or "requestBody" in operation:
        by_status[_OF_FIELDS] = []  # any code of a field
    told: Described = {}
    for status, codes in sorted(by_status.items()):
        name = ".".join([str(status), *(codes if len(codes) <= _NAMED else ["Unreadable"])])
        shared[name] = _problem(status, codes)
        told[str(status)] = {"$ref": f"#/components/responses/{name}"}
    return told


def _problem(status: int, codes: Sequence[str]) -> Described:
    schema: Described = {"$ref": "#/components/schemas/Problem"}
    if codes:
        said = ", ".join(f"`{code}`" for code in codes)
        schema = {"allOf": [schema, {"properties": {"code": {"enum": list(codes)}}}]}
    else:
        said = "A parameter or a field is wrong: `errors` names each, with its own code"
    return {
        "description": f"{said}.",
        "content": {PROBLEM_TYPE: {"schema": schema, "example": _example(status, codes)}},
    }


def _example(status: int, codes: Sequence[str]) -> Described:
    code = codes[0] if codes else "InvalidName"
    fault = {"field": "metadata.name", "code": code, "message": "is no name"}
    return {
        "type": f"https://roadstead.dev/problems/{code}",
        "status": status,
        "code": code,
        "detail": "what is wrong, and what to do",
        "errors": [] if codes else [fault],
        "requestId": "3f9c2a1e",
    }


def _security(route: APIRoute) -> list[Described]:
    policy = policy_of(route.endpoint) or frozenset()
    if AGENT in policy:
        return [{"credential": []}]
    if PUBLIC in policy:
        return [{"joinToken": []}] if route.path == REGISTER_PATH else []
    return [{"token": []}]


def _schemas(models: Iterable[type[Any]]) -> Described:
    _, told = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/components/schemas/{model}"
    )
    found: Described = told["$defs"]
    return found
