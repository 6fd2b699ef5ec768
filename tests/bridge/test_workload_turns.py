"""Turns over Workload objects: what is heard a second time, what a failed turn left, what is not made."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.kinds import JOB, NAMESPACE, WORKLOAD
from hub.bridge.workload_objects import AGAIN_S, TOGETHER, WorkloadObjects
from hub.domain.workloads.states import Transition
from hub.services.kueue_view.workload import workload_name
from hub.store import workloads
from hub.store.errors import StoreUnavailable
from hub.store.records.workloads import Workload, WorkloadMove
from shared.clock import ManualClock
from shared.conditions import find
from shared.groups import KUEUE
from tests.bridge.hub_cluster import FIELDS, until
from tests.bridge.parts import CONFIG_MAP, KINDS, Parts, a_config_map, a_job, on_simulated
from tests.services.members.hubs import away, back

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
SHOWN = [*KINDS, WORKLOAD]
VERSION = f"{KUEUE}/v1beta1"


class Shown:
    """A Job of the hub cluster, and the Workload that shows it."""

    def __init__(self, it: Parts, job: dict[str, Any], row: Workload) -> None:
        self.it, self.job, self.uid = it, job, row.uid
        self.name = workload_name(row)
        self.objects = WorkloadObjects(it.hub.hub, it.kube, it.sources, lambda: it.term)

    async def turn(self) -> None:
        """The bridge looks at it, and its cache shows what it has written."""
        self.objects.note([self.uid])
        await self.objects.turn()
        await self.it.shows(await self.live())

    async def live(self) -> dict[str, Any]:
        made = await self.it.kube.get(VERSION, "Workload", "lab", self.name)
        return {**made, "apiVersion": VERSION, "kind": "Workload"}

    async def answers(self, state: str, **more: Any) -> None:
        """A controller writes the state of check `budget`."""
        (each,) = (await self.live())["status"]["admissionChecks"]
        told = {"admissionChecks": [{**each, "state": state, **more}]}
        await self.it.patch(await self.live(), {"status": told}, "status")

    async def row(self) -> Workload:
        return await self.it.hub.job(self.uid)

    async def check(self) -> tuple[str, str]:
        said = (await self.row()).checks["budget"]
        return said["state"], said["message"]

    async def open(self) -> None:
        """The check is open once more, as after an eviction."""
        pending = {"state": "Pending", "message": "", "at": "2026-05-01T00:00:00+00:00"}
        change: Any = {"uid": self.uid, "checks": {"budget": pending}}
        await self.it.hub.write(lambda tx: workloads.change(tx, [change]))


async def reserved(it: Parts) -> Shown:
    """A Job with quota reserved, whose check `budget` is open."""
    job = await it.create(a_job())
    await it.take()
    await it.level(job)
    row = await it.job(job)
    assert row is not None
    await it.hub.write(reserve, row)
    shown = Shown(it, job, row)
    await shown.turn()
    return shown


def reserve(tx: Any, row: Workload) -> None:
    pod_sets = [{"name": "main", "count": 1, "flavors": {}, "usage": {}}]
    move = WorkloadMove(uid=row.uid, epoch=row.epoch, cluster_queue="q", cluster="north")
    pending = {"state": "Pending", "message": "", "at": "2026-05-01T00:00:00+00:00"}
    move |= {"admission": {"podSets": pod_sets}, "checks": {"budget": pending}}
    workloads.transition(tx, Transition.RESERVE, [move])


async def test_an_answer_that_is_given_again_later_is_heard_again(tmp_path: Path):
    """After an eviction the check is open anew; its controller may say the very same."""
    async with on_simulated(tmp_path, SHOWN) as (it, _):
        shown = await reserved(it)
        told = []
        for _ in range(2):
            await shown.answers("Ready", message="paid")
            await shown.turn()
            told.append(await shown.check())
            await shown.turn()
            await shown.open()
            await shown.turn()
            assert (await shown.live())["status"]["admissionChecks"][0]["state"] == "Pending"
        assert told == [("Ready", "paid")] * 2


async def test_an_answer_that_the_store_could_not_take_is_heard_later(tmp_path: Path):
    """It is not set back either: the controller says it once."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, SHOWN, clock) as (it, _):
        shown = await reserved(it)
        await shown.answers("Ready", message="paid")
        await it.hub.write(away("events"))
        await shown.turn()
        await it.hub.write(back("events"))
        assert (await shown.check())[0] == "Pending"
        for _ in range(2):
            clock.advance(5)
            await shown.objects.turn()
        assert await shown.check() == ("Ready", "paid")


async def test_an_answer_to_a_hub_that_does_not_lead_is_left_for_who_does(tmp_path: Path):
    """What the former leader could not take is neither heard by it nor set back."""
    async with on_simulated(tmp_path, SHOWN) as (it, _):
        shown = await reserved(it)
        term = it.term
        await shown.answers("Ready", message="paid")
        it.term = term - 1
        for _ in range(2):
            await shown.turn()
        assert (await shown.live())["status"]["admissionChecks"][0]["state"] == "Ready"
        it.term = term
        await shown.turn()
        assert await shown.check() == ("Ready", "paid")


async def test_what_a_failed_turn_should_have_shown_the_next_one_shows(tmp_path: Path):
    """A store that does not answer for a moment forgets no Workload."""
    async with on_simulated(tmp_path, SHOWN) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        shown = Shown(it, job, await it.job(job))
        shown.objects.note([shown.uid])
        await it.hub.write(away("workloads"))
        with pytest.raises(StoreUnavailable):
            await shown.objects.turn()
        await it.hub.write(back("workloads"))
        await shown.objects.turn()
        assert await shown.live()


async def test_what_is_more_than_one_turns_comes_with_the_next_at_once(tmp_path: Path):
    """A turn asks for the next while there is something left."""
    async with on_simulated(tmp_path, SHOWN) as (it, _):
        others = []
        for number in range(TOGETHER):
            made = await it.kube.create(a_config_map(f"c{number}"), field_manager=FIELDS)
            others.append(made["metadata"]["uid"])
        job = await it.create(a_job())
        await it.take()
        await it.level(job)

        async def all_there() -> bool:
            return len(it.sources.places(others)) == TOGETHER

        await until(all_there)
        shown = Shown(it, job, await it.job(job))
        shown.objects.note([*others, shown.uid])
        assert await shown.objects.turn() == AGAIN_S
        assert not (await it.kube.list(VERSION, "Workload")).items
        assert await shown.objects.turn() is None
        assert await shown.live()


async def test_a_job_that_is_being_deleted_or_has_ended_gets_no_workload(tmp_path: Path):
    """It would outlive what it shows."""
    async with on_simulated(tmp_path, SHOWN) as (it, _):
        jobs = [await it.create(a_job(name)) for name in ("leaving", "ended", "lives")]
        await it.take()
        for job in jobs:
            await it.level(job)
        await it.kube.delete("batch/v1", "Job", "lab", "leaving")
        at = "2026-05-01T00:00:00Z"
        ended = [
            {"type": kind, "status": "True", "reason": "Done", "lastTransitionTime": at}
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
        status = {"startTime": at, "completionTime": at, "succeeded": 1, "conditions": ended}
        await it.patch(jobs[1], {"status": status}, "status")
        for job in jobs:
            await it.level(job)
        objects = WorkloadObjects(it.hub.hub, it.kube, it.sources, lambda: it.term)
        objects.note([job["metadata"]["uid"] for job in jobs])
        await objects.turn()
        (made,) = (await it.kube.list(VERSION, "Workload")).items
        assert made["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == jobs[2]["metadata"]["uid"]


async def test_conditions_are_of_the_generation_that_they_were_written_for(tmp_path: Path):
    """What the bridge changes in the spec is no command of somebody's: its word is of that version."""
    async with on_simulated(tmp_path, SHOWN) as (it, _):
        shown = await reserved(it)
        row = await shown.row()
        change: Any = {"uid": row.uid, "priority": 7}
        await it.hub.write(lambda tx: workloads.change(tx, [change]))
        await shown.turn()
        live = await shown.live()
        assert (live["spec"]["priority"], live["metadata"]["generation"]) == (7, 2)
        assert {c["observedGeneration"] for c in live["status"]["conditions"]} == {2}


async def test_the_spec_of_a_workload_by_hand_is_its_users(tmp_path: Path):
    """The status alone is written; `spec.active` there is taken in with the object, not as a command."""
    async with on_simulated(tmp_path, [NAMESPACE, JOB, CONFIG_MAP, WORKLOAD]) as (it, _):
        template = {"spec": a_job()["spec"]["template"]["spec"]}
        pod_set = {"name": "main", "count": 1, "template": template}
        bare = await it.create(
            {
                "apiVersion": VERSION,
                "kind": "Workload",
                "metadata": {"name": "by-hand", "namespace": "lab"},
                "spec": {"queueName": "main", "podSets": [pod_set]},
            }
        )
        await it.lost(
            {
                "apiVersion": f"{KUEUE}/v1beta2",
                "kind": "LocalQueue",
                "metadata": {"name": "main", "namespace": "lab"},
                "spec": {"clusterQueue": "main"},
            }
        )
        await it.take()
        row = await it.job(bare)
        assert row is not None
        change: Any = {"uid": row.uid, "priority": 7}
        await it.hub.write(lambda tx: workloads.change(tx, [change]))
        objects = WorkloadObjects(it.hub.hub, it.kube, it.sources, lambda: it.term)
        objects.note([row.uid])
        await objects.turn()
        live = await it.live(bare)
        assert live["spec"] == bare["spec"]
        assert find(live["status"]["conditions"], "QuotaReserved")["status"] == "False"
