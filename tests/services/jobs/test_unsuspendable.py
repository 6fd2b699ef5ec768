"""The workbench rule: what can not be suspended waits only where nobody is ever preempted."""

from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake, Queueing, Settings
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from shared.kinds import parse
from tests.api.serving import served
from tests.services.hubs import a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio
LIMITS = Settings(queueing=Queueing(non_preemptible_queues="benches"))
PREEMPTS = {"preemption": {"withinClusterQueue": "LowerPriority"}}
IN_COHORT = {"cohortName": "all"}


def a_workbench(name: str, queue: str) -> dict[str, Any]:
    """A Job whose pods carry what notebook controllers write on theirs."""
    job = a_job(name, queue=queue)
    job["spec"]["template"]["metadata"] = {"labels": {"notebook-name": name}}
    return job


async def _with_queues(hub) -> None:
    """Alone and peaceful; alone and preempting; in a cohort; in a cohort and declared."""
    for name, spec in (
        ("alone", {}),
        ("preempts", PREEMPTS),
        ("shared", IN_COHORT),
        ("benches", PREEMPTS | IN_COHORT),
    ):
        for manifest in a_queue(name, spec=spec):
            reply = await hub.admin.post("/v1/apply", json=manifest)
            assert reply.json()["items"][0]["result"] != "rejected", reply.json()


async def test_it_is_taken_where_nobody_is_preempted(tmp_path):
    """A queue declared non-preemptible, or one without cohort and without preemption of its own."""
    async with served(tmp_path, LIMITS) as hub:
        await _with_queues(hub)
        for queue in ("alone", "benches"):
            reply = await hub.admin.post("/v1/jobs", json=a_workbench(f"in-{queue}", queue))
            assert reply.status_code == 201, reply.json()


@pytest.mark.parametrize("queue", ["preempts", "shared"])
async def test_it_is_refused_elsewhere(tmp_path, queue):
    """422 NotSuspendable names the label, the queue, and the queues that would do."""
    async with served(tmp_path, LIMITS) as hub:
        await _with_queues(hub)
        reply = await hub.admin.post("/v1/jobs", json=a_workbench("bench", queue))
        problem = reply.json()
        assert (reply.status_code, problem["code"]) == (422, "NotSuspendable")
        for word in ("notebook-name", f"ClusterQueue {queue}", "non-preemptible: benches"):
            assert word in problem["detail"]


async def test_apply_refuses_it_too(tmp_path):
    """Other than a missing queue this is not waited for: the document is rejected."""
    async with served(tmp_path, LIMITS) as hub:
        await _with_queues(hub)
        reply = await hub.admin.post("/v1/apply", json=a_workbench("bench", "shared"))
        (item,) = reply.json()["items"]
        assert (item["result"], item["code"]) == ("rejected", "NotSuspendable")


async def test_it_may_not_move_to_such_a_queue(tmp_path):
    """Applied again with another queue: refused, and it stays where it is."""
    async with served(tmp_path, LIMITS) as hub:
        await _with_queues(hub)
        job = (await hub.admin.post("/v1/jobs", json=a_workbench("bench", "alone"))).json()
        reply = await hub.admin.post("/v1/apply", json=a_workbench("bench", "shared"))
        assert reply.json()["items"][0]["code"] == "NotSuspendable"
        found = (await hub.admin.get(f"/v1/jobs/{job['uid']}")).json()
        assert found["queue"] == "alone"


async def test_a_workload_without_owner_is_held_to_the_rule(tmp_path):
    """A bare Workload whose pods are a notebook's."""
    async with served(tmp_path, LIMITS) as hub:
        await _with_queues(hub)
        template = a_workbench("x", "")["spec"]["template"]
        workload = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "bench", "namespace": "team-a"},
            "spec": {
                "queueName": "shared",
                "podSets": [{"name": "main", "count": 1, "template": template}],
            },
        }
        reply = await hub.admin.post("/v1/apply", json=workload)
        assert reply.json()["items"][0]["code"] == "NotSuspendable"


async def test_which_labels_say_so_is_a_setting(tmp_path):
    """key=value matches that value alone; labels of the object count as well."""
    from hub.services.context.settings import Intake

    limits = Settings(intake=Intake(unsuspendable_labels="kind=bench"))
    async with served(tmp_path, limits) as hub:
        await _with_queues(hub)
        for value, status in (("bench", 422), ("batch", 201)):
            job = a_job(value, queue="shared", labels={"kind": value})
            assert (await hub.admin.post("/v1/jobs", json=job)).status_code == status
        job = a_workbench("notebook", "shared")
        assert (await hub.admin.post("/v1/jobs", json=job)).status_code == 201


async def test_a_queue_that_is_edited_to_preempt_warns_of_those_that_hold_quota_in_it(tmp_path):
    """Nobody could preempt them before; an edit that changes nothing of that says nothing."""
    async with running(tmp_path) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        made = a_queue("alone", quota={"cpu": "4"})
        (queue,) = [each for each in made if each["kind"] == "ClusterQueue"]
        await hub.apply(*made)
        await hub.apply(a_workbench("nb", "alone"))
        await hub.settle()

        async def said(**spec):
            edited = {**queue, "spec": {**queue["spec"], **spec}}
            drafts = [draft(parse(edited), hub.clock.now(), origin=Origin.REST)]
            (one,) = await hub.hub.write(apply_documents, drafts, Intake())
            return one.warnings

        assert await said(flavorFungibility={"whenCanBorrow": "TryNextFlavor"}) == ()
        (warning,) = await said(**PREEMPTS)
        assert "nb, which can not be suspended, holds quota in it" in warning
