"""MultiKueue's kinds as aliases of members and a restriction to them."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.queues import multikueue
from hub.store import clusters, objects
from shared.kinds.kueue_v1beta2 import GROUP
from tests.services.hubs import KUEUE, Running, a_job, a_pool, a_queue, running
from tests.services.outside.controller import a_check, checked

pytestmark = pytest.mark.anyio
CONTROLLER = "kueue.x-k8s.io/multikueue"


def a_worker(name: str) -> dict[str, Any]:
    """A MultiKueueCluster as a MultiKueue user has it: by a kubeconfig in a Secret."""
    source = {"kubeConfig": {"locationType": "Secret", "location": f"{name}-secret"}}
    return {
        "apiVersion": KUEUE,
        "kind": "MultiKueueCluster",
        "metadata": {"name": name},
        "spec": {"clusterSource": source},
    }


def a_dispatch_check(name: str = "dispatch", config: str = "workers") -> dict[str, Any]:
    """MultiKueue's AdmissionCheck."""
    parameters = {"apiGroup": GROUP, "kind": "MultiKueueConfig", "name": config}
    check = a_check(name, CONTROLLER)
    return {**check, "spec": {**check["spec"], "parameters": parameters}}


def a_config(*workers: str) -> dict[str, Any]:
    """A MultiKueueConfig."""
    return {
        "apiVersion": KUEUE,
        "kind": "MultiKueueConfig",
        "metadata": {"name": "workers"},
        "spec": {"clusters": list(workers)},
    }


async def a_setup(hub: Running, *workers: str) -> None:
    """Queue `gold` that dispatches to these workers."""
    await hub.apply(
        *(a_worker(name) for name in workers),
        a_config(*workers),
        a_dispatch_check(),
        *a_queue("gold", spec=checked("dispatch")),
    )


async def active(hub: Running, kind: str, name: str) -> tuple[str, str]:
    """Status and reason of an object's condition Active."""
    row = await hub.hub.read(objects.find, GROUP, kind, "", name)
    assert row is not None
    (condition,) = [c for c in row.status["conditions"] if c["type"] == "Active"]
    return condition["status"], condition["reason"]


async def test_a_queue_with_multikueue_goes_to_its_workers_only(tmp_path: Path) -> None:
    """The roomiest member is none of the config's: the job goes to a worker, and waits for no check."""
    async with running(tmp_path) as hub:
        await hub.cluster("large", a_pool(cpu="64", memory="64Gi"))
        await hub.cluster("worker1", a_pool(cpu="4", memory="8Gi"))
        await a_setup(hub, "worker1")
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "worker1")
        assert job.checks["dispatch"]["state"] == "Ready"
        chosen = {c["cluster"]: c["message"] for c in job.scores["clusters"]}
        assert chosen["large"] == "the queue's MultiKueueConfig does not name it"


async def test_workers_and_check_say_whether_they_are_active(tmp_path: Path) -> None:
    """All workers there: Active. Some: SomeActiveClusters. None: NoUsableClusters. No config: BadConfig."""
    async with running(tmp_path) as hub:
        await hub.cluster("worker1", a_pool(cpu="4", memory="8Gi"))
        await hub.cluster("worker2", a_pool(cpu="4", memory="8Gi"))
        await a_setup(hub, "worker1", "worker2")
        assert await active(hub, "AdmissionCheck", "dispatch") == ("True", "Active")
        assert await active(hub, "ClusterQueue", "gold") == ("True", "Ready")
        await hub.apply(a_config("worker1", "worker9"))
        assert await active(hub, "AdmissionCheck", "dispatch") == ("True", "SomeActiveClusters")
        hub.clock.advance(60)
        term = hub.scheduler._term()
        await hub.hub.write(multikueue.refresh_led, 45.0, term)
        assert await active(hub, "MultiKueueCluster", "worker1") == (
            "False",
            "ClientConnectionFailed",
        )
        assert await active(hub, "AdmissionCheck", "dispatch") == ("False", "NoUsableClusters")
        assert await active(hub, "ClusterQueue", "gold") == ("False", "AdmissionCheckInactive")
        await hub.apply(a_dispatch_check(config="nobody"))
        assert await active(hub, "AdmissionCheck", "dispatch") == ("False", "BadConfig")


async def test_another_config_changes_where_waiting_jobs_may_go(tmp_path: Path) -> None:
    """A worker that is added to the config takes what waited for the full one."""
    async with running(tmp_path) as hub:
        await hub.cluster("worker1", a_pool(cpu="1", memory="8Gi"))
        await hub.cluster("worker2", a_pool(cpu="1", memory="8Gi"))
        await a_setup(hub, "worker1")
        uids = await hub.apply(*(a_job(f"job-{n}", queue="gold") for n in range(2)))
        await hub.settle()
        assert sorted(job.state for job in await hub.jobs(uids)) == ["Pending", "Placed"]
        await hub.apply(a_worker("worker2"), a_config("worker1", "worker2"))
        await hub.settle()
        assert {job.cluster for job in await hub.jobs(uids)} == {"worker1", "worker2"}


async def test_queues_that_combine_multikueue_wrongly_are_inactive(tmp_path: Path) -> None:
    """Two MultiKueue checks, one per flavor, one beside ProvisioningRequest: each has its reason."""
    async with running(tmp_path) as hub:
        await hub.cluster("worker1", a_pool(cpu="4", memory="8Gi"))
        await a_setup(hub, "worker1")
        provisioning = a_check("nodes", "kueue.x-k8s.io/provisioning-request")
        await hub.apply(a_dispatch_check("again"), provisioning)
        row = await hub.hub.read(objects.find, GROUP, "AdmissionCheck", "", "nodes")
        assert row is not None
        said = {"conditions": [{"type": "Active", "status": "True", "reason": "Said"}]}
        await hub.hub.db.write(lambda unit: objects.set_statuses(unit, {row.uid: said}))
        for spec, reason in (
            (checked("dispatch", "again"), "MultipleMultiKueueAdmissionChecks"),
            (checked(("dispatch", ["gold-flavor"])), "MultiKueueAdmissionCheckAppliedPerFlavor"),
            (checked("dispatch", "nodes"), "MultiKueueWithProvisioningRequest"),
            (checked("nobody"), "AdmissionCheckNotFound"),
        ):
            await hub.apply(a_queue("gold", spec=spec)[1])
            assert await active(hub, "ClusterQueue", "gold") == ("False", reason)
            (uid,) = await hub.apply(a_job(f"job-{reason.lower()}", queue="gold"))
            await hub.settle()
            job = await hub.job(uid)
            assert (job.state, job.reason) == ("Pending", "Misconfigured")
            assert reason in job.message


async def test_m1_fifteen_workers_are_one_decision(tmp_path: Path) -> None:
    """Where Kueue nominates three of 15 workers per round, one decision takes the best of all 15."""
    names = [chr(c) for c in range(ord("O"), ord("@"), -1)]
    async with running(tmp_path) as hub:
        for n, name in enumerate(names):
            await hub.cluster(name.lower(), a_pool(cpu=str(n + 1), memory="64Gi"))
        await a_setup(hub, *(name.lower() for name in names))
        (uid,) = await hub.apply(a_job("one", queue="gold", requests={"cpu": "15"}))
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Placed", "a")


async def test_m2_no_worker_left_is_said_and_tried_again(tmp_path: Path) -> None:
    """No worker can take it: it waits, names the nearest, and goes as soon as one can."""
    async with running(tmp_path) as hub:
        await hub.cluster("worker1", a_pool(cpu="1", memory="8Gi"))
        await a_setup(hub, "worker1")
        (uid,) = await hub.apply(a_job("one", queue="gold", requests={"cpu": "2"}))
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Pending", "NoClusterFits")
        assert "worker1" in job.message
        await hub.cluster("worker1", a_pool(cpu="2", memory="8Gi"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_m3_an_unreachable_worker_keeps_what_it_may_run(tmp_path: Path) -> None:
    """Nothing is started twice: what was offered stays charged, what was not goes elsewhere."""
    async with running(tmp_path) as hub:
        await hub.cluster("worker1", a_pool(cpu="4", memory="8Gi"))
        await a_setup(hub, "worker1", "worker2")
        told, untold = await hub.apply(*(a_job(f"job-{n}", queue="gold") for n in range(2)))
        await hub.settle()
        await hub.transition("offer", told)
        await hub.transition("lose", told)
        await hub.cluster("worker2", a_pool(cpu="4", memory="8Gi"))
        await hub.hub.db.write(lambda unit: clusters.change(unit, "worker1", cordoned=True))
        await hub.transition("unplace", untold)
        await hub.settle()
        lost, moved = await hub.job(told), await hub.job(untold)
        assert (lost.state, lost.cluster) == ("Unknown", "worker1")
        assert (moved.state, moved.cluster) == ("Placed", "worker2")


async def test_m5_what_a_worker_gives_back_goes_elsewhere(tmp_path: Path) -> None:
    """Evicted by its worker, a job is placed again, as a new epoch, over all workers."""
    async with running(tmp_path) as hub:
        await hub.cluster("worker1", a_pool(cpu="8", memory="8Gi"))
        await a_setup(hub, "worker1", "worker2")
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        await hub.cluster("worker2", a_pool(cpu="4", memory="8Gi"))
        until = hub.clock.now().replace(year=2030).isoformat()
        await hub.transition("offer", uid)
        await hub.transition("withdraw", uid, withdraw_to="Pending")
        await hub.transition("requeue", uid, set_aside={"worker1": until})
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster, job.epoch) == ("Placed", "worker2", 2)
