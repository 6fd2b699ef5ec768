"""A placement's Jobs in its bindings and in its status: which scores, whose words, as of which epoch."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.states import State
from hub.services.placements.bindings import FOR_A_JOB
from hub.store import placements, workloads, works
from hub.store.records.placements import Binding
from shared.clock import ManualClock
from shared.documents import Json
from tests.services.placements.stored import (
    AT,
    JOBS,
    ONE,
    a_placement,
    fill,
    observed,
    reconciled,
    with_status,
)
from tests.store.build import (
    START,
    a_wanted_work,
    a_workload,
    call,
    opened,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("scores", "affinity", "topology", "message"),
    [
        (
            {"clusters": [{"cluster": "south", "selected": True},
                          {"cluster": "north", "score": 30, "topologyScore": 2, "message": "told"}]},
            30, 2, "told",
        ),
        (
            {"profile": "queue", "clusters": [{"cluster": "north", "score": 1, "message": "told"}]},
            1, 0,
            ('Successfully scheduled resources for placement in "north" (affinity score: 1, topology '
            "spread score: 0): placed there by its queue before this placement selected it"),
        ),
        (
            {"clusters": [{"cluster": "north", "score": 99, "running": 1, "message": "told",
                           "terms": []}]},
            0, 0,
            ('Successfully scheduled resources for placement in "north" (affinity score: 0, topology '
            "spread score: 0): picked by scheduling policy"),
        ),
        (
            None, 0, 0,
            ('Successfully scheduled resources for placement in "north" (affinity score: 0, topology '
            "spread score: 0): picked by scheduling policy"),
        ),
    ],
    ids=["its own", "its queue's", "balanced", "unknown"],
)  # fmt: skip
async def test_a_jobs_cluster_is_bound_as_it_was_decided(
    tmp_path: Path, scores: Json | None, affinity: int, topology: int, message: str
):
    """The binding bears the scores of the cluster that it went to, and the words of that decision."""
    async with opened(tmp_path, ManualClock(START)) as db:
        job = a_workload(
            "j", state=State.RUNNING, cluster="north", placement="p", epoch=1, scores=scores
        )
        await fill(db, a_placement("p", JOBS, policy=ONE), jobs=(job,))
        await reconciled(db)
        assert await db.read(call(placements.bindings_of, "p")) == [
            Binding(
                placement="p",
                cluster="north",
                selected=True,
                affinity_score=affinity,
                topology_score=topology,
                reason="Scheduled",
                message=message,
                policy_snapshot=FOR_A_JOB,
                resource_snapshot="0",
            )
        ]
        another = a_workload("k", labels={"new": "yes"})
        await db.write(call(workloads.add, [another]))
        await reconciled(db)
        (binding,) = await db.read(call(placements.bindings_of, "p"))
        assert binding.resource_snapshot == "1"
        await db.write(call(workloads.change, [{"uid": "j", "live": None}]))
        await db.write(call(workloads.change, [{"uid": "j", "placement": ""}]))
        await reconciled(db)
        assert await db.read(call(placements.bindings_of, "p")) == []


async def test_what_a_member_says_of_a_job_stands_in_the_status(tmp_path: Path):
    """Of its present epoch: why it failed, in which fields it differs, and as of when."""
    async with opened(tmp_path, ManualClock(START)) as db:
        drift = [{"path": "/a", "hub": "1", "member": "2", "first_seen": AT}]
        job = a_workload(
            "j", state=State.RUNNING, cluster="north", placement="p", epoch=2, applied_at=START,
            started_at=START,
        )  # fmt: skip
        strategy = {"applyStrategy": {"whenToApply": "IfNotDrifted"}}
        await fill(db, a_placement("p", JOBS, policy=ONE, strategy=strategy), jobs=(job,))
        await db.write(call(works.upsert, [a_wanted_work("north", "j", epoch=2, placed_by="p")]))
        await db.write(call(works.observe, [observed("north", "j", drift=drift)]))
        status = await with_status(db)
        (where,) = status["placementStatuses"]
        of = {"group": "batch", "version": "v1", "kind": "Job", "namespace": "team-a", "name": "j"}
        del where["conditions"]
        assert where == {
            "clusterName": "north",
            "observedResourceIndex": "0",
            "failedPlacements": [
                {
                    **of,
                    "condition": {
                        "type": "Applied",
                        "status": "False",
                        "reason": "FoundDrifts",
                        "message": "drift was found and left unchanged, by whenToApply: /a",
                        "observedGeneration": 7,
                        "lastTransitionTime": AT,
                    },
                }
            ],
            "driftedPlacements": [
                {
                    **of,
                    "firstDriftedObservedTime": AT,
                    "observationTime": AT,
                    "targetClusterObservedGeneration": 7,
                    "observedDrifts": [{"path": "/a", "valueInHub": "1", "valueInMember": "2"}],
                }
            ],
        }
        await db.write(call(works.upsert, [a_wanted_work("north", "j", epoch=1, placed_by="p")]))
        await db.write(call(works.observe, [observed("north", "j", drift=drift)]))
        (where,) = (await with_status(db))["placementStatuses"]
        assert "driftedPlacements" not in where
        assert "failedPlacements" not in where


@pytest.mark.parametrize(
    ("lived", "work", "said", "message"),
    [
        (
            {},
            {"reason": "Forbidden"},
            "Applied",
            "1 of 1 selected resources could not be applied, first Job j (Forbidden): own words",
        ),
        (
            {"applied_at": START},
            {"reason": "Forbidden"},
            "Available",
            "1 of 1 selected resources are not available yet, first Job j: own words",
        ),
        (
            {"applied_at": START, "message": ""},
            None,
            "Available",
            "1 of 1 selected resources are not available yet, first Job j: no pod of it has run yet",
        ),
    ],
)
async def test_why_a_job_does_not_run_is_said_in_words_of_its_member_or_its_own(
    tmp_path: Path, lived: Any, work: Json | None, said: str, message: str
):
    """A failure of one that was made there once is no failure to apply it."""
    async with opened(tmp_path, ManualClock(START)) as db:
        columns = {"reason": "Queued", "message": "own words", "epoch": 2, **lived}
        job = a_workload("j", state=State.APPLIED, cluster="north", placement="p", **columns)
        await fill(db, a_placement("p", JOBS, policy=ONE), jobs=(job,))
        await db.write(call(works.upsert, [a_wanted_work("north", "j", epoch=2, placed_by="p")]))
        if work is not None:
            await db.write(call(works.observe, [observed("north", "j", phase="Failed", **work)]))
        (where,) = (await with_status(db))["placementStatuses"]
        last = where["conditions"][-1]
        assert (last["type"], last["status"], last["message"]) == (said, "False", message)


async def test_a_placement_that_can_not_be_carried_out_keeps_its_jobs_in_its_status(
    tmp_path: Path,
):
    """What it placed before its policy became another goes on, and is shown."""
    async with opened(tmp_path, ManualClock(START)) as db:
        job = a_workload("j", state=State.RUNNING, cluster="north", placement="p", epoch=2)
        several = {"placementType": "PickFixed", "clusterNames": ["north", "south"]}
        await fill(db, a_placement("p", {**JOBS, "name": "j"}, policy=several), jobs=(job,))
        (where,) = (await with_status(db))["placementStatuses"]
        assert where["clusterName"] == "north"
        assert await db.read(call(workloads.get, "j")) == job


def drifted(uid: str) -> Any:
    drift = [{"path": "/a", "hub": "1", "member": "2", "first_seen": AT}]
    return observed("north", uid, drift=drift)


async def test_a_jobs_drift_is_as_of_when_its_member_said_so(tmp_path: Path):
    """However much later the placement is looked at; of a Job that has ended it is no failure."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        lived: Any = {"cluster": "north", "placement": "p", "epoch": 1, "applied_at": START}
        lived |= {"started_at": START}
        jobs = tuple(
            a_workload(uid, state=state, **lived)
            for uid, state in (("done", State.SUCCEEDED), ("runs", State.RUNNING))
        )
        strategy = {"applyStrategy": {"whenToApply": "IfNotDrifted"}}
        await fill(db, a_placement("p", JOBS, policy=ONE, strategy=strategy), jobs=jobs)
        given = [a_wanted_work("north", job.uid, placed_by="p") for job in jobs]
        await db.write(call(works.upsert, given))
        await db.write(call(works.observe, [drifted(job.uid) for job in jobs]))
        clock.advance(60)
        (where,) = (await with_status(db))["placementStatuses"]
        assert [each["name"] for each in where["failedPlacements"]] == ["runs"]
        times = {each["name"]: each["observationTime"] for each in where["driftedPlacements"]}
        assert times == {"done": AT, "runs": AT}


@pytest.mark.parametrize("ended", [State.CANCELLED, State.DEACTIVATED])
async def test_a_job_that_was_taken_back_is_shown_on_no_cluster(tmp_path: Path, ended: State):
    """What it was on there is over; the Job stays among what is selected."""
    async with opened(tmp_path, ManualClock(START)) as db:
        on: Any = {"cluster": "north", "placement": "p", "epoch": 1}
        jobs = (
            a_workload("back", state=ended, applied_at=START, **on),
            a_workload("runs", state=State.RUNNING, **on | {"cluster": "south"}),
        )
        await fill(db, a_placement("p", JOBS, policy=ONE), jobs=jobs)
        status = await with_status(db)
        assert [each["clusterName"] for each in status["placementStatuses"]] == ["south"]
        assert [each["name"] for each in status["selectedResources"]] == ["back", "runs"]


async def test_why_a_waiting_job_went_nowhere_is_said_of_each_cluster(tmp_path: Path):
    """In the words of its decision; not of the cluster that was picked, nor for a Job that has one."""
    async with opened(tmp_path, ManualClock(START)) as db:
        tried = [
            {"cluster": "north", "selected": True, "message": "picked"},
            {"cluster": "south", "selected": False, "message": "no room"},
            {"cluster": "west", "selected": False, "message": ""},
        ]
        gone = [{"cluster": "east", "selected": False, "message": "too far"}]
        jobs = (
            a_workload("waits", placement="p", scores={"clusters": tried}),
            a_workload("runs", state=State.RUNNING, cluster="north", placement="p", epoch=1,
                       scores={"clusters": gone}),
        )  # fmt: skip
        await fill(db, a_placement("p", JOBS, policy=ONE), jobs=jobs)
        found = {
            each["clusterName"]: each["conditions"][0]
            for each in (await with_status(db))["placementStatuses"]
        }
        assert sorted(found) == ["north", "south"]
        assert found["north"]["status"] == "True"
        said = found["south"]
        assert (said["status"], said["reason"], said["message"]) == (
            "False",
            "ScheduleFailed",
            "no room",
        )
