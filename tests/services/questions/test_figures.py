"""Figures of queues at their edges: full and over it, without a weight, and in what order they wait."""

from pathlib import Path

import pytest

from hub.services.questions import watch
from hub.store import clusters
from hub.store.transaction import Transaction
from tests.services.http_hub import HttpHub, http_hub
from tests.services.hubs import a_job, a_pool, a_queue

pytestmark = pytest.mark.anyio
VISIBILITY = "/apis/visibility.kueue.x-k8s.io/v1beta2"


@pytest.mark.parametrize(
    ("jobs", "quota", "state"),
    [(1, "2", "Ready"), (2, "2", "Ready"), (2, "1", "OverQuota"), (0, "0", "Ready")],
)
async def test_a_queue_is_over_its_quota_where_it_has_more(tmp_path: Path, jobs, quota, state):
    """Exactly full is not over; its quota may be lowered below what it has given."""
    async with http_hub(tmp_path) as it:
        await it.hub.cluster("north", a_pool(cpu="8"))
        await it.hub.apply(*a_queue("all", quota={"cpu": "2"}))
        await it.hub.apply(*(a_job(f"j{n}", queue="all") for n in range(jobs)))
        await it.hub.settle()
        await it.hub.apply(*a_queue("all", quota={"cpu": quota}))
        found = await it.get("/v1/queues/all")
        assert (found["admitted"], found["state"]) == (jobs, state)


@pytest.mark.parametrize(("weight", "told"), [(None, "1"), ("0", "0"), ("2", "2")])
async def test_the_weight_of_a_local_queue_is_one_unless_it_has_one(tmp_path: Path, weight, told):
    """None of its own is 1; zero is zero."""
    async with http_hub(tmp_path) as it:
        door = a_queue("all")[2]
        if weight is not None:
            door["spec"]["fairSharing"] = {"weight": weight}
        await it.hub.apply(*a_queue("all")[:2], door)
        found = await it.get("/v1/queues/team-a/all")
        assert found["fairSharing"]["weight"] == told


async def held_back(it: HttpHub, *names: str) -> dict[str, str]:
    """Jobs of a stopped LocalQueue, a moment apart."""
    flavor, queue, door = a_queue("all")
    door["spec"]["stopPolicy"] = "Hold"
    await it.hub.apply(flavor, queue, door)
    uids = {}
    for name in names:
        (uids[name],) = await it.hub.apply(a_job(name, queue="all"))
        it.hub.clock.advance(1)
    await it.hub.settle()
    return uids


async def test_those_that_can_not_be_considered_stand_by_priority_and_when_they_were_queued(
    tmp_path: Path,
):
    """One that was evicted stands where it was queued anew, not where it was created."""
    async with http_hub(tmp_path) as it:
        uids = await held_back(it, "evicted", "second", "third", "urgent")
        await it.hub.change(uids["evicted"], queued_at=it.hub.clock.now())
        await it.hub.change(uids["urgent"], priority=7)
        await it.hub.settle()
        for path in ("clusterqueues/all", "namespaces/team-a/localqueues/all"):
            items = (await it.get(f"{VISIBILITY}/{path}/pendingworkloads"))["items"]
            names = [each["metadata"]["ownerReferences"][0]["name"] for each in items]
            assert names == ["urgent", "second", "third", "evicted"]


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({}, True),
        ({"state": "Pending"}, True),
        ({"state": "Pend"}, False),
        ({"state": "Held,Pending"}, True),
        ({"state": "Held"}, False),
        ({"kind": "Job,Workload", "namespace": "team-a"}, True),
        ({"kind": "Job", "namespace": "team"}, False),
        ({"queue": "all"}, True),
        ({"queue": "al,l"}, False),
        ({"queue": "all", "namespace": "team-b"}, False),
    ],
)
async def test_a_filter_holds_whole_values(tmp_path: Path, filters: dict[str, str], passes: bool):
    """One of several with commas; a part of a value is another value; all filters have to hold."""
    async with http_hub(tmp_path) as it:
        await it.hub.apply(*a_queue("all"))
        (uid,) = await it.hub.apply(a_job("train", queue="all"))
        found = await it.hub.hub.read(watch.states, [uid], filters)
        assert bool(found) is passes


async def test_a_member_tells_when_its_capacity_was_said_and_when_it_was_heard(tmp_path: Path):
    """Two times: a heartbeat later moves the one and not the other."""
    async with http_hub(tmp_path) as it:
        await it.hub.cluster("north", a_pool(cpu="8"))
        first = (await it.get("/v1/clusters/north"))["capacityAt"]
        it.hub.clock.advance(60)

        await it.hub.hub.write(_beat, "north")
        after = await it.get("/v1/clusters/north")
        assert after["capacityAt"] == first
        assert after["heartbeatAt"] > first
        (listed,) = (await it.get("/v1/clusters"))["items"]
        assert (listed["capacityAt"], listed["heartbeatAt"]) == (first, after["heartbeatAt"])


def _beat(tx: Transaction, name: str) -> None:
    clusters.beat(tx, {name: tx.now})


async def test_what_a_member_has_is_told_with_what_is_free_and_what_was_promised(tmp_path: Path):
    """Free is the agent's word, reserved the hub's own jobs there: three numbers, none of them another."""
    async with http_hub(tmp_path) as it:
        pool = a_pool(nodes=1, cpu="8")
        (node,) = pool["nodes"]
        node["free"] = [5000, *node["free"][1:]]
        await it.hub.cluster("north", pool)
        await it.hub.apply(*a_queue("all"), a_job("train", queue="all", requests={"cpu": "3"}))
        await it.hub.settle()
        cpu = (await it.get("/v1/clusters/north"))["resources"]["cpu"]
        assert cpu == {"free": "5", "allocatable": "8", "reserved": "3"}
