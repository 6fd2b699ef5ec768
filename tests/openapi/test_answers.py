"""Answers are what their models say, field by field: nothing missing, nothing more."""

import asyncio
import re
from collections.abc import MutableMapping
from typing import Any

import httpx
import pytest

from hub.api.description import described_routes
from hub.api.models.fleet import FeedChange
from hub.api.models.workloads import WorkloadChanges
from tests.openapi.conformance import faults
from tests.openapi.seeded import Seeded, seeded

pytestmark = pytest.mark.anyio
# Names that are there, by parameter; `uid` is tried with every job.
NAMES = {"name": "all", "namespace": "team-a", "group": "core", "kind": "ConfigMap"}
PLACES = {
    "/v1/clusters/{name}": ["/v1/clusters/c1"],
    "/v1/clusters/{name}/namespaces": ["/v1/clusters/c1/namespaces"],
    "/v1/placements/{name}": ["/v1/placements/everywhere"],
    "/v1/placements/{namespace}/{name}": ["/v1/placements/team-a/settings"],
    "/v1/placements/{name}/manifests": ["/v1/placements/everywhere/manifests?cluster=c1"],
    "/v1/placements/{namespace}/{name}/manifests": [
        "/v1/placements/team-a/settings/manifests?cluster=c1"
    ],
    "/v1/revisions": ["/v1/revisions?placement=everywhere"],
    "/v1/rollouts/{name}": ["/v1/rollouts/everywhere"],
    "/v1/rollouts/{namespace}/{name}": ["/v1/rollouts/team-a/settings"],
    "/v1/objects/{group}/{kind}": [
        "/v1/objects/core/Secret",
        "/v1/objects/kueue.x-k8s.io/ClusterQueue",
        "/v1/objects/kueue.x-k8s.io/LocalQueue",
        "/v1/objects/placement.kubernetes-fleet.io/ResourcePlacement",
    ],
    "/v1/objects/{group}/{kind}/{name}": [
        "/v1/objects/kueue.x-k8s.io/ClusterQueue/all",
        "/v1/objects/kueue.x-k8s.io/Cohort/everyone",
        "/v1/objects/core/Namespace/team-a",
    ],
    "/v1/objects/{group}/{kind}/namespaces/{namespace}/{name}": [
        "/v1/objects/core/Secret/namespaces/team-a/password"
    ],
    "/v1/cronjobs/{namespace}/{name}": ["/v1/cronjobs/team-a/nightly"],
    "/v1/can-i": ["/v1/can-i?verb=get&kind=jobs"],
    "/v1/workloads/{namespace}/{name}": ["/v1/workloads/team-a/bare"],
    "/v1/namespaces/{namespace}/jobs/{name}": ["/v1/namespaces/team-a/jobs/j1-0"],
}


# Asked of a member while one waits: tests/api/test_logs.py, where there is one.
OF_MEMBERS = {"/v1/jobs/{uid}/pods", "/agent/v1/streams"}


def paths_of(hub: Seeded, path: str) -> list[str]:
    """A route's path with names that are there."""
    if "{uid}" in path:
        return [path.format(uid=uid, check="budget") for uid in hub.uids]
    return PLACES.get(path, [path.format(**NAMES)])


def holds(model: Any, reply: httpx.Response) -> None:
    """The answer is as its model says."""
    assert reply.is_success, (str(reply.request.url), reply.text)
    assert faults(model, reply.content) == [], str(reply.request.url)


async def test_what_is_read_is_as_described(tmp_path):
    """Every GET with a model, on a hub with jobs, queues, members, placements, checks and objects."""
    async with seeded(tmp_path) as hub:
        await hub.seed()
        admin = hub.http["token"]
        asked = 0
        for route in described_routes(hub.app.routes):
            if route.path in OF_MEMBERS:
                continue
            if route.methods == {"GET"} and route.response_model is not None:
                for path in paths_of(hub, route.path):
                    holds(route.response_model, await admin.get(path))
                    asked += 1
        assert asked > 60


async def test_lists_that_go_on_are_as_described(tmp_path):
    """Every page of every list, one entry at a time."""
    async with seeded(tmp_path) as hub:
        await hub.seed()
        for route in described_routes(hub.app.routes):
            fields = getattr(route.response_model, "model_fields", {})
            if route.methods == {"GET"} and "continue_" in fields:
                await _follow(hub, route.response_model, paths_of(hub, route.path)[0])


async def _follow(hub: Seeded, model: Any, path: str) -> None:
    token, pages = "", 0
    while pages == 0 or token:
        reply = await hub.http["token"].get(path, params={"limit": 1, "continue": token})
        holds(model, reply)
        token, pages = reply.json()["continue"], pages + 1


async def test_events_of_streams_are_as_described(tmp_path):
    """Each `data` of `/v1/changes` and `/v1/workloads:watch`."""
    async with seeded(tmp_path) as hub:
        hub.served.hub.closing.clear()
        await hub.seed()
        for path, model in (("/v1/changes", FeedChange), ("/v1/workloads:watch", WorkloadChanges)):
            told = await _heard(hub, path)
            assert told
            for each in told:
                assert faults(model, each) == []


async def _heard(hub: Seeded, path: str) -> list[bytes]:
    """What a stream says of all that is kept; it is left when it has nothing more to say."""
    seen: list[bytes] = []
    asked = [{"type": "http.request", "body": b""}]

    async def receive() -> dict[str, Any]:
        if not asked:
            await asyncio.Event().wait()
        return asked.pop()

    async def send(message: MutableMapping[str, Any]) -> None:
        for found in re.findall(rb"^data: (.*)$", message.get("body", b""), re.MULTILINE):
            seen.append(found)
            hub.served.hub.closing.set()

    client = hub.http["token"]
    headers = [(k.lower().encode(), v.encode()) for k, v in client.headers.items()]
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": b"revision=0", "headers": headers, "http_version": "1.1",
        "scheme": "http", "root_path": "", "asgi": {"version": "3.0"},
    }  # fmt: skip
    await hub.app(scope, receive, send)
    hub.served.hub.closing.clear()
    return seen


OF_UID = {"preconditions": {"uid": "of the job"}}
WRITES = [
    ("POST", "/v1/jobs/{uid}/hold", None),
    ("POST", "/v1/jobs/{uid}/release", None),
    ("PUT", "/v1/jobs/{gold}/checks/budget", {"state": "Ready", "message": "paid"}),
    ("POST", "/v1/jobs/{uid}/cancel", None),
    ("DELETE", "/v1/jobs/{uid}", OF_UID),
    ("DELETE", "/v1/namespaces/team-a/jobs/j1-1", None),
    ("PATCH", "/v1/workloads/team-a/bare", {"spec": {"active": False}}),
    ("PATCH", "/v1/workloads/team-a/bare/status", {"status": {"conditions": []}}),
    ("DELETE", "/v1/workloads/team-a/bare", None),
    ("POST", "/v1/clusters", {"name": "c3", "labels": {"a": "b"}}),
    ("POST", "/v1/clusters/c3/join-token", None),
    ("POST", "/v1/clusters/c3/cordon", None),
    ("POST", "/v1/clusters/c3/uncordon", None),
    ("POST", "/v1/clusters/c3/drain", {"dryRun": True}),
    ("POST", "/v1/clusters/c3/fence", {"confirm": "c3"}),
    ("DELETE", "/v1/clusters/c3", None),
    ("POST", "/v1/tokens", {"role": "viewer", "name": "bea"}),
    ("DELETE", "/v1/tokens/viewer/bea", None),
    (
        "PUT",
        "/v1/objects/kueue.x-k8s.io/AdmissionCheck/budget/status",
        {"conditions": [{"type": "Active", "status": "True", "reason": "Served"}]},
    ),
    ("DELETE", "/v1/objects/core/ConfigMap/namespaces/team-a/settings", None),
    ("DELETE", "/v1/objects/kueue.x-k8s.io/Cohort/everyone?drain=true", None),
]


async def test_what_is_written_is_answered_as_described(tmp_path):
    """Every route that changes something, in an order in which each finds what it needs."""
    async with seeded(tmp_path) as hub:
        await hub.seed()
        models = {
            (method, route.path_regex): route.response_model
            for route in described_routes(hub.app.routes)
            for method in route.methods
        }
        for method, path, body in WRITES:
            names = {"uid": hub.uids[0], "gold": hub.uids[4]}
            asked = path.format(**names)
            sent = {"preconditions": {"uid": hub.uids[0]}} if body == OF_UID else body
            reply = await hub.http["token"].request(method, asked, json=sent)
            (model,) = [
                model
                for (verb, regex), model in models.items()
                if verb == method and regex.match(asked.partition("?")[0])
            ]
            holds(model, reply)


async def test_agents_are_answered_as_described(tmp_path):
    """Registration and an exchange, with the bodies that the description gives as examples."""
    async with seeded(tmp_path) as hub:
        await hub.seed()
        routes = {r.path: r for r in described_routes(hub.app.routes)}
        for path, scheme in (
            ("/agent/v1/register", "joinToken"),
            ("/agent/v1/sync", "credential"),
        ):
            content = routes[path].openapi_extra["requestBody"]["content"]["application/json"]
            body = content["examples"]["usual"]["value"]
            if scheme == "credential":
                body = body | {"cluster_uid": "uid-c1"}
            holds(routes[path].response_model, await hub.http[scheme].post(path, json=body))
