"""What the bridge writes on the hub cluster: of whom, how often, and what comes later. Invariant R-07."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.check_conditions import CheckConditions
from hub.bridge.events import TOGETHER, EventRecorder
from hub.bridge.job_status import job_status
from hub.bridge.kinds import WORKLOAD, Mirrored
from hub.bridge.workload_objects import WorkloadObjects
from hub.bridge.workload_words import answered
from hub.bridge.writeback import MEMBERS_S
from hub.domain.workloads.states import State, Transition
from hub.services.kueue_view.workload import workload_name
from hub.store import clusters, workloads
from hub.store.records.workloads import Workload, WorkloadMove
from shared import labels
from shared.clock import ManualClock, SystemClock
from shared.groups import CLUSTER, KUEUE
from tests.bridge.defined import with_hub_kinds
from tests.bridge.guide import apply_guide, suspended, workload
from tests.bridge.hub_cluster import FIELDS, until, world
from tests.bridge.parts import CHECK, KINDS, Parts, a_check, a_job, on_simulated
from tests.services.members.hubs import running_hub
from tests.store.build import a_workload as a_stored_workload

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
MARKED = {"managedBy": labels.JOB_CONTROLLER}
MEMBER = Mirrored(CLUSTER, "MemberCluster", ("v1beta1",), finalized=True, order=1)
NORTH = {
    "apiVersion": f"{CLUSTER}/v1beta1",
    "kind": "MemberCluster",
    "metadata": {"name": "north"},
    "spec": {"identity": {"kind": "ServiceAccount", "name": "agent"}},
}


async def test_a_status_is_written_to_the_object_it_is_of_and_to_no_namesake(tmp_path: Path):
    """A Job deleted and made anew since the cache was read is another one."""
    async with on_simulated(tmp_path) as (it, _):
        old = await it.create(a_job())
        await it.take()
        await it.level(old)
        await it.sources.close()  # the cache stands still
        await it.kube.merge_patch(
            *("batch/v1", "Job", "lab", "one", {"metadata": {"finalizers": []}}),
            field_manager=FIELDS,
        )
        await it.kube.delete("batch/v1", "Job", "lab", "one")
        new = await it.kube.create(a_job(), field_manager=FIELDS)
        it.writeback.note(old["metadata"]["uid"])
        await it.writeback.turn()
        assert not (await it.live(new)).get("status", {}).get("conditions")


async def test_a_status_that_the_api_server_refuses_is_not_sent_again(tmp_path: Path):
    """Until something changes it would be refused again, each turn."""
    async with on_simulated(tmp_path) as (it, cluster):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        uid = job["metadata"]["uid"]
        await it.hub.write(lambda tx: workloads.change(tx, [{"uid": uid, "active": -1}]))
        patches = cluster.faults.add("delay", verb="patch", resource="jobs", seconds=0, count=0)
        it.writeback.note(uid)
        for _ in range(3):
            await it.writeback.turn()
        assert patches.hits == 1


async def test_the_heartbeat_of_a_member_is_renewed(tmp_path: Path):
    """Where nothing else changes, its times are written every half minute."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, [*KINDS, MEMBER], clock) as (it, _):
        await it.hub.join("north")
        made = await it.create(NORTH)
        heard = []
        for _ in range(3):
            await it.hub.write(clusters.beat, {"north": clock.now()})
            await it.writeback.turn()
            await it.level(made)
            (told,) = (await it.live(made))["status"]["agentStatus"]
            heard.append(told["lastReceivedHeartbeat"])
            clock.advance(MEMBERS_S)
        assert len(set(heard)) == 3


async def test_how_an_agent_is_waits_for_no_renewal(tmp_path: Path):
    """What a turn finds new of an agent is written then, though times are not due yet."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, [*KINDS, MEMBER], clock) as (it, _):
        await it.hub.join("north")
        made = await it.create(NORTH)
        said = []
        for seconds in (45, 1):  # as long as the hub does not suspect it, and a second more
            clock.advance(seconds)
            it.writeback.follow("clusters", ["north"])
            await it.writeback.turn()
            await it.level(made)
            (told,) = (await it.live(made))["status"]["agentStatus"]
            said.append({each["type"]: each["reason"] for each in told["conditions"]}["Healthy"])
        assert said == ["AgentHealthy", "AgentSilent"]


async def test_events_beyond_those_of_one_turn_come_with_the_next(tmp_path: Path):
    """A burst is spread over turns; nothing of it is lost."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        tellings = EventRecorder(it.hub.hub, it.kube, it.sources)
        source, obj = it.sources.get(it.sources.place_of(job["metadata"]["uid"]))
        for number in range(TOGETHER + 5):
            tellings.warn(source, obj, f"Reason{number}", "something is wrong")
        await tellings.turn()
        await tellings.turn()
        told = {each["reason"] for each in (await it.kube.list("v1", "Event")).items}
        assert told >= {f"Reason{number}" for number in range(TOGETHER + 5)}


async def test_what_was_told_before_a_restart_is_not_told_again(tmp_path: Path):
    """A new bridge begins with what happens from now on."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await happens(it, job, "Before")
        tellings = EventRecorder(it.hub.hub, it.kube, it.sources)
        await tellings.turn()
        await happens(it, job, "After")
        await tellings.turn()
        told = [each["reason"] for each in (await it.kube.list("v1", "Event")).items]
        assert told == ["After"]


async def test_a_workload_of_somebody_else_is_left_as_it_is(tmp_path: Path):
    """It has the name that the Job's own would have; nothing is written into it."""
    async with on_simulated(tmp_path, [*KINDS, WORKLOAD]) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        name = workload_name(await it.job(job))
        theirs = await it.create(a_workload(name, queueName="theirs"))
        objects = WorkloadObjects(it.hub.hub, it.kube, it.sources, lambda: it.term)
        objects.note([job["metadata"]["uid"]])
        await objects.turn()
        live = await it.live(theirs)
        assert live["metadata"]["resourceVersion"] == theirs["metadata"]["resourceVersion"]


async def test_a_workload_that_could_not_be_written_is_written_later(tmp_path: Path):
    """An API server that is away for a moment delays it by seconds."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, [*KINDS, WORKLOAD], clock) as (it, cluster):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        cluster.faults.add("409", verb="create", resource="workloads")
        objects = WorkloadObjects(it.hub.hub, it.kube, it.sources, lambda: it.term)
        objects.note([job["metadata"]["uid"]])
        await objects.turn()
        assert not (await it.kube.list(f"{KUEUE}/v1beta2", "Workload")).items
        clock.advance(5)
        await objects.turn()
        assert (await it.kube.list(f"{KUEUE}/v1beta2", "Workload")).items


async def test_an_answer_that_the_cache_does_not_show_yet_is_not_overwritten(tmp_path: Path):
    """Where controllers write too, a status is written for the version that was looked at, or later."""
    async with on_simulated(tmp_path, [*KINDS, WORKLOAD]) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        row = await it.job(job)
        await it.hub.write(reserve, row)
        objects = WorkloadObjects(it.hub.hub, it.kube, it.sources, lambda: it.term)
        objects.note([row.uid])
        await objects.turn()
        at = (f"{KUEUE}/v1beta2", "Workload", "lab", workload_name(row))
        made = await it.kube.get(*at)
        await it.shows(made)
        await it.sources.close()  # the cache stands still
        answer = {**made["status"]["admissionChecks"][0], "state": "Ready"}
        told = {"status": {"admissionChecks": [answer]}}
        await it.kube.merge_patch(*at, told, field_manager="budget", subresource="status")
        await it.hub.write(reserve, row, "a word of the hub's")
        objects.note([row.uid])
        await objects.turn()
        live = await it.kube.get(*at)
        assert [each["state"] for each in live["status"]["admissionChecks"]] == ["Ready"]


async def test_a_restart_finds_what_was_not_written(tmp_path: Path):
    """What changed while no bridge ran is on the hub cluster when one runs again."""
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            row = await until(lambda: workload(it, "mock-workload"))
            await until(lambda: suspended(it))
        async with running_hub(tmp_path, SystemClock()) as hub:
            await hub.write(hold, row)
        async with world(tmp_path, cluster) as it:

            async def held() -> bool:
                (said, *_) = (await suspended(it))["status"]["conditions"]
                return said["reason"] == "HeldByUser"

            await until(held)
    finally:
        await cluster.stop()


async def test_the_word_of_a_check_is_heard_once_the_check_is_taken(tmp_path: Path):
    """Its controller may speak before the hub has the object, or while it refuses it."""
    async with on_simulated(tmp_path, [*KINDS, CHECK]) as (it, _):
        made = await it.create(a_check())
        active = {"type": "Active", "status": "True", "reason": "Here", "message": ""}
        active["lastTransitionTime"] = "2026-05-01T00:00:00Z"
        await it.patch(made, {"status": {"conditions": [active]}}, "status")
        checks = CheckConditions(it.hub.hub, it.sources)
        await checks.turn(it.term)
        await it.take()
        await checks.turn(it.term)
        row = await it.object(made)
        assert [each["reason"] for each in row.status["conditions"]] == ["Here"]


@pytest.mark.parametrize("count", ["succeeded", "failed"])
def test_counters_of_a_job_never_fall(count: str):
    """The API server takes no smaller number; a member that counts anew is no reason to stop writing."""
    status = job_status(MARKED, {count: 3}, a_row(**{count: 1}), None, NOW)
    assert status[count] == 3


def test_the_start_time_of_a_job_never_moves():
    """Once written it stays, whatever run the job is in."""
    live = {"startTime": "2026-05-01T09:00:00Z"}
    status = job_status(MARKED, live, a_row(started_at=NOW), None, NOW)
    assert status["startTime"] == live["startTime"]


@pytest.mark.parametrize(("state", "counts"), [(State.RUNNING, (1, 1)), (State.SUCCEEDED, (0, 0))])
def test_no_more_pods_of_a_job_are_ready_than_active(state: State, counts: tuple[int, int]):
    """The API server takes no other status, whatever a member counted at different moments."""
    row = a_row(finished_at=NOW)._replace(state=state, active=1, ready=2)
    status = job_status(MARKED, None, row, None, NOW)
    assert (status["active"], status["ready"]) == counts


def test_an_answer_from_before_this_state_is_no_answer():
    """After a restart nothing is known of what was written: the later of the two counts."""
    checks = {"budget": {"state": "Retry", "at": "2026-05-01T10:00:00+00:00"}}
    row = a_row(checks=checks)
    said = {"name": "budget", "state": "Ready"}
    before = {"status": {"admissionChecks": [{**said, "lastTransitionTime": "2026-05-01T09"}]}}
    after = {"status": {"admissionChecks": [{**said, "lastTransitionTime": "2026-05-01T11"}]}}
    assert answered(before, row, {}) == []
    assert answered(after, row, {}) == [said]


def reserve(tx: Any, row: Workload, message: str = "") -> None:
    """Its quota is reserved, and its queue asks an outsider's check."""
    pending = {"state": "Pending", "message": message, "at": "2026-05-01T00:00:00+00:00"}
    checks = {"budget": pending}
    if message:
        workloads.change(tx, [{"uid": row.uid, "checks": checks}])
        return
    pod_sets = [{"name": "main", "count": 1, "flavors": {}, "usage": {}}]
    move = WorkloadMove(uid=row.uid, epoch=row.epoch, cluster_queue="q", cluster="north")
    move |= {"admission": {"podSets": pod_sets}, "checks": checks}
    workloads.transition(tx, Transition.RESERVE, [move])


def hold(tx: Any, row: Workload) -> None:
    moved = WorkloadMove(uid=row.uid, epoch=row.epoch, reason="HeldByUser")
    workloads.transition(tx, Transition.HOLD, [moved])


async def happens(it: Parts, job: dict[str, Any], reason: str) -> None:
    """The hub says something of a Job."""
    metadata = job["metadata"]
    await it.hub.write(
        lambda tx: tx.event(
            uid=metadata["uid"],
            kind="Job",
            namespace="lab",
            name=metadata["name"],
            reason=reason,
            message="it happened",
        )
    )


def a_workload(name: str, **spec: Any) -> dict[str, Any]:
    """A Workload of namespace `lab` that belongs to nobody."""
    template = {"spec": a_job()["spec"]["template"]["spec"]}
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "lab"},
        "spec": {"podSets": [{"name": "main", "count": 1, "template": template}], **spec},
    }


def a_row(**columns: Any) -> Workload:
    """A workload: it runs on member north."""
    row = a_stored_workload("w", state=State.RUNNING, cluster="north", active=1, ready=1)
    return row._replace(placed_at=NOW, created_at=NOW, **columns)
