"""What of an object of the hub cluster the hub keeps, in which order, and how much at a time."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.kinds import ALWAYS, JOB, WORKLOAD
from hub.bridge.mirror import TOGETHER
from hub.bridge.workload_objects import WorkloadObjects
from hub.domain.workloads.states import State
from hub.store import objects, workloads
from hub.store.errors import StoreUnavailable
from shared import labels
from shared.clock import ManualClock
from shared.groups import KUEUE
from shared.kinds.eviction_v1 import BUDGETS, EVICTIONS
from tests.bridge.parts import (
    CONFIG_MAP,
    KINDS,
    a_config_map,
    a_job,
    a_placement_row,
    on_simulated,
    parts,
)
from tests.kube.stub import running
from tests.services.members.hubs import away, back

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
MARKS: dict[str, Any] = {
    "labels": {labels.QUEUE_NAME: "main", "team": "red"},
    "annotations": {labels.PREFIX + "ignore-drift": "/spec/parallelism"},
}


async def test_everything_of_a_job_is_carried_over(tmp_path: Path):
    """Its uid, marks and numbers, and when it was made: by that its turn in the queue counts."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, clock=clock) as (it, _):
        document = a_job(**MARKS)
        document["spec"] |= {"parallelism": 2, "completions": 5, "ttlSecondsAfterFinished": 60}
        job = await it.create(document)
        clock.advance(3600)
        await it.take()
        row = await it.job(job)
        assert row is not None
        made = dt.datetime.fromisoformat(job["metadata"]["creationTimestamp"])
        assert row.created_at == row.queued_at == made
        assert (row.uid, row.kind, row.namespace, row.name, row.origin) == (
            job["metadata"]["uid"], "Job", "lab", "one", "hub-cluster"
        )  # fmt: skip
        by = {labels.SUBMITTED_BY: "kubernetes-admin"}  # whom the API server saw
        assert (row.labels, row.annotations) == (MARKS["labels"], MARKS["annotations"] | by)
        assert (row.queue, row.parallelism, row.completions, row.ttl_s) == ("main", 2, 5, 60)
        assert (row.state, row.live, row.epoch, row.generation) == (State.PENDING, True, 0, 1)


async def test_everything_of_a_plain_object_is_carried_over(tmp_path: Path):
    """As it was made and as it was changed; the hub counts its own generations."""
    clock = ManualClock(NOW)
    async with on_simulated(tmp_path, clock=clock) as (it, _):
        it.select("ConfigMap", "lab", "one")
        document = a_config_map()
        document["metadata"] |= MARKS
        made = await it.create(document)
        clock.advance(3600)
        await it.take()
        row = await it.object(made)
        assert row is not None
        at = dt.datetime.fromisoformat(made["metadata"]["creationTimestamp"])
        assert (row.uid, row.api_version, row.kind, row.namespace, row.name) == (
            made["metadata"]["uid"], "v1", "ConfigMap", "lab", "one"
        )  # fmt: skip
        assert (row.origin, row.generation, row.created_at) == ("hub-cluster", 1, at)
        assert (row.labels, row.annotations) == (MARKS["labels"], MARKS["annotations"])
        assert row.manifest["data"] == {"a": "b"}
        await it.patch(made, {"data": {"a": None, "c": "d"}})
        await it.take()
        row = await it.object(made)
        assert row is not None
        assert (row.generation, row.manifest["data"]) == (2, {"c": "d"})


async def test_a_namespace_is_taken_before_what_it_judges(tmp_path: Path):
    """Of one turn, in whatever order they came: its level of pod security refuses the Job."""
    async with on_simulated(tmp_path) as (it, _):
        level = {"pod-security.kubernetes.io/enforce": "restricted"}
        names = [f"hard-{number}" for number in range(8)]
        made = []
        for name in names:
            space = {"apiVersion": "v1", "kind": "Namespace"}
            await it.create({**space, "metadata": {"name": name, "labels": level}})
            made.append(await it.create(a_job(namespace=name)))
        await it.take()
        refused = [it.mirror.refusals.get(each["metadata"]["uid"]) for each in made]
        assert [each and each.code for each in refused] == ["PolicyViolation"] * len(names)


def test_what_others_refer_to_is_taken_first():
    """Namespaces, then what queues name, queues, workloads, placements, and what evicts them."""
    order = {each.kind: each.order for each in ALWAYS}
    steps = [
        {"Namespace"},
        {"ResourceFlavor", "WorkloadPriorityClass", "MultiKueueCluster", "MultiKueueConfig"}
        | {
            "AdmissionCheck",
            "Cohort",
            "MemberCluster",
            "ClusterResourceEnvelope",
            "ClusterResourceOverride",
            "ClusterResourcePlacementStatus",
            "ResourceEnvelope",
            "ResourceOverride",
            "ClusterStagedUpdateStrategy",
            "StagedUpdateStrategy",
            *BUDGETS,
        },
        {"ClusterQueue"},
        {"LocalQueue"},
        {"Workload"},
        {"Job"},
        {"ClusterResourcePlacement", "ResourcePlacement"},
        set(EVICTIONS),
        {"ClusterStagedUpdateRun", "StagedUpdateRun"},
        {"ClusterApprovalRequest", "ApprovalRequest"},
    ]
    found = [{k for k, o in order.items() if o == step} for step in sorted(set(order.values()))]
    assert found == steps


def test_what_carries_our_finalizer():
    """What causes something that has to be taken back before it may go."""
    assert {each.kind for each in ALWAYS if each.finalized} == {
        "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue", "MemberCluster", "Job",
        "ClusterResourcePlacement", "ResourcePlacement",
    }  # fmt: skip


async def test_more_than_one_transaction_takes_are_all_taken(tmp_path: Path):
    """The second hundred as the first; one that can not be read, in the second, is refused alone."""
    names = [f"c{number:04}" for number in range(TOGETHER + 3)]
    async with (
        running(tmp_path) as (stub, kubeconfig),
        parts(tmp_path, kubeconfig, [CONFIG_MAP]) as it,
    ):
        it.select("ConfigMap", "team", *names)
        made = [stub.put(name) for name in names]
        for each in made:
            each["metadata"]["creationTimestamp"] = "2026-05-01T00:00:00Z"
        made[-2]["metadata"]["creationTimestamp"] = "yesterday"
        await it.shows(made[-1])
        await it.take()
        rows = await it.hub.hub.read(objects.list_kind, "", "ConfigMap")
        assert {row.name for row in rows} == {*names} - {names[-2]}
        (refusal,) = it.mirror.refusals.values()
        assert refusal.code == "Unreadable"


async def test_jobs_of_one_second_queue_in_the_order_in_which_they_came(tmp_path: Path):
    """Creation times have whole seconds, and names and uids say nothing of who came first."""
    async with on_simulated(tmp_path, clock=ManualClock(NOW)) as (it, _):
        names = ["nine", "five", "two", "seven", "one", "four"]
        made = [await it.create(a_job(name, labels=MARKS["labels"])) for name in names[:4]]
        await it.take()
        made += [await it.create(a_job(name, labels=MARKS["labels"])) for name in names[4:]]
        await it.take()
        rows = [row for each in made if (row := await it.job(each)) is not None]
        assert [row.name for row in sorted(rows, key=lambda row: row.queued_at)] == names
        assert len({row.queued_at for row in rows}) == len(names)
        seconds = [dt.datetime.fromisoformat(m["metadata"]["creationTimestamp"]) for m in made]
        assert [row.queued_at.replace(microsecond=0) for row in rows] == seconds


async def test_a_store_that_is_away_refuses_nothing(tmp_path: Path):
    """It says nothing of the objects: they are taken when it is back."""
    async with on_simulated(tmp_path) as (it, _):
        it.select("ConfigMap", "lab", "one", "two")
        made = [await it.create(a_config_map(name)) for name in ("one", "two")]
        await it.hub.write(away("objects"))
        with pytest.raises(StoreUnavailable):
            await it.take()
        await it.hub.write(back("objects"))
        assert not it.mirror.refusals
        await it.take()
        assert all([await it.object(each) for each in made])


async def test_what_is_selected_by_its_labels_is_taken_by_them(tmp_path: Path):
    """Once it has them; taken, it is followed when it loses them: the placement lets it go."""
    async with on_simulated(tmp_path) as (it, _):
        it.index.put(by_label("ConfigMap", {"team": "red"}))
        made = await it.create(a_config_map())
        await it.take()
        assert await it.object(made) is None
        await it.patch(made, {"metadata": {"labels": {"team": "red"}}})
        await it.take()
        row = await it.object(made)
        assert row is not None
        assert row.labels == {"team": "red"}
        await it.patch(made, {"metadata": {"labels": {"team": "blue"}}})
        await it.take()
        row = await it.object(made)
        assert row is not None
        assert row.labels == {"team": "blue"}


async def test_what_lost_its_labels_while_nobody_looked_is_let_go(tmp_path: Path):
    """The first complete list shows what the hub had taken before it was started."""
    async with on_simulated(tmp_path) as (it, _):
        it.index.put(by_label("ConfigMap", {"team": "red"}))
        document = a_config_map()
        document["metadata"]["labels"] = {"team": "red"}
        made = await it.create(document)
        await it.take()
        await it.patch(made, {"metadata": {"labels": {"team": "blue"}}})
        it.restart()
        await it.deletions.compare(it.sources.source("", "ConfigMap"), it.term)
        await it.take()
        row = await it.object(made)
        assert row is not None
        assert row.labels == {"team": "blue"}


def by_label(kind: str, wanted: dict[str, str]) -> Any:
    row = a_placement_row(kind, "lab", "")
    (selector,) = row.spec["resourceSelectors"]
    del selector["name"]
    selector["labelSelector"] = {"matchLabels": wanted}
    return row


async def test_a_job_that_was_taken_stays_ours_when_it_is_released_there(tmp_path: Path):
    """One without managedBy counts as the hub's while it is suspended; known, it is followed further."""
    async with on_simulated(tmp_path) as (it, _):
        marks = {labels.QUEUE_NAME: "main"}
        job = await it.create(a_job(labels=marks, finalizers=[labels.FINALIZER]))
        place = (JOB.group, JOB.kind, "lab", "one")
        found = it.sources.get(place)
        assert found is not None
        del found[1]["spec"]["managedBy"]  # as API servers before 1.30 have it
        await it.take()
        found[1]["spec"]["suspend"] = False
        found[1]["metadata"]["labels"] = {**marks, "team": "red"}
        it.sources.changed[place] = None
        await it.take()
        row = await it.job(job)
        assert row is not None
        assert row.labels.get("team") == "red", it.mirror.refusals


async def test_a_job_that_has_ended_and_is_known_is_followed(tmp_path: Path):
    """After a restart too: its labels are those that people find it by."""
    async with on_simulated(tmp_path) as (it, _):
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        await it.hub.write(
            lambda tx: workloads.change(tx, [{"uid": job["metadata"]["uid"], "message": "m"}])
        )
        at = "2026-05-01T00:00:00Z"
        ended = [
            {"type": kind, "status": "True", "reason": "Done", "lastTransitionTime": at}
            for kind in ("SuccessCriteriaMet", "Complete")
        ]
        status = {"startTime": at, "completionTime": at, "succeeded": 1, "conditions": ended}
        await it.patch(job, {"status": status}, "status")
        await it.patch(job, {"metadata": {"labels": {"team": "red"}}})
        it.restart()
        await it.take()
        row = await it.job(job)
        assert row is not None
        assert row.labels.get("team") == "red"


async def test_the_workload_of_a_job_is_not_taken_for_one_by_hand(tmp_path: Path):
    """It is the bridge's own: no second workload waits beside the Job; a bare one is taken."""
    async with on_simulated(tmp_path, [*KINDS, WORKLOAD]) as (it, _):
        told: list[str] = []
        it.mirror.tell = told.append
        job = await it.create(a_job())
        await it.take()
        await it.level(job)
        shown = WorkloadObjects(it.hub.hub, it.kube, it.sources, lambda: it.term)
        shown.note([job["metadata"]["uid"]])
        await shown.turn()
        (theirs,) = (await it.kube.list(f"{KUEUE}/v1beta2", "Workload")).items
        theirs |= {"apiVersion": f"{KUEUE}/v1beta2", "kind": "Workload"}
        await it.shows(theirs)
        bare = await it.create(a_bare_workload())
        told.clear()
        await it.take()
        taken = [each for each in (theirs, bare) if await it.object(each)]
        assert [each["metadata"]["name"] for each in taken] == ["by-hand"]
        assert not it.mirror.refusals
        assert set(told) == {job["metadata"]["uid"], bare["metadata"]["uid"]}


def a_bare_workload() -> dict[str, Any]:
    template = {"spec": a_job()["spec"]["template"]["spec"]}
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "by-hand", "namespace": "lab"},
        "spec": {
            "queueName": "main",
            "podSets": [{"name": "main", "count": 1, "template": template}],
        },
    }
