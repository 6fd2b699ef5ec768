"""Whatever is sent to whichever route: never an error of the hub, never a reply without a shape."""

import asyncio
import string

import pytest
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, given, strategies as st

from tests.api.serving import a_job, served
from tests.examples import examples

_NAMES = st.one_of(
    st.sampled_from(["default", "team-a", "kueue.x-k8s.io", "core", "Job", "x" * 300, "%2f", "é"]),
    st.text(string.ascii_letters + string.digits + "-._~%:!$'()*+,;=@ ", min_size=1, max_size=40),
)
_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=20),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=8,
)
_QUERIES = st.dictionaries(
    st.sampled_from(
        ["limit", "continue", "namespace", "state", "labelSelector", "revision", "name", "x"]
    ),
    st.text(max_size=30),
    max_size=3,
)
_TYPES = st.sampled_from(
    ["application/json", "application/yaml", "application/x-ndjson", "text/plain", ""]
)


def _paths(value, prefix=()):
    yield prefix
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, (*prefix, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _paths(inner, (*prefix, index))


@st.composite
def _mutated_jobs(draw):
    """A good Job in which one place holds something else."""
    job = a_job("fuzz")
    place = draw(st.sampled_from([path for path in _paths(job) if path]))
    inner = job
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = draw(_VALUES)
    return job


@pytest.fixture(scope="module")
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def hub(loop, tmp_path_factory):
    """One hub for all examples: each must leave it well."""
    context = served(tmp_path_factory.mktemp("hub"))
    yield loop.run_until_complete(context.__aenter__())
    loop.run_until_complete(context.__aexit__(None, None, None))


def _check(reply):
    assert reply.status_code < 500, (reply.request.method, reply.request.url, reply.text)
    if reply.status_code >= 400:
        assert reply.headers["content-type"] == "application/problem+json"
        assert reply.json()["status"] == reply.status_code
        assert reply.json()["code"]


_SETTINGS = examples(150, suppress_health_check=list(HealthCheck))


@given(st.data())
@_SETTINGS
def test_no_route_fails(hub, loop, data):
    """Random names, queries and bodies on every route."""
    app = hub.admin._transport.app
    streams = {"/v1/changes", "/v1/workloads:watch"}
    routes = [r for r in app.routes if isinstance(r, APIRoute) and r.path not in streams]
    route = data.draw(st.sampled_from(sorted(routes, key=lambda r: (r.path, sorted(r.methods)))))
    path = route.path
    for name in route.param_convertors:
        path = path.replace(f"{{{name}}}", data.draw(_NAMES).replace("/", "").replace("?", ""))
    body = data.draw(st.one_of(st.just(None), _VALUES, st.binary(max_size=60)))
    content_type = data.draw(_TYPES)
    given = {"content": body} if isinstance(body, bytes) else {"json": body} if body else {}
    headers = {"Content-Type": content_type} if content_type else {}
    try:
        request = hub.admin.build_request(
            min(route.methods), path, params=data.draw(_QUERIES), headers=headers, **given
        )
    except (UnicodeEncodeError, ValueError):
        return  # the client can not even spell it
    _check(loop.run_until_complete(hub.admin.send(request)))


@given(_mutated_jobs())
@_SETTINGS
def test_no_manifest_fails(hub, loop, job):
    """A Job with something odd in one place, as submission, in a batch, and applied."""
    try:
        requests = [
            hub.admin.build_request("POST", path, json=body)
            for path, body in (("/v1/jobs", job), ("/v1/jobs:batch", [job]), ("/v1/apply", job))
        ]
    except (UnicodeEncodeError, ValueError):
        return
    for request in requests:
        _check(loop.run_until_complete(hub.admin.send(request)))
