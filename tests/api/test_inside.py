"""A dry run asks the members' agents what is inside the namespaces that a removal deletes if empty."""

import asyncio
import contextlib

import httpx
import pytest
from starlette.requests import Request

from hub.api.app import create_app
from hub.api.inside import MOST_ASKED, tell_inside
from hub.domain.rollout.removal import Fate
from hub.services.access import credentials
from shared.wire.streams_v1 import ANSWERS_HEADER
from tests.api.streaming import STREAMS
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import Fleet

pytestmark = pytest.mark.anyio
GROUP = "placement.kubernetes-fleet.io"
SPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: space}
spec:
  resourceSelectors:
  - {group: "", version: v1, kind: Namespace, name: shop, selectionScope: NamespaceOnly}
  policy: {placementType: PickFixed, clusterNames: [m1]}
"""
NEW = {ANSWERS_HEADER: "namespace"}


@contextlib.asynccontextmanager
async def placed_space(folder):
    """Namespace `shop`, which the agent of m1 created: clients of an administrator and of that agent."""
    async with running_hub(folder) as hub, contextlib.AsyncExitStack() as on:
        fleet = await Fleet.start(hub, "m1")
        await fleet.apply(SPACE)
        for _ in range(2):
            await fleet.sync(created=True)
        app = create_app(hub.hub)
        made = []
        for role, cluster in (("administrator", ""), ("agent", "m1")):
            token = await hub.hub.write(credentials.issue_bearer, role, f"{role}-x", cluster)
            http = httpx.AsyncClient(
                transport=httpx.ASGITransport(app),
                base_url="http://hub",
                headers={"Authorization": f"Bearer {token}"},
            )
            made.append(await on.enter_async_context(http))
        yield made


async def removed(http, where=f"/v1/objects/{GROUP}/ClusterResourcePlacement/space"):
    """The row of the Namespace in the answer to a dry run, and the member's counts."""
    reply = await http.delete(where, params={"dryRun": "true"})
    assert reply.status_code == 200, reply.text
    (member,) = reply.json()["members"]
    (row,) = member["objects"]
    return member, row


async def answered(people, agent, **told):
    """A dry run whose question the agent answers."""
    asked = asyncio.create_task(removed(people))
    reply = await agent.get(STREAMS, headers=NEW)
    (question,) = reply.json()["requests"]
    assert (question["what"], question["name"]) == ("namespace", "shop")
    part = {"seq": 1, "namespace": told, "end": {"code": "Ended"}}
    assert (await agent.post(f"{STREAMS}/{question['id']}", json=part)).status_code == 200
    return await asked


async def test_what_others_have_in_a_namespace_is_named(tmp_path):
    """It stays, and the list counts it so."""
    async with placed_space(tmp_path) as (people, agent):
        member, row = await answered(people, agent, others=7, named=["Secret/a", "ConfigMap/b"])
    assert (row["fate"], row["inside"], row["insideCount"]) == (
        "Left",
        ["Secret/a", "ConfigMap/b"],
        7,
    )
    assert (member["deletedIfEmpty"], member["left"]) == (0, 1)


async def test_an_empty_namespace_is_deleted_if_it_stays_empty(tmp_path):
    """The agent has looked: nobody else has anything in it."""
    async with placed_space(tmp_path) as (people, agent):
        member, row = await answered(people, agent, ours=3)
    assert (row["fate"], row["inside"]) == ("DeletedIfEmpty", [])
    assert row["message"].startswith("no objects of others are in it now")
    assert row["message"].endswith("and the hub's 3 objects and jobs in it are gone")
    assert (member["deletedIfEmpty"], member["left"]) == (1, 0)


async def test_an_agent_that_may_not_look_keeps_the_namespace(tmp_path):
    """The list says that it stays, and why."""
    async with placed_space(tmp_path) as (people, agent):
        _, row = await answered(people, agent, unread="secrets is forbidden")
    assert row["fate"] == "Left"
    assert "secrets is forbidden" in row["message"]


async def test_without_an_answer_the_contents_are_not_reported(tmp_path):
    """No agent asks; the dry run is answered all the same."""
    async with placed_space(tmp_path) as (people, _):
        _, row = await removed(people)
    assert row["fate"] == "DeletedIfEmpty"
    assert "are not reported" in row["message"]


async def test_namespaces_beyond_those_that_a_list_asks_about_say_so(tmp_path):
    """Else their line would read as if the agent had been asked and had not answered."""
    async with placed_space(tmp_path) as (people, _):
        app = people._transport.app
        rows = [
            {"fate": Fate.DELETED_IF_EMPTY, "name": f"n-{n}", "message": "?"} for n in range(22)
        ]
        request = Request({"type": "http", "app": app})
        await tell_inside(request, "ann", [{"cluster": "absent", "objects": rows}])
    told = [row["message"] for row in rows]
    assert told[:MOST_ASKED] == ["?"] * MOST_ASKED
    assert all("was not asked, as one list asks about 20" in each for each in told[MOST_ASKED:])
