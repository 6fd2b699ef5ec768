"""Queues in figures: reservation and usage, shares, Active with Kueue's reasons."""

from pathlib import Path
from typing import Any

import pytest

from tests.services.fair_usage import by_usage, consumed, shared
from tests.services.http_hub import HttpHub, http_hub
from tests.services.hubs import KUEUE, a_job, a_pool, a_queue

pytestmark = pytest.mark.anyio


def a_check(name: str = "budget") -> dict[str, Any]:
    return {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": "example.com/budget"},
    }


async def status(it: HttpHub, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    """`status` of an object of Kueue's group, as REST shows it."""
    where = f"namespaces/{namespace}/{name}" if namespace else name
    shown = await it.get(f"/v1/objects/kueue.x-k8s.io/{kind}/{where}")
    return dict(shown["status"])


async def lending(it: HttpHub) -> None:
    """team-a of 1 cpu in a cohort uses 3, of which 2 are team-b's; one more waits, for want of room."""
    spec = {"cohortName": "all"}
    await it.hub.apply(*a_queue("a", quota={"cpu": "1"}, spec=spec))
    flavor, queue, door = a_queue("b", "team-b", quota={"cpu": "4"}, spec=spec)
    named = queue["spec"]["resourceGroups"][0]["flavors"][0]
    named["name"] = "a-flavor"
    await it.hub.apply(flavor, queue, door)
    await it.hub.cluster("north", a_pool(cpu="3"))
    await it.hub.apply(*(a_job(f"j{n}", queue="a") for n in range(4)))
    await it.hub.settle()


async def test_a_queue_counts_and_says_what_it_borrows(tmp_path: Path):
    """Pending, reserving, admitted; per flavor the total and what is beyond the nominal quota."""
    async with http_hub(tmp_path) as it:
        await lending(it)
        got = await status(it, "ClusterQueue", "a")
        counts = [got[f"{kind}Workloads"] for kind in ("pending", "reserving", "admitted")]
        assert counts == [1, 3, 3]
        used = [{"name": "cpu", "total": "3", "borrowed": "2"}]
        assert got["flavorsUsage"] == [{"name": "a-flavor", "resources": used}]
        assert got["flavorsReservation"] == got["flavorsUsage"]


async def test_a_queue_shows_its_weighted_share(tmp_path: Path):
    """2 of the 5 cpu that the cohort could lend: 400 thousandths; a queue inside its quota has 0."""
    async with http_hub(tmp_path) as it:
        await lending(it)
        assert (await status(it, "ClusterQueue", "a"))["fairSharing"] == {"weightedShare": 400}
        assert (await status(it, "ClusterQueue", "b"))["fairSharing"] == {"weightedShare": 0}
        listed = await it.get("/v1/queues")
        assert [q["weightedShare"] for q in listed["items"]] == [400, 0]


async def test_a_local_queue_shows_its_own_part(tmp_path: Path):
    """Counts and totals by flavor, without borrowing, which is its ClusterQueue's."""
    async with http_hub(tmp_path) as it:
        await lending(it)
        got = await status(it, "LocalQueue", "a", "team-a")
        assert (got["pendingWorkloads"], got["admittedWorkloads"]) == (1, 3)
        used = [{"name": "cpu", "total": "3"}]
        assert got["flavorsUsage"] == [{"name": "a-flavor", "resources": used}]


async def test_a_cohort_shows_its_share(tmp_path: Path):
    """A root has none to be measured by: 0."""
    async with http_hub(tmp_path) as it:
        cohort = {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": "all"}, "spec": {}}
        await it.hub.apply(cohort)
        await lending(it)
        assert (await status(it, "Cohort", "all"))["fairSharing"] == {"weightedShare": 0}


async def test_what_waits_for_checks_is_reserved_not_used(tmp_path: Path):
    """flavorsReservation has it, flavorsUsage has not; it reserves and is not admitted."""
    async with http_hub(tmp_path) as it:
        checks = {"admissionChecksStrategy": {"admissionChecks": [{"name": "budget"}]}}
        await it.hub.apply(a_check(), *a_queue("all", spec=checks))
        await it.hub.cluster("north", a_pool(cpu="8"))
        active = {"type": "Active", "status": "True", "reason": "Active", "message": ""}
        path = "/v1/objects/kueue.x-k8s.io/AdmissionCheck/budget/status"
        reply = await it.http.put(path, json={"conditions": [active]})
        assert reply.status_code == 200, reply.text
        await it.hub.apply(a_job("train", queue="all"))
        await it.hub.settle()
        got = await status(it, "ClusterQueue", "all")
        assert (got["reservingWorkloads"], got["admittedWorkloads"]) == (1, 0)
        assert got["flavorsReservation"][0]["resources"][0]["total"] == "1"
        assert got["flavorsUsage"][0]["resources"][0]["total"] == "0"
        own = await status(it, "LocalQueue", "all", "team-a")
        assert (own["reservingWorkloads"], own["admittedWorkloads"]) == (1, 0)
        assert own["flavorsReservation"][0]["resources"] == [{"name": "cpu", "total": "1"}]
        assert own["flavorsUsage"][0]["resources"] == [{"name": "cpu", "total": "0"}]
        (item,) = (await it.get("/v1/workloads"))["items"]
        said = {c["type"]: c["reason"] for c in item["status"]["conditions"]}
        assert said["Admitted"] == "UnsatisfiedAdmissionChecks"


async def test_a_held_workload_is_not_pending(tmp_path: Path):
    """It is not in line."""
    async with http_hub(tmp_path) as it:
        await it.hub.apply(*a_queue("all"))
        (uid,) = await it.hub.apply(a_job("train", queue="all"))
        await it.hub.transition("hold", uid)
        assert (await status(it, "ClusterQueue", "all"))["pendingWorkloads"] == 0


async def test_a_queue_that_can_not_be_read_hides_no_other(tmp_path: Path):
    """The others have their figures."""
    async with http_hub(tmp_path) as it:
        await lending(it)
        rows = await it.get("/v1/objects/kueue.x-k8s.io/ClusterQueue")
        assert [r["status"]["pendingWorkloads"] for r in rows["items"]] == [1, 0]


async def test_a_local_queue_shows_what_it_has_consumed(tmp_path: Path):
    """Where usage decides the order: status.fairSharing.admissionFairSharingStatus, as Kueue has it."""
    async with http_hub(tmp_path, by_usage()) as it:
        await it.hub.apply(*shared("1", {"lq-a": "1"}))
        await consumed(it.hub, {"lq-a": 2.5})
        got = await status(it, "LocalQueue", "lq-a", "team-a")
        told = got["fairSharing"]["admissionFairSharingStatus"]
        assert told["consumedResources"] == {"cpu": "2500m"}
        assert told["lastUpdate"]
