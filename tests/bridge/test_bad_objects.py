"""Bad objects through the hub cluster: refused by its API server, or told by a condition or Event.

By its rules alone: a version and a uid that a client sets. Nobody is fenced by kubectl.
"""

import copy
from pathlib import Path
from typing import Any

import pytest

from hub.store import objects, workloads
from shared.kube import errors
from tests.bad_inputs.objects import CASES, TAKEN, THEIRS, a_job, a_queue, queued
from tests.bridge.guide import apply_guide, workload
from tests.bridge.hub_cluster import FIELDS, NAMESPACES, VERSIONS, World, until, warnings, world
from tests.services.members.hubs import Agent, ran, seen

pytestmark = pytest.mark.anyio
QUEUE = "kueue.x-k8s.io/queue-name"
Json = dict[str, Any]


def named(manifest: Json, name: str) -> Json:
    """As kubectl would send it: under a name of its own, and for Jobs into a queue."""
    made = copy.deepcopy(manifest)
    name = name.replace(" ", "-")
    made["metadata"]["name"] = f"row-{name}" if made["metadata"]["name"] != "Prod" else "Prod"
    if made["kind"] == "Job":
        made["metadata"].setdefault("labels", {QUEUE: "queue"})
    return made


async def accepted(it: World, manifest: Json) -> tuple[str, str] | None:
    """Reason and message of Accepted=False, or of the Warning about a Job."""
    name = manifest["metadata"]["name"]
    if manifest["kind"] == "Job":
        return (await warnings(it)).get(name)
    found = await it.kube.get(manifest["apiVersion"], manifest["kind"], "", name)
    for each in (found.get("status") or {}).get("conditions") or ():
        if (each["type"], each["status"]) == ("Accepted", "False"):
            return each["reason"], each["message"]
    return None


async def ready(it: World) -> None:
    """The hub's kinds are served."""
    await it.apply(NAMESPACES)

    async def served() -> bool:
        try:
            await it.kube.list(VERSIONS["ClusterResourcePlacement"], "ClusterResourcePlacement")
            await it.kube.list(VERSIONS["MemberCluster"], "MemberCluster")
            await it.kube.list(VERSIONS["ClusterQueue"], "ClusterQueue")
        except errors.KubeError:
            return False
        return True

    await until(served)


async def test_a_bad_object_is_refused_or_told_of(tmp_path: Path):
    """An error for kubectl, or the code of REST with the field; nothing of it is used."""
    async with world(tmp_path) as it:
        await ready(it)
        taken = []
        for case in CASES:
            if case.row in {65, 66}:
                continue
            manifest = named(case.manifest, case.id)
            try:
                await it.kube.create(manifest, field_manager=FIELDS)
            except errors.Invalid:
                continue
            taken.append((case, manifest))
        for case, manifest in taken:

            async def told(manifest: Json = manifest) -> tuple[str, str] | None:
                return await accepted(it, manifest)

            reason, message = await until(told)
            assert reason == case.code, case.id
            assert message.startswith(("spec.", "metadata.")), (case.id, message)
        assert {case.row for case, _ in taken} >= {48, 57, 59, 61, 64}


async def test_what_only_looks_bad_is_taken(tmp_path: Path):
    """No condition and no Event speaks against it."""
    async with world(tmp_path) as it:
        await ready(it)
        made = [named(manifest, name) for name, manifest in TAKEN]
        for manifest in made:
            await it.kube.create(manifest, field_manager=FIELDS)

        async def all_taken() -> bool:
            jobs = [each for each in made if each["kind"] == "Job"]
            rows = [await it.hub.hub.read(_job_named, each["metadata"]["name"]) for each in jobs]
            return all(row is not None for row in rows)

        await until(all_taken)
        for manifest in made:
            said = await accepted(it, manifest)
            assert said is None or said[0] == "QueueNotFound", manifest["metadata"]["name"]


def _job_named(unit: Any, name: str) -> Any:
    return workloads.live_by_name(unit, [("team-a", name)]).get(("team-a", name))


async def test_a_queue_that_is_not_there_keeps_a_job_waiting(tmp_path: Path):
    """Pending with the same reason, whether nobody has it or another namespace."""
    async with world(tmp_path) as it:
        await ready(it)
        await it.apply("{apiVersion: v1, kind: Namespace, metadata: {name: team-b}}")
        await it.kube.create(copy.deepcopy(THEIRS), field_manager=FIELDS)
        for name in ("absent", "theirs"):
            await it.kube.create(named(queued(name), name), field_manager=FIELDS)

        async def both_wait() -> bool:
            rows = [await it.hub.hub.read(_job_named, f"row-{n}") for n in ("absent", "theirs")]
            said = [row and (row.state, row.reason) for row in rows]
            return said == [("Pending", "QueueNotFound")] * 2

        await until(both_wait)


RING = """
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: a}, spec: {parentName: b}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: b}, spec: {parentName: a}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}, spec: {}}
"""


async def test_a_cycle_of_cohorts_is_a_condition(tmp_path: Path):
    """The queues of the tree are not active and say by which path; mended, they are."""
    async with world(tmp_path) as it:
        await ready(it)
        await it.apply(RING)
        queue = a_queue(cohortName="a")
        await it.kube.apply(queue, field_manager=FIELDS, force=True)

        async def active() -> tuple[str, str, str] | None:
            found = await it.kube.get(queue["apiVersion"], "ClusterQueue", "", "q")
            conditions = (found.get("status") or {}).get("conditions") or ()
            return next(
                (
                    (c["status"], c["reason"], c["message"])
                    for c in conditions
                    if c["type"] == "Active"
                ),
                None,
            )

        async def cut_off() -> bool:
            said = await active()
            return (
                said is not None and said[:2] == ("False", "CohortCycle") and "a -> b" in said[2]
            )

        async def mended() -> bool:
            said = await active()
            return said is not None and said[0] == "True"

        await until(cut_off)
        await it.apply(RING.split("---")[1].replace("{parentName: a}", "{}"))
        await until(mended)


async def test_names_and_a_selector_that_excludes_them(tmp_path: Path):
    """A Warning with the code and the annotation, once the member that it names is there; nothing runs."""
    async with world(tmp_path) as it:
        await ready(it)
        await it.hub.join("north")
        manifest = named(a_job(clusters="north", cluster_selector="region=south"), "contradicts")
        await it.kube.create(manifest, field_manager=FIELDS)

        async def told() -> tuple[str, str] | None:
            return await accepted(it, manifest)

        reason, message = await until(told)
        assert reason == "Contradiction"
        assert "roadstead.dev/cluster-selector excludes them" in message
        assert await it.hub.hub.read(_job_named, "row-contradicts") is None


async def test_a_stale_version_is_a_conflict(tmp_path: Path):
    """The API server's own: of two who read the same object the second is refused."""
    async with world(tmp_path) as it:
        await ready(it)
        queue = a_queue(nominalQuota="1")
        read = await it.kube.create(queue, field_manager=FIELDS)
        await it.kube.replace(
            {**read, **a_queue(nominalQuota="2"), "metadata": read["metadata"]},
            field_manager=FIELDS,
        )
        with pytest.raises(errors.Conflict):
            await it.kube.replace(read, field_manager=FIELDS)


@pytest.mark.parametrize("rows", ["53", "66"])
async def test_a_queue_whose_job_runs(tmp_path: Path, rows: str):
    """It goes when its job has ended; the job's label changes nothing."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        agent = await it.hub.join("north")
        await it.hub.place(row.uid, "north")
        charged = {"uid": row.uid, "cluster_queue": "cluster-queue"}
        await it.hub.write(workloads.change, [charged])
        await agent.sync()
        await agent.sync(ran(row.uid, active=3, running_since="2026-05-01T00:00:01Z"))
        if rows == "53":
            await it.delete("ClusterQueue", "cluster-queue")
            await it.apply("{apiVersion: v1, kind: Namespace, metadata: {name: later}}")
            await until(lambda: it.hub.hub.read(objects.find, "", "Namespace", "", "later"))
            found = await leaving(it)
            assert found["metadata"]["finalizers"] == ["roadstead.dev/hub"]
            ended: dict[str, Any] = {"result": "Succeeded", "succeeded": 3}
            await agent.sync(ran(row.uid, **ended))
            await until(lambda: gone(it, agent))
            return
        change = {"metadata": {"labels": {QUEUE: "another"}}}
        place = (VERSIONS["Job"], "Job", "compute-jobs", "mock-workload")
        await it.kube.merge_patch(*place, change, field_manager=FIELDS)

        async def warned() -> tuple[str, str] | None:
            said = (await warnings(it)).get("mock-workload")
            return said if said and said[0] == "Immutable" else None

        _, message = await until(warned)
        assert message.startswith(f"metadata.labels[{QUEUE}]: ")
        now = await it.hub.job(row.uid)
        assert (now.queue, now.state) == ("local-queue", "Running")


async def gone(it: World, agent: Agent) -> bool:
    """Whether the queue is gone; meanwhile the member removes its copy when it is told to."""
    told = [
        (uid, work["epoch"]) for uid, work in agent.works.items() if work["action"] == "Withdraw"
    ]
    await agent.sync(*(seen(uid, "Gone", epoch) for uid, epoch in told))
    return await it.get("ClusterQueue", "cluster-queue") is None


async def leaving(it: World) -> Any:
    found = await it.get("ClusterQueue", "cluster-queue")
    return found if found and found["metadata"].get("deletionTimestamp") else None


async def test_a_workload_that_can_not_be_admitted_waits_and_says_why(tmp_path: Path):
    """As with Kueue: it is taken, holds nothing, and its condition names the container."""
    async with world(tmp_path) as it:
        await apply_guide(it, last=5)
        asked = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
        pod = {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "x", "resources": asked}],
        }
        load: dict[str, Any] = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "wide", "namespace": "compute-jobs"},
            "spec": {
                "queueName": "local-queue",
                "podSets": [{"name": "main", "count": 1, "template": {"spec": pod}}],
            },
        }
        await it.kube.create(load, field_manager=FIELDS)

        async def told() -> str:
            found = await it.kube.get(load["apiVersion"], "Workload", "compute-jobs", "wide")
            conditions = (found.get("status") or {}).get("conditions") or ()
            return next((c["message"] for c in conditions if c["reason"] == "Inadmissible"), "")

        message = await until(told)
        assert "spec.podSets[0].template.spec.containers[0].resources" in message
