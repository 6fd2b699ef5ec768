"""`/openapi.json` is whole: every route with words, callers, parameters, bodies, answers and refusals."""

import json
import re

import jsonschema_rs
import pytest
from fastapi.routing import APIRoute

from hub.api import agents
from hub.api.app import create_app
from hub.api.description import TAGS, describe, described_routes
from hub.api.errors import PROBLEM_TYPE
from hub.api.models.base import Body
from hub.api.policy import PUBLIC, policy_of
from hub.api.routing import query_names
from hub.web import pages
from shared.reject_codes import RejectCode
from tests.api.serving import served
from tests.openapi.conformance import has_body
from tests.openapi.seeded import seeded

pytestmark = pytest.mark.anyio
# Routes that are in no description, and why.
LEFT_OUT = {
    "/": "the live page: for browsers, changes with the page",
    "/jobs/{uid}": "the live page",
    "/live": "the live page's own stream",
    "/actions/clusters/{name}": "acts for a page",
    "/actions/clusters/{name}/{verb}": "acts for a page",
    "/actions/jobs/{uid}": "acts for a page",
    "/actions/jobs/{uid}/{verb}": "acts for a page",
    "/actions/localqueues/{namespace}/{name}": "acts for a page",
    "/actions/localqueues/{namespace}/{name}/{verb}": "acts for a page",
    "/actions/queues/{name}": "acts for a page",
    "/actions/queues/{name}/{verb}": "acts for a page",
    "/clusters": "a page",
    "/clusters/{name}": "a page",
    "/live/clusters": "a stream of a page",
    "/live/clusters/{name}": "a stream of a page",
    "/live/jobs/{uid}": "a stream of a page",
    "/live/queues": "a stream of a page",
    "/live/queues/{namespace}/{name}": "a stream of a page",
    "/live/queues/{name}": "a stream of a page",
    "/queues": "a page",
    "/queues/{namespace}/{name}": "a page",
    "/queues/{name}": "a page",
    "/sign-in": "of the way in",
    "/sign-in/back": "of the way in",
    "/login": "the live page's form",
    "/logout": "the live page's form",
    "/static/{name}": "files of the live page",
    "/docs": "shows the description",
    "/docs/{name}": "files of that page",
    "/openapi.json": "is the description",
    "/hub/v1/streams": "for hub processes of one store among themselves",
}
# Routes that read their bodies themselves, and why.
BY_HAND = {
    "/v1/jobs": "asked most; JSON or YAML",
    "/v1/jobs:batch": "asked most; JSON, YAML or NDJSON, off the event loop",
    "/v1/apply": "any number of documents in JSON, YAML or NDJSON, off the event loop",
    "/v1/plan": "documents as of /v1/apply",
    "/v1/kinds:check": "documents as of /v1/apply",
    "/v1/workloads": "JSON or YAML",
    "/v1/workloads/{namespace}/{name}": "a merge patch: what is null counts",
    "/v1/workloads/{namespace}/{name}/status": "asked often; a merge patch",
    "/agent/v1/register": "the token is looked at before a byte of the body is",
    "/agent/v1/sync": "asked most; faulty entries are refused by themselves",
    "/agent/v1/streams/failed": "as parts of streams",
    "/agent/v1/streams/{stream}": "many lines at a time; refused before it is read where nobody waits",
}


@pytest.fixture
async def routes(tmp_path):
    """Every route of the hub as it is served."""
    async with served(tmp_path) as hub:
        app = create_app(hub.hub, (agents.router, pages.router))
        return [route for route in app.routes if isinstance(route, APIRoute)]


async def test_every_route_is_described_or_left_out_with_a_reason(routes):
    """A new route is in the description, or in the list above."""
    told = {route.path for route in described_routes(routes)}
    assert {route.path for route in routes} - told == set(LEFT_OUT)


async def test_every_operation_says_what_it_is(routes):
    """A summary, one known noun, a name of its own, and who may ask."""
    told = describe(routes)
    names = []
    for path, verb, operation in _operations(told):
        assert operation["summary"].strip(), (verb, path)
        (noun,) = operation["tags"]
        assert noun in TAGS, (verb, path)
        assert re.fullmatch("[a-z][A-Za-z]*", operation["operationId"]), operation["operationId"]
        names.append(operation["operationId"])
        for each in operation["security"]:
            assert set(each) <= set(told["components"]["securitySchemes"])
    assert len(names) == len(set(names))


async def test_every_operation_says_what_it_answers(routes):
    """A success with a schema of its own, and each refusal as problem+json with its codes."""
    told = describe(routes)
    shared = told["components"]["responses"]
    for path, verb, operation in _operations(told):
        answers = operation["responses"]
        (first, *_) = good = [each for status, each in answers.items() if status < "300"]
        assert good, (verb, path)
        assert first["description"] != "Successful Response" or "text/plain" in first["content"]
        for content in first["content"].values():
            assert content["schema"], (verb, path)
        for status in (status for status in answers if status >= "400"):
            problem = shared[answers[status]["$ref"].rpartition("/")[2]]
            assert set(problem["content"]) == {PROBLEM_TYPE}
            for code in _codes(problem):
                assert RejectCode(code).status == int(status)
        assert {"500", "503", "429"} <= set(answers), (verb, path)


async def test_every_reference_leads_somewhere(routes):
    """And FastAPI's own shape of a refusal is nowhere: none is answered."""
    told = describe(routes)
    text = json.dumps(told)
    for pointer in set(re.findall(r'"\$ref": "#/([^"]+)"', text)):
        place = told
        for step in pointer.split("/"):
            place = place[step]
    assert "HTTPValidationError" not in text
    assert "ValidationError" not in told["components"]["schemas"]


async def test_parameters_are_those_that_are_taken(routes):
    """What a route takes in its path and query is described, and nothing else."""
    told = describe(routes)
    for route in described_routes(routes):
        (verb,) = (each.lower() for each in route.methods)
        parameters = told["paths"][route.path_format][verb].get("parameters", [])
        by_place: dict[str, set[str]] = {"path": set(), "query": set(), "header": set()}
        for each in parameters:
            by_place[each["in"]].add(each["name"])
        assert by_place["path"] == set(route.param_convertors), route.path
        assert by_place["query"] == query_names(route), route.path


async def test_bodies_are_read_by_their_models(routes):
    """All but the few that are listed above; those are described all the same."""
    by_hand = set()
    for route in described_routes(routes):
        if "requestBody" in (route.openapi_extra or {}):
            by_hand.add(route.path)
        elif route.methods & {"PUT", "PATCH"}:
            assert has_body(route), route.path
    assert by_hand == set(BY_HAND)


async def test_a_parameter_that_is_not_described_is_refused_by_every_route(tmp_path):
    """A misspelt filter must not be taken for an answer."""
    async with seeded(tmp_path) as hub:
        for route in described_routes(hub.app.routes):
            if PUBLIC in policy_of(route.endpoint):
                continue
            client = hub.http["credential" if route.path.startswith("/agent") else "token"]
            (method,) = route.methods
            path = re.sub(r"\{[^}]*\}", "x", route.path)
            reply = await client.request(method, path, params={"nonsense": "1"})
            assert (reply.status_code, reply.json()["code"]) == (422, "UnknownParameter"), path
            assert reply.json()["errors"][0]["field"] == "nonsense"


async def test_the_examples_of_bodies_work(tmp_path):
    """What the description shows is taken as it stands."""
    async with seeded(tmp_path) as hub:
        await hub.seed()
        for route in described_routes(hub.app.routes):
            content = (route.openapi_extra or {}).get("requestBody", {}).get("content", {})
            example = content.get("application/json", {}).get("examples", {}).get("usual")
            if example is None or route.path.startswith("/agent"):
                continue
            path = route.path.format(namespace="team-a", name="bare")
            (method,) = route.methods
            reply = await hub.http["token"].request(method, path, json=example["value"])
            assert reply.is_success, (path, reply.text)


async def test_the_examples_of_models_are_as_the_models_are(routes):
    """Every model of a body has an example, and its own schema takes it."""
    told = describe(routes)
    bodies = {each.__name__ for each in Body.__subclasses__()} - {"Preconditions"}
    for name in bodies:
        schema = told["components"]["schemas"][name]
        assert schema["examples"], name
        whole = {**schema, "components": told["components"]}
        for example in schema["examples"]:
            jsonschema_rs.validate(whole, example)


def _operations(told):
    return [
        (path, verb, operation)
        for path, verbs in told["paths"].items()
        for verb, operation in verbs.items()
    ]


def _codes(problem):
    schema = problem["content"][PROBLEM_TYPE]["schema"]
    return [
        code
        for part in schema.get("allOf", ())
        for code in part.get("properties", {}).get("code", {}).get("enum", ())
    ]
