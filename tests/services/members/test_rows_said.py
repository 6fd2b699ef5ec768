"""Bad input at the agent's door: what is said of jobs and of room.

What one might expect otherwise, and why it is so:

- An old epoch leaves no evidence. What carries its mark in the member is ordered away (`test_strays`).
- The entry is refused, not the request: one wrong label in a member stops no cluster. A store
  that went back is proved by marks (`test_timeline`).
- The entry is NotYours; the audit has it once in ten minutes, however many entries there are.
- A Job has one result on the wire; both is two entries of one request.
- Any resource that a node may have is believed, known or not; the refusal is a Warning event.
- There is no cap of an administrator on what a member says that it has.
"""

from pathlib import Path
from typing import Any

import pytest

from hub.services.context.settings import Settings
from hub.services.questions.clusters import get_cluster
from hub.services.works.withdraw import withdraw_jobs
from tests.services.members.hubs import Agent, Running, noted, ran, running_hub, seen, warnings_of

pytestmark = pytest.mark.anyio
RUNS: dict[str, Any] = {"active": 1, "running_since": "2026-05-01T00:00:01Z"}


def codes(reply) -> dict[str, str]:
    """What was refused: uid to code."""
    return {each["uid"]: each["code"] for each in reply["refused"]}


async def running_job(hub: Running) -> tuple[Agent, str]:
    """A member's agent, and a job that runs there."""
    agent = await hub.join("north")
    uid = await hub.placed("north")
    await agent.sync()
    await agent.sync(ran(uid, **RUNS))
    return agent, uid


async def test_row_100_a_job_that_nobody_knows(tmp_path: Path):
    """Unknown, and ordered away by exactly its object; the others of the request are taken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        more: dict[str, Any] = {
            "object_uid": "m-1",
            "incarnation": hub.sync.incarnation,
            "job": RUNS,
        }
        reply = await agent.sync(seen("dead", "Applied", **more), ran(uid, **RUNS))
        assert codes(reply) == {"dead": "Unknown"}
        assert reply["orders"] == [{"uid": "dead", "object_uid": "m-1", "action": "Remove"}]
        assert (await hub.job(uid)).state == "Running"


@pytest.mark.parametrize(
    ("epoch", "code"), [(1, "StaleEpoch"), (3, "FutureEpoch"), (99, "FutureEpoch")]
)
async def test_rows_101_and_102_another_epoch(tmp_path: Path, epoch: int, code: str):
    """Refused by itself, past or to come: the epoch that is runs on, and its own word counts."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running_job(hub)
        await hub.write(withdraw_jobs, [uid], "Pending", "Preempted", "")
        await hub.settled()
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        await hub.place(uid, "north")
        await hub.settled()
        await agent.sync()
        for said in (ran(uid, epoch, result="Succeeded"), seen(uid, "Gone", epoch)):
            assert codes(await agent.sync(said)) == {uid: code}
        assert (await hub.job(uid)).state == "Offered"
        assert codes(await agent.sync(ran(uid, 2, **RUNS))) == {}
        assert (await hub.job(uid)).state == "Running"


async def test_row_103_jobs_of_another_cluster(tmp_path: Path):
    """Each is NotYours, nothing moves, and the audit has one row."""
    async with running_hub(tmp_path) as hub:
        south = await hub.join("south")
        await hub.join("north")
        uids = await hub.place_many("north", 3)
        for _ in range(2):
            reply = await south.sync(*(ran(uid, result="Succeeded") for uid in uids))
            assert codes(reply) == dict.fromkeys(uids, "NotYours")
        assert await noted(hub) == [("agent of south", "NotYours")]
        assert await warnings_of(hub, "south") == ["NotYours"]
        assert {(await hub.job(uid)).state for uid in uids} == {"Placed"}
        hub.clock.advance(600)
        await south.sync(ran(uids[0], result="Failed"))
        assert len(await noted(hub)) == 2


async def test_row_104_a_result_that_is_taken_back(tmp_path: Path):
    """IllegalTransition; it has succeeded."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running_job(hub)
        await agent.sync(ran(uid, result="Succeeded", succeeded=1))
        assert codes(await agent.sync(ran(uid, **RUNS))) == {uid: "IllegalTransition"}
        assert (await hub.job(uid)).state == "Succeeded"


@pytest.mark.parametrize(("first", "second"), [("Succeeded", "Failed"), ("Failed", "Succeeded")])
async def test_row_105_succeeded_and_failed(tmp_path: Path, first: str, second: str):
    """The second of two words is refused; other entries are taken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid, other = await hub.place_many("north", 2)
        await agent.sync()
        body = agent.request(ran(uid, result=second), ran(other, **RUNS))
        body["observed"]["entries"].insert(0, ran(uid, result=first).model_dump())
        assert codes((await agent.post(body)).json()) == {uid: "ContradictoryStatus"}
        assert (await hub.job(uid)).state == first
        assert (await hub.job(other)).state == "Running"


async def test_row_106_one_bad_entry_among_many(tmp_path: Path):
    """It is refused by itself, and the 499 are taken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uids = await hub.place_many("north", 499)
        await agent.sync()
        body = agent.request(*(ran(uid, **RUNS) for uid in uids))
        body["observed"]["entries"].insert(250, {"uid": "odd", "epoch": "one"})
        assert codes((await agent.post(body)).json()) == {"odd": "InvalidEntry"}
        assert {(await hub.job(uid)).state for uid in uids} == {"Running"}


def a_capacity(
    resource: str = "cpu", has: object = 8000, free: object = 8000
) -> dict[str, object]:
    node = {"name": "n", "allocatable": [has], "free": [free]}
    pool = {"labels": {}, "resources": [resource], "nodes": [node]}
    return {"pools_revision": 0, "pools": [pool], "bound": []}


def on_nodes(*nodes: int) -> dict[str, object]:
    """A report of one node and one work with two bound pods."""
    bound = {"uid": "u", "epoch": 1, "bound": 2, "succeeded": 0, "nodes": list(nodes)}
    return a_capacity() | {"bound": [bound]}


@pytest.mark.parametrize(
    "capacity",
    [
        a_capacity(has=-1, free=-1),
        a_capacity(has="NaN"),
        a_capacity(has=1e30),
        a_capacity(has=2**63, free=0),
        a_capacity(free=8001),
        a_capacity("warp cores"),
        a_capacity(""),
        {"pools_revision": 0, "pools": "all", "bound": []},
        a_capacity() | {"bound": [{"uid": "u", "epoch": 1, "bound": -1, "succeeded": 0}]},
        a_capacity() | {"bound": [{"uid": "u", "epoch": 1, "bound": 0, "succeeded": -1}]},
        on_nodes(1, 1),
        on_nodes(-1, 1),
        on_nodes(0),
        on_nodes(0, 1, 0, 1),
        on_nodes(0, 3),
        on_nodes(0, 0),
    ],
    ids=[
        *("negative", "no number", "1e30", "63 bits", "free", "a blank", "no name", "no list"),
        *("fewer than no pods bound", "fewer than none succeeded", "no such node", "node -1"),
        *("half a pair", "a node twice", "more than are bound", "no pod on a node"),
    ],
)
async def test_row_109_room_that_can_not_be(tmp_path: Path, capacity: dict[str, object]):
    """Refused by itself and warnings_of once; the last good report stays, and entries are taken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync(capacity=a_capacity())
        reply = await agent.sync(ran(uid, **RUNS), capacity=capacity)
        assert codes(reply) == {"": "CapacityInvalid"}
        assert (await agent.sync(capacity=capacity))["refused"]
        assert await warnings_of(hub, "north") == ["CapacityInvalid"]
        assert (await resources(hub))["cpu"]["allocatable"] == "8"
        assert (await hub.job(uid)).state == "Running"


async def test_row_109_a_resource_that_the_hub_does_not_know(tmp_path: Path):
    """Nodes may have any: it is room like other room."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        assert codes(await agent.sync(capacity=a_capacity("example.com/warp-cores"))) == {}
        assert list(await resources(hub)) == ["example.com/warp-cores"]


async def test_row_110_room_that_is_gone_or_doubled(tmp_path: Path):
    """Zero: what runs runs on. Twice as much is believed."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running_job(hub)
        await agent.sync(capacity=a_capacity())
        await agent.sync(capacity=a_capacity() | {"pools": []})
        assert await resources(hub) == {}
        assert (await hub.job(uid)).state == "Running"
        await agent.sync(capacity=a_capacity(has=16000))
        assert (await resources(hub))["cpu"]["allocatable"] == "16"


async def resources(hub: Running) -> dict[str, dict[str, str]]:
    seen_now = await hub.hub.read(lambda unit: get_cluster(unit, "north", Settings()))
    return seen_now["resources"]


@pytest.mark.parametrize(
    "text", ["x" * (1 << 20), "a\u0001b", "\u001b[31mred", "<img src=x onerror=alert(1)>"]
)
async def test_row_113_words_of_a_member(tmp_path: Path, text: str):
    """At most 1 KiB, without control characters; markup stays text, and pages escape it."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running_job(hub)
        await agent.sync(ran(uid, result="Failed", reason=text, message=text))
        job = await hub.job(uid)
        assert job.state == "Failed"
        for said, most in ((job.reason, 64), (job.message, 1024)):
            assert said.isprintable()
            assert 0 < len(said) <= most


async def test_row_114_gone_without_being_asked(tmp_path: Path):
    """Somebody in the member deleted it: it has failed, is not run again, and nothing is kept there."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running_job(hub)
        reply = await agent.sync(seen(uid, "Gone"))
        assert codes(reply) == {}
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Failed", "DeletedInMember")
        assert await hub.work(uid) is None


@pytest.mark.parametrize("gone_first", [True, False])
async def test_row_115_gone_and_running_at_once(tmp_path: Path, gone_first: bool):
    """Contradiction: it counts as running, whichever was said first."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running_job(hub)
        body = agent.request(ran(uid, **RUNS))
        at = 0 if gone_first else 1
        body["observed"]["entries"].insert(at, seen(uid, "Gone").model_dump())
        assert codes((await agent.post(body)).json()) == {uid: "Contradiction"}
        assert (await hub.job(uid)).state == "Running"
