"""What executors and controllers of checks say, as it stands on the row afterwards, whole."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.states import State
from hub.services.kueue_view.workload import workload_name
from hub.services.objects.fence import fence_cluster
from hub.services.outside import check_active, check_states
from hub.services.outside.executor_status import read_status
from hub.services.outside.executors import ExecutorReport, take_report, take_reports
from hub.services.works.restored import MESSAGE, hold_everything
from hub.store import audit, clusters, events, objects, workloads, works
from hub.store.engine import Database
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP
from tests.services.hubs import a_job, a_pool, running
from tests.services.outside.controller import a_check, a_checked_queue, answer
from tests.store.build import START, a_member, a_wanted_work, a_workload, call, opened

pytestmark = pytest.mark.anyio


def a_bare(uid: str = "one", **columns: Any) -> Workload:
    """A bare Workload of three pods that was admitted."""
    given = {"kind": "Workload", "state": State.PLACED, "epoch": 1, "parallelism": 3, **columns}
    return a_workload(uid, **given)


def report(status: dict[str, Any], name: str = "one", **given: Any) -> ExecutorReport:
    return ExecutorReport("team-a", name, read_status(status), "runner", **given)


def condition(type_: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    said = {"type": type_, "status": status, "reason": reason, "message": message}
    return {"conditions": [said]}


async def row(db: Database, uid: str = "one") -> Workload:
    found = await db.read(call(workloads.get, uid))
    assert found is not None
    return found


async def test_readiness_comes_and_goes_and_began_once(tmp_path: Path):
    """Of all pods; before they were ever ready none are lost, and the first time stands."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        before = a_bare(ready=3)
        await db.write(call(workloads.add, [before]))

        async def says(status: str) -> Workload:
            clock.advance(1)
            await db.write(call(take_report, report(condition("PodsReady", status))))
            return await row(db)

        assert await says("False") == before._replace(ready=0)
        first = START + dt.timedelta(seconds=2)
        ready = before._replace(ready=3, pods_ready_at=first)
        assert await says("True") == ready
        assert await says("True") == ready
        lost = ready._replace(ready=0, pods_lost_at=START + dt.timedelta(seconds=4))
        assert await says("False") == lost
        assert await says("False") == lost
        assert await says("True") == ready


@pytest.mark.parametrize(
    ("reason", "state", "kept"),
    [
        ("Succeeded", State.SUCCEEDED, ""),
        ("AllDone", State.SUCCEEDED, "AllDone"),
        ("Failed", State.FAILED, "Failed"),
        ("OutOfSync", State.FAILED, "OutOfSync"),
        ("OwnerNotFound", State.FAILED, "OwnerNotFound"),
    ],
)
async def test_an_end_is_answered_as_it_is_written(
    tmp_path: Path, reason: str, state: State, kept: str
):
    """With its reason and message; a second end, of the same commit or later, changes nothing."""
    async with opened(tmp_path) as db:
        await db.write(call(workloads.add, [a_bare(ready=3)]))
        told = report(condition("Finished", "True", reason, "so it was"))
        other = report(condition("Finished", "True", "Failed", "no, it failed"))
        (answered, _) = await db.write(call(take_reports, [told, other]))
        assert not isinstance(answered, Exception)
        assert (answered.state, answered.reason) == (state, kept)
        after = await row(db)
        assert after == a_bare(state=state, reason=kept, message="so it was", finished_at=START)
        again = await db.write(call(take_report, other))
        assert (again.state, again.reason) == (state, kept)
        late = await db.write(call(take_report, report(condition("PodsReady", "True"))))
        assert late.state == state
        assert await row(db) == after


@pytest.mark.parametrize(
    "given", [{"uid": "another"}, {"epoch": 2}, {"uid": "another", "epoch": 1}]
)
async def test_a_report_of_another_run_is_refused(tmp_path: Path, given: dict[str, Any]):
    """By its uid as by its epoch; one that names both right counts."""
    async with opened(tmp_path) as db:
        await db.write(call(workloads.add, [a_bare()]))
        end = condition("Finished", "True", "Succeeded")
        with pytest.raises(Rejected):
            await db.write(call(take_report, report(end, **given)))
        assert await row(db) == a_bare()
        await db.write(call(take_report, report(end, uid="one", epoch=1)))
        assert (await row(db)).state == State.SUCCEEDED


@pytest.mark.parametrize(
    "status",
    [
        condition("Finished", "True", "Succeeded"),
        condition("PodsReady", "True"),
        condition("PodsReady", "False"),
        {"reclaimablePods": [{"name": "main", "count": 1}]},
    ],
)
async def test_of_a_job_no_executor_says_how_far_it_is(tmp_path: Path, status: dict[str, Any]):
    """Its own status does."""
    async with running(tmp_path) as hub:
        (uid,) = await hub.apply(a_job("one"))
        before = await hub.job(uid)
        name = workload_name(before)
        with pytest.raises(Rejected, match="status"):
            await hub.hub.db.write(call(take_report, report(status, name)))
        assert await hub.job(uid) == before


async def test_a_controller_keeps_its_conditions_of_other_types(tmp_path: Path) -> None:
    """Whole, with their words and times; who said it is written down once."""
    async with running(tmp_path) as hub:
        await hub.apply(a_check("budget"))
        asked = ("AdmissionCheck", "", "budget")

        async def say(*given: dict[str, Any]) -> list[Any]:
            hub.clock.advance(60)
            shown = await hub.hub.write(check_active.set_status, GROUP, *asked, list(given), "ada")
            found: list[Any] = shown["status"]["conditions"]
            return found

        other = {"type": "Quota", "status": "True", "reason": "R", "message": "enough"}
        active = {"type": "Active", "status": "True", "reason": "Up", "message": "x" * 2000}
        (first,) = await say(other)
        found = await say(active)
        assert found == [first, {**active, "lastTransitionTime": found[1]["lastTransitionTime"],
                                 "observedGeneration": 1}]  # fmt: skip
        assert first == {**other, "lastTransitionTime": first["lastTransitionTime"],
                         "observedGeneration": 1}  # fmt: skip
        assert first["lastTransitionTime"] < found[1]["lastTransitionTime"]
        assert await say(active) == found
        entries = await hub.hub.read(audit.list_entries)
        assert [(e.principal, e.verb, e.object) for e in entries] == [
            ("ada", "status", "AdmissionCheck budget")
        ] * 2
        row = await hub.hub.read(objects.find, GROUP, *asked)
        assert row is not None
        assert row.status["conditions"] == found


async def test_a_check_that_is_rejected_by_a_person_is_written_down_as_that(
    tmp_path: Path,
) -> None:
    """The job is deactivated for it; every check is asked anew, and says what it was."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
        await a_checked_queue(hub, "budget", "approval")
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        hub.clock.advance(5)
        await answer(hub, uid, "approval", "Ready", message="fine")
        hub.clock.advance(5)
        given = {"name": "budget", "state": "Rejected", "message": "too dear"}
        await hub.hub.write(check_states.set_state_by_person, uid, given, "ada")
        job = await hub.job(uid)
        at = hub.clock.now().isoformat()
        reset = "reset to Pending after the eviction; it was"
        assert job.checks == {
            "budget": {"state": "Pending", "message": f"{reset} Rejected: too dear", "at": at},
            "approval": {"state": "Pending", "message": f"{reset} Ready: fine", "at": at},
        }
        assert (job.state, job.evicted["message"]) == (
            "Deactivated",
            "admission checks rejected it: budget: too dear",
        )
        (entry,) = await hub.hub.read(audit.list_entries, {"principal": "ada"})
        assert (entry.principal, entry.object, entry.outcome) == (
            "ada",
            f"{uid} budget",
            "Rejected",
        )
        said = await hub.hub.read(lambda tx: events.list_events(tx, uid=uid))
        assert [(e.type, e.message) for e in said if e.reason == "AdmissionCheckUpdated"] == [
            ("Normal", "check approval is Ready, by controller: fine"),
            ("Warning", "check budget is Rejected, by ada: too dear"),
        ]


@pytest.mark.parametrize(
    ("update", "pod", "word"),
    [
        ({"nodeSelector": {"pool": "lead"}}, {}, "pool"),
        ({"nodeSelector": {"disk": "hdd"}}, {"nodeSelector": {"disk": "ssd"}}, "disk"),
        ({"annotations": {"note": "b"}}, {}, "note"),
        ({"labels": {"tier": "b"}}, {}, "tier"),
    ],
    ids=["the flavor's", "the template's selector", "its annotation", "its label"],
)
async def test_what_contradicts_flavor_or_template_is_not_carried_out(
    tmp_path: Path, update: dict[str, Any], pod: dict[str, Any], word: str
) -> None:
    """The job is evicted, waits its back-off, and says which key it is."""
    async with running(tmp_path) as hub:
        nodes = a_pool(cpu="8", memory="8Gi", labels={"pool": "gold", "disk": "ssd"})
        await hub.cluster("a", nodes)
        await a_checked_queue(hub, "budget", flavor={"nodeLabels": {"pool": "gold"}})
        manifest = a_job("one", queue="gold", pod=pod)
        manifest["spec"]["template"]["metadata"] = {
            "annotations": {"note": "a"},
            "labels": {"tier": "a"},
        }
        (uid,) = await hub.apply(manifest)
        await hub.settle()
        await hub.cluster("a", nodes, pools_revision=9)
        await hub.settle()
        hub.clock.advance(1)
        await answer(hub, uid, "budget", "Ready", podSetUpdates=[{"name": "main", **update}])
        await hub.settle()
        job = await hub.job(uid)
        assert job.state == "Pending"
        assert job.evicted["reason"] == "AdmissionCheck"
        assert word in job.evicted["message"]
        assert (job.requeues, job.queued_at) == (1, hub.clock.now())
        assert await hub.hub.read(works.of_uids, [uid]) == []


async def test_what_checks_add_joins_what_the_flavor_adds(tmp_path: Path) -> None:
    """Labels, annotations and node labels of the check, beside node labels of the flavor."""
    async with running(tmp_path) as hub:
        nodes = a_pool(cpu="8", memory="8Gi", labels={"pool": "gold"})
        await hub.cluster("a", nodes)
        await a_checked_queue(hub, "budget", flavor={"nodeLabels": {"pool": "gold"}})
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        (plain,) = await hub.apply(a_job("two", queue="gold"))
        await hub.settle()
        await hub.cluster("a", nodes, pools_revision=9)
        await hub.settle()
        added = {"labels": {"tier": "b"}, "annotations": {"note": "b"}}
        await answer(hub, uid, "budget", "Ready", podSetUpdates=[{"name": "main", **added}])
        await answer(hub, plain, "budget", "Ready")
        await hub.settle()
        (work,) = await hub.hub.read(works.of_uids, [uid])
        assert work.options.pod_labels == {"tier": "b"}
        assert work.options.pod_annotations == {"note": "b"}
        assert work.options.node_selector == {"pool": "gold"}
        (other,) = await hub.hub.read(works.of_uids, [plain])
        assert (other.options.pod_labels, other.options.node_selector) == ({}, {"pool": "gold"})


async def test_a_doubtful_job_of_a_destroyed_member_is_held(tmp_path: Path):
    """Where it is was not known: it starts again by a person's word, beyond every epoch."""
    async with opened(tmp_path, ManualClock(START + dt.timedelta(hours=1))) as db:
        job = a_workload("one", state=State.RUNNING, cluster="north", epoch=1)
        wished = a_workload(
            "two", state=State.WITHDRAWING, cluster="north", epoch=1, withdraw_to="Cancelled"
        )

        def run(tx: Transaction) -> None:
            clusters.add(tx, a_member("north"))
            workloads.add(tx, [job, wished])
            works.upsert(tx, [a_wanted_work("north", uid) for uid in ("one", "two")])
            hold_everything(tx)
            fence_cluster(tx, "north", "north", "ada", 45.0)

        await db.write(run)
        found = await row(db)
        assert (found.state, found.reason, found.message) == (State.HELD, "Restored", MESSAGE)
        assert found.epoch > 100_000
        other = await row(db, "two")
        assert (other.state, other.reason) == (State.CANCELLED, "ClusterFenced")
        assert other.message == "ada declared north destroyed"
