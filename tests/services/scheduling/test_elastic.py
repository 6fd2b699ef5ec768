"""Autoscaled pools on a live hub: declared or told by nodes, placed on where no room is, waited for."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.states import State
from hub.services.members import liveness
from hub.services.questions.clusters import get_cluster
from hub.store import clusters
from tests.services.autoscaled import GROUP, a_member, declared, report
from tests.services.build import WITHIN, in_cohort, start, urgent
from tests.services.hubs import Running, a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio

EAST = {"roadstead.dev/clusters": "east"}
WEST = {"roadstead.dev/clusters": "west"}


async def submit(hub: Running, *names: str, cpu: str = "4", count: int = 1) -> list[str]:
    await hub.apply(*a_queue("q"))
    jobs = [a_job(n, queue="q", requests={"cpu": cpu}, count=count) for n in names]
    return await hub.apply(*jobs)


async def test_a_job_goes_to_a_pool_that_may_grow_and_the_decision_says_so(tmp_path: Path) -> None:
    """No node is there: the job is placed all the same, and told how many nodes must come."""
    async with running(tmp_path) as hub:
        await a_member(hub, "east", 3)
        (uid,) = await submit(hub, "job", count=2)
        await hub.settle()
        row = await hub.job(uid)
        assert (row.state, row.cluster, row.new_nodes) == ("Placed", "east", 2)
        assert row.message == "placed on east; needs 2 new nodes of pool burst"
        chosen = (await hub.explain(uid))["decision"]["clusters"][0]
        assert "needs 2 new nodes of pool burst" in chosen["message"]
        assert chosen["score"] < 0


async def test_a_pool_counts_once_nodes_are_reported_by_its_labels(tmp_path: Path) -> None:
    """Before, it can not be said how many of its nodes are there: the job waits."""
    async with running(tmp_path) as hub:
        await hub.apply(declared("east", 3))
        now = hub.clock.now()
        await hub.hub.db.write(
            lambda unit: clusters.change(unit, "east", joined_at=now, heartbeat_at=now)
        )
        await hub.cluster("east")  # grouped by no keys
        (uid,) = await submit(hub, "job")
        await hub.settle()
        assert (await hub.job(uid)).state == "Pending"
        assert "group" in hub.scheduler.index.keys.since
        await report(hub, "east")
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_nodes_to_come_are_promised_once(tmp_path: Path) -> None:
    """Two nodes may come and two jobs take them: the third waits, also when the nodes have come."""
    async with running(tmp_path) as hub:
        await a_member(hub, "east", 2)
        uids = await submit(hub, "a", "b", "c")
        await hub.settle()
        assert [r.state for r in await hub.jobs(uids)].count(State.PLACED) == 2
        await report(hub, "east", a_pool(2, GROUP, cpu="4"))
        await hub.settle()
        assert [r.state for r in await hub.jobs(uids)].count(State.PLACED) == 2


async def test_what_nodes_to_come_were_promised_survives_a_restart(tmp_path: Path) -> None:
    """The index read anew counts the same promises."""
    async with running(tmp_path) as hub:
        await a_member(hub, "east", 1)
        first, second = await submit(hub, "a", "b")
        await hub.settle()
        hub.scheduler.loaded = False
        await hub.settle()
        states = {(await hub.job(uid)).state for uid in (first, second)}
        assert states == {"Placed", "Pending"}


async def test_nodes_may_say_themselves_that_their_pool_grows(tmp_path: Path) -> None:
    """An agent reports pools whose nodes are labelled so: nobody need declare them."""
    async with running(tmp_path) as hub:
        told = {
            "name": "x", "max_nodes": 2, "nodes": 1, "labels": {}, "taints": [],
            "resources": ["cpu"], "shape": [4000],
        }  # fmt: skip
        await hub.cluster("east", a_pool(1, cpu="4"), growing=[told])
        first, second, third = await submit(hub, "a", "b", "c")
        await hub.settle()
        rows = [await hub.job(uid) for uid in (first, second, third)]
        stood = sorted((r.state, r.new_nodes or 0) for r in rows)
        assert stood == [("Pending", 0), ("Placed", 0), ("Placed", 1)]


async def test_a_job_that_waits_for_nodes_has_a_timeout_of_its_own(tmp_path: Path) -> None:
    """The usual timeout leaves it alone; its own takes it back and sets the cluster aside."""
    async with running(tmp_path) as hub:
        await a_member(hub, "east", 1)
        await hub.cluster("west", a_pool(1, cpu="2"))
        (uid,) = await submit(hub, "job")
        await hub.settle()
        await hub.transition("offer", uid)
        await hub.transition("apply", uid)
        hub.clock.advance(3600)
        term = hub.scheduler._term()
        limit = dt.timedelta(minutes=30)

        def take_back(*, awaiting_nodes: bool) -> Any:
            return hub.hub.db.write(
                lambda unit: liveness.take_back_stuck(
                    unit, limit, (), term, awaiting_nodes=awaiting_nodes
                )
            )

        assert await take_back(awaiting_nodes=False) == 0
        assert await take_back(awaiting_nodes=True) == 1
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Withdrawing", "PodsPendingTimeout")
        assert "not started within 30 min" in row.message
        assert list(row.set_aside) == ["east"]


async def test_members_show_what_their_pools_may_add(tmp_path: Path) -> None:
    """REST: beside the pools there are."""
    async with running(tmp_path) as hub:
        await a_member(hub, "east", 3, a_pool(1, GROUP, cpu="4"))
        seen = await hub.hub.read(get_cluster, "east", hub.hub.settings)
        (pool,) = seen["growingPools"]
        assert (pool["name"], pool["mayAdd"]) == ("burst", 2)
        assert pool["allocatable"] == {"cpu": "4", "memory": "16Gi"}


async def test_a_declaration_that_changes_wakes_who_waits(tmp_path: Path) -> None:
    """A higher maxNodes is room: no report need come first."""
    async with running(tmp_path) as hub:
        await a_member(hub, "east", 0)
        (uid,) = await submit(hub, "job")
        await hub.settle()
        assert (await hub.job(uid)).state == "Pending"
        await hub.apply(declared("east", 1))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_who_preempts_for_quota_may_stand_on_nodes_to_come(tmp_path: Path) -> None:
    """The victim gives quota, the pool gives room: nominated for the pool's cluster, then placed there."""
    async with running(tmp_path) as hub:
        await a_member(hub, "east", 1)
        await hub.cluster("west", a_pool(1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        (low,) = await hub.apply(a_job("low", queue="a", requests={"cpu": "4"}, annotations=WEST))
        await hub.settle()
        await start(hub, low)
        high = await urgent(hub, "high", "a", "4", annotations=EAST)
        await hub.settle()
        assert (await hub.job(high)).nomination["cluster"] == "east"
        await hub.transition("requeue", low, reason="Preempted")
        await hub.settle()
        row = await hub.job(high)
        assert (row.state, row.cluster, row.new_nodes) == ("Placed", "east", 1)
