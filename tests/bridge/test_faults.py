"""What the bridge leaves undone when the API server or the store fails it, and what it never touches."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.check_conditions import CHECK, CheckConditions
from hub.bridge.kinds import Mirrored
from hub.store import objects
from hub.store.errors import StaleTerm, StoreUnavailable
from shared import labels
from shared.groups import KUEUE
from shared.kube import errors
from tests.bridge.hub_cluster import until
from tests.bridge.parts import CONFIG_MAP, a_config_map, a_job, on_simulated, parts
from tests.kube.stub import running
from tests.services.members.hubs import away, back

pytestmark = pytest.mark.anyio


async def test_other_controllers_finalizers_stay(tmp_path: Path):
    """Our finalizer goes when nothing of the Job is left; what others wait for is theirs to take off."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job(finalizers=["example.com/keep"]))
        await it.take()
        await it.level(job)
        await it.kube.delete("batch/v1", "Job", "lab", "one")
        await it.level(job)
        await it.take()
        left = await it.live(job)
        assert left["metadata"]["finalizers"] == ["example.com/keep"]


async def test_a_kind_that_is_not_served_for_a_moment_is_no_deletion(tmp_path: Path):
    """An API that is away takes nothing with it: the hub keeps what it had of it."""
    async with (
        running(tmp_path) as (stub, kubeconfig),
        parts(tmp_path, kubeconfig, [CONFIG_MAP]) as it,
    ):
        it.select("ConfigMap", "team", "a")
        made = stub.put("a")
        made["metadata"]["creationTimestamp"] = "2026-05-01T00:00:00Z"
        await it.shows(made)
        await it.take()
        assert await it.object(made)
        stub.served = False
        with contextlib.suppress(errors.KindNotServed):
            await it.kube.endpoint("v1", "Secret")  # discovery is read again
        stub.cut()
        await until(lambda: absent(it))
        await it.take()
        assert await it.object(made)


async def test_what_a_failed_turn_did_not_take_is_taken_by_the_next(tmp_path: Path):
    """A turn that the store refuses forgets nothing of what it had before it."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job(labels={"team": "red"}))
        await it.take()
        await it.level(job)
        await it.take()
        await it.patch(job, {"metadata": {"labels": {"team": "blue"}}})
        with pytest.raises(StaleTerm):
            await it.take(term=it.term - 1)
        await it.take()
        row = await it.job(job)
        assert row is not None
        assert row.labels["team"] == "blue"


async def test_a_status_that_was_not_written_is_written_in_the_next_turn(tmp_path: Path):
    """A conflict delays a status; nobody has to change anything for it to come."""
    async with on_simulated(tmp_path) as (it, cluster):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        cluster.faults.add("409", verb="patch", resource="jobs")
        it.writeback.note(job["metadata"]["uid"])
        await it.writeback.turn()
        assert not (await it.live(job)).get("status", {}).get("conditions")
        await it.writeback.turn()
        assert (await it.live(job))["status"]["conditions"][0]["type"] == "Suspended"


async def test_a_status_that_is_as_it_should_be_is_not_written(tmp_path: Path):
    """One write for one difference: looking again costs the API server nothing."""
    async with on_simulated(tmp_path) as (it, cluster):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        patches = cluster.faults.add("delay", verb="patch", resource="jobs", seconds=0, count=0)
        for _ in range(3):
            it.writeback.note(job["metadata"]["uid"])
            await it.writeback.turn()
            await it.level(job)
        assert patches.hits == 1


async def test_changed_labels_of_a_job_reach_the_hub(tmp_path: Path):
    """They raise no generation; placements select by them."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job(labels={"team": "red"}))
        await it.take()
        await it.level(job)
        await it.take()
        await it.patch(job, {"metadata": {"labels": {"team": "blue"}}})
        await it.take()
        row = await it.job(job)
        assert row is not None
        assert row.labels["team"] == "blue"


async def test_nothing_is_taken_that_does_not_carry_our_finalizer(tmp_path: Path):
    """Without it a deletion would not wait for what the hub had caused."""
    async with on_simulated(tmp_path) as (it, cluster):
        cluster.faults.add("409", verb="patch", resource="jobs")
        job = await it.create(a_job())
        await it.take()
        assert await it.job(job) is None
        await it.take()
        assert await it.job(job)
        assert labels.FINALIZER in (await it.live(job))["metadata"]["finalizers"]


async def absent(it) -> bool:
    return bool(it.sources.absent)


async def test_a_deletion_that_a_failed_turn_was_told_of_is_carried_out_by_the_next(
    tmp_path: Path,
):
    """The watch tells of a deletion once: a turn that the store refuses keeps it for the next."""
    async with on_simulated(tmp_path) as (it, _):
        it.select("ConfigMap", "lab", "one")
        made = await it.create(a_config_map())
        await it.take()
        assert await it.object(made)
        await it.kube.delete("v1", "ConfigMap", "lab", "one")
        await until(lambda: absent(it))
        with pytest.raises(StaleTerm):
            await it.deletions.turn(it.term - 1)
        await it.deletions.turn(it.term)
        assert await it.object(made) is None


async def test_a_status_that_could_not_be_read_is_written_in_the_next_turn(tmp_path: Path):
    """A store that does not answer for a moment delays statuses; none is forgotten."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        it.writeback.note(job["metadata"]["uid"])
        await it.hub.write(away("workloads"))
        with pytest.raises(StoreUnavailable):
            await it.writeback.turn()
        await it.hub.write(back("workloads"))
        await it.writeback.turn()
        assert (await it.live(job))["status"]["conditions"][0]["type"] == "Suspended"


async def test_a_job_whose_status_can_not_be_worked_out_stops_no_others(tmp_path: Path):
    """What is odd about one object is its own: the statuses of those beside it are written."""
    async with on_simulated(tmp_path) as (it, _):
        jobs = [await it.create(a_job(name)) for name in ("one", "two", "three")]
        await it.take()
        for job in jobs:
            await it.level(job)
            it.writeback.note(job["metadata"]["uid"])
        found = it.sources.get(("batch", "Job", "lab", "two"))
        assert found is not None
        found[1]["status"] = {"conditions": ["odd"], "succeeded": "many"}
        await it.writeback.turn()
        for job in (jobs[0], jobs[2]):
            assert (await it.live(job))["status"]["conditions"][0]["type"] == "Suspended"


async def test_a_check_that_can_not_be_read_stops_no_others(tmp_path: Path):
    """What is odd in one AdmissionCheck's status is its own: the conditions of the others are taken."""
    kind = Mirrored(KUEUE, CHECK, ("v1beta1",))
    async with on_simulated(tmp_path, [kind]) as (it, _):
        active = {"type": "Active", "status": "True", "reason": "Up", "message": "serves"}
        made = [await it.create(a_check(name)) for name in ("one", "two")]
        await it.take()
        for check, conditions in zip(made, (["odd"], [active]), strict=True):
            found = it.sources.get((KUEUE, CHECK, "", check["metadata"]["name"]))
            assert found is not None
            found[1]["status"] = {"conditions": conditions}
        await CheckConditions(it.hub.hub, it.sources).turn(it.term)
        row = await it.hub.hub.read(objects.get, made[1]["metadata"]["uid"])
        assert row is not None
        assert row.status is not None
        assert row.status["conditions"][0]["reason"] == "Up"


def a_check(name: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{KUEUE}/v1beta1",
        "kind": CHECK,
        "metadata": {"name": name},
        "spec": {"controllerName": "example.com/budget"},
    }
