"""Marks and numbers that people write on objects of a member, and that its agent tells the hub."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from agent.objects.facts import generation_of
from agent.objects.pods import view
from shared import labels
from tests.services.members.hubs import ran, running_hub, seen

pytestmark = pytest.mark.anyio

BIG = 10**30
POOL = {"labels": {}, "resources": ["cpu"], "nodes": [], "unusable": 0}
GROWING = {"name": "g", "max_nodes": 1, "nodes": 0, "labels": {}, "resources": [], "shape": []}
CAPACITY = {
    "pools_revision": 0,
    "node_count": 0,
    "pools": [POOL],
    "bound": [{"uid": "u", "epoch": 1, "bound": 1, "succeeded": 0}],
    "growing": [GROWING],
}


@pytest.mark.parametrize("run", ["run", "é", "a.b.c", "", "\u0000"])
@pytest.mark.parametrize("proof", ["é", "0" * 32, "", "\u0000"])
async def test_a_mark_of_any_text_does_not_cut_an_agent_off(tmp_path: Path, run: str, proof: str):
    """It says nothing, and the request is answered."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        agent.marks = [{"run": run, "revision": 2**63 - 1, "proof": proof}]
        assert (await agent.post(agent.request())).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        ("pools_revision",),
        ("node_count",),
        ("pools", 0, "unusable"),
        ("bound", 0, "epoch"),
        ("bound", 0, "bound"),
        ("bound", 0, "succeeded"),
        ("growing", 0, "max_nodes"),
    ],
    ids=str,
)
async def test_a_capacity_with_a_number_that_nothing_holds_is_refused_alone(tmp_path: Path, path):
    """The epoch of a bound pod is what its label says; what else the request says is taken in."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        body = agent.request(ran(uid, active=1), capacity=copy.deepcopy(CAPACITY))
        at = body["capacity"]
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = BIG
        reply = await raw(hub, agent, body)
        assert [each["code"] for each in reply["refused"]] == ["CapacityInvalid"]
        assert (await hub.job(uid)).state == "Applied"


@pytest.mark.parametrize(
    "path",
    [("generation",), ("member_generation",), ("seq",), ("job", "active"), ("job", "failed")],
)
async def test_an_entry_with_a_number_that_nothing_holds_is_refused_alone(tmp_path: Path, path):
    """The others of its request are taken in."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        bad, good = await hub.placed("north", "bad"), await hub.placed("north", "good")
        await agent.sync()
        body = agent.request(ran(bad), ran(good))
        at = body["observed"]["entries"][0]
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = BIG
        reply = await raw(hub, agent, body)
        assert [each["code"] for each in reply["refused"]] == ["InvalidEntry"]
        assert (await hub.job(good)).state == "Applied"


async def test_a_leftover_of_an_absurd_epoch_is_shown(tmp_path: Path):
    """What an earlier incarnation gave is kept as JSON."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        left = {"object_uid": "m-9", "job": {}, "incarnation": "another"}
        await raw(hub, agent, agent.request(seen("u-9", "Applied", BIG, **left)))


async def test_failures_add_up_to_a_number_that_a_column_holds(tmp_path: Path):
    """However many a member claims."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        for failed in (2**31 - 1, 0, 2**31 - 1):
            await agent.sync(ran(uid, failed=failed))
        assert (await hub.job(uid)).failed == 2**31 - 1


@pytest.mark.parametrize("digits", [19, 30, 63, 5000])
async def test_an_agent_reads_no_absurd_number_off_an_object(digits: int):
    """An annotation and a label are anybody's to write."""
    text = "9" * digits
    pod = {"metadata": {"labels": {labels.JOB_UID: "u", labels.EPOCH: text}}}
    assert view(pod, None).epoch == 0
    assert generation_of({"metadata": {"annotations": {labels.GENERATION: text}}}, 7) == 7


async def raw(hub, agent, body) -> dict[str, Any]:
    """Post numbers that orjson does not write."""
    reply = await hub.http.post(
        "/agent/v1/sync",
        content=json.dumps(body),
        headers={"Authorization": f"Bearer {agent.credential}"},
    )
    assert reply.status_code == 200, reply.text
    return reply.json()
