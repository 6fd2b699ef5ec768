"""Jobs that came by REST are shown on the hub cluster where that is switched on, and never run there."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.services.jobs import hold
from hub.store import workloads
from shared import labels
from shared.kubesim.server import mirror_guard
from tests.bridge.defined import with_hub_kinds
from tests.bridge.guide import absent
from tests.bridge.hub_cluster import FIELDS, World, until
from tests.bridge.rest import mirror, refusal, remove_job, said, submit
from tests.bridge.showing import showing
from tests.services.members.hubs import ran

pytestmark = pytest.mark.anyio
TRAIN = ("Job", "train", "team-a")
WORKLOADS = "kueue.x-k8s.io/v1beta1"
FOREIGN = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team-a}
spec:
  template:
    metadata: {annotations: {sim.roadstead.dev/run-seconds: "600"}}
    spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}
"""


async def test_a_job_of_rest_is_shown_and_can_not_run(tmp_path: Path):
    """Suspended, the hub's, without what controllers there would act on or what is not for everybody."""
    async with showing(tmp_path) as it:
        uid = await submit(it)
        job = await mirror(it, *TRAIN)
        spec = job["spec"]
        assert (spec["suspend"], spec["managedBy"]) == (True, labels.JOB_CONTROLLER)
        assert "ttlSecondsAfterFinished" not in spec
        (variable,) = spec["template"]["spec"]["containers"][0]["env"]
        assert variable == {"name": "PASSWORD", "value": "[hidden]"}
        notes = job["metadata"]["annotations"]
        assert (notes[labels.MIRROR_OF], notes[labels.SUBMITTED_BY]) == (uid, "ann")
        assert "finalizers" not in job["metadata"]
        assert (await it.kube.list("v1", "Pod", "team-a")).items == []


async def test_its_status_and_its_workload_say_where_it_is(tmp_path: Path):
    """Waiting with the reason, running in its cluster, and its end; the Workload is owned by the mirror."""
    async with showing(tmp_path) as it:
        uid = await submit(it)
        job = await mirror(it, *TRAIN)
        workload = await until(lambda: beside(it, job))
        assert workload["spec"]["queueName"] == "team"
        agent = await it.hub.join("north")
        await it.hub.place(uid, "north")
        await agent.sync()
        await agent.sync(ran(uid, active=2, ready=2, running_since="2026-05-01T00:00:01Z"))
        await until(lambda: status(it, "active", 2))

        async def admitted() -> bool:
            found = await beside(it, job)
            return found["status"].get("clusterName") == "north"

        await until(admitted)
        await agent.sync(ran(uid, succeeded=2, result="Succeeded"))
        await until(lambda: condition(it, "Complete"))
        assert await it.get(*TRAIN), "it stays for a while"


async def test_it_goes_when_rest_deletes_it_and_another_takes_its_name(tmp_path: Path):
    """The second of a name is shown once the first's mirror is away."""
    async with showing(tmp_path) as it:
        first = await submit(it)
        shown = await mirror(it, *TRAIN)
        await remove_job(it, first)
        second = await submit(it)

        async def another() -> bool:
            job = await it.get(*TRAIN)
            notes = job["metadata"]["annotations"] if job else {}
            return notes.get(labels.MIRROR_OF) == second

        await until(another)
        assert (await it.get(*TRAIN))["metadata"]["uid"] != shown["metadata"]["uid"]


async def test_the_workload_beside_it_holds_and_releases(tmp_path: Path):
    """`spec.active` is the one thing that kubectl writes, and it is REST's own verb."""
    async with showing(tmp_path) as it:
        uid = await submit(it)
        job = await mirror(it, *TRAIN)
        workload = await until(lambda: beside(it, job))
        await active(it, workload, value=False)
        await until(lambda: state(it, uid, "Held"))
        await it.hub.write(hold.release_job, uid, "ann")
        await until(lambda: state(it, uid, "Pending"))

        async def back() -> bool:
            found = await beside(it, job)
            return found["spec"]["active"] is True

        await until(back)


async def test_nobody_else_writes_or_deletes_it(tmp_path: Path):
    """Unsuspending, relabelling and deleting it are refused with the way to go."""
    async with showing(tmp_path) as it:
        uid = await submit(it)
        await mirror(it, *TRAIN)
        for change in (
            {"spec": {"suspend": False}},
            {"spec": {"parallelism": 5}},
            {"metadata": {"labels": {labels.QUEUE_NAME: "other"}}},
            {"metadata": {"labels": {labels.ORIGIN: None}}},
        ):
            assert mirror_guard.KEPT in await refusal(it, change, *TRAIN)
        with pytest.raises(Exception, match="only the hub changes it"):
            await it.delete(*TRAIN)
        assert (await it.hub.job(uid)).live


async def test_a_namespace_says_whether_its_jobs_are_shown(tmp_path: Path):
    """Its label goes before the setting, either way, and may change."""
    async with showing(tmp_path, jobs="Off") as it:
        await submit(it)
        await mirror(it, "LocalQueue", "team", "team-a")
        for said_so, shown in (("true", True), ("false", False)):
            await show_jobs(it, value=said_so)
            if shown:
                await mirror(it, *TRAIN)
            else:
                await until(lambda: absent(it, *TRAIN))


async def test_a_mirror_that_is_made_again_gets_a_workload_of_its_own(tmp_path: Path):
    """Also where the garbage collector deletes the earlier mirror's Workload late."""
    async with showing(tmp_path) as it:
        await submit(it)
        first = await mirror(it, *TRAIN)
        await until(lambda: beside(it, first))
        await it.cluster.garbage.stop()
        await show_jobs(it, value="false")
        await until(lambda: absent(it, *TRAIN))
        await show_jobs(it, value="true")
        second = await mirror(it, *TRAIN)
        await until(lambda: was_looked_at(it, second))
        await it.cluster.garbage.start()
        await until(lambda: beside(it, second))


async def test_no_more_are_shown_than_may_be(tmp_path: Path):
    """Those that have ended make room for those that have not; none is forgotten."""
    async with showing(tmp_path, jobs_at_most=2) as it:
        first = await submit(it, "first")
        await submit(it, "second")
        await mirror(it, "Job", "first", "team-a")
        await mirror(it, "Job", "second", "team-a")
        await submit(it, "third")
        agent = await it.hub.join("north")
        await it.hub.place(first, "north")
        await agent.sync()
        await agent.sync(ran(first, succeeded=2, result="Succeeded"))
        await mirror(it, "Job", "third", "team-a")
        assert await it.get("Job", "first", "team-a") is None
        jobs = (await it.kube.list("batch/v1", "Job", "team-a")).items
        assert {job["metadata"]["name"] for job in jobs} == {"second", "third"}


async def test_an_ended_job_is_shown_for_a_while(tmp_path: Path):
    """Then its mirror goes; its record stays by REST."""
    async with showing(tmp_path, ended_jobs=dt.timedelta(0)) as it:
        uid = await submit(it)
        await mirror(it, *TRAIN)
        agent = await it.hub.join("north")
        await it.hub.place(uid, "north")
        await agent.sync()
        await agent.sync(ran(uid, succeeded=2, result="Succeeded"))
        await until(lambda: absent(it, *TRAIN))
        assert (await it.hub.job(uid)).state == "Succeeded"


async def test_a_foreign_job_of_its_name_is_left_alone(tmp_path: Path):
    """It is said of the job, which goes on; the mirror is made when the name is free."""
    async with showing(tmp_path) as it:
        await it.apply("{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}")
        (foreign,) = await it.apply(FOREIGN)
        uid = await submit(it)

        async def told() -> bool:
            return any(reason == "NotShownOnHubCluster" for reason, _ in await said(it, uid))

        await until(told)
        live = await it.get(*TRAIN)
        assert live["metadata"]["uid"] == foreign["metadata"]["uid"]
        assert (await it.hub.job(uid)).state == "Pending"


async def test_before_1_32_it_stays_suspended(tmp_path: Path):
    """Where the mark is not known, suspension and the policy keep it from running; its end is shown."""
    cluster = with_hub_kinds(kubernetes="1.30")
    await cluster.start()
    try:
        async with showing(tmp_path, cluster) as it:
            uid = await submit(it)
            job = await mirror(it, *TRAIN)
            assert "managedBy" not in job["spec"]
            assert job["spec"]["suspend"] is True
            assert await refusal(it, {"spec": {"suspend": False}}, *TRAIN) != ""
            agent = await it.hub.join("north")
            await it.hub.place(uid, "north")
            await agent.sync()
            await agent.sync(ran(uid, succeeded=2, result="Succeeded"))
            await until(lambda: condition(it, "Complete"))
            assert (await it.kube.list("v1", "Pod", "team-a")).items == []
    finally:
        await cluster.stop()


async def test_where_it_could_be_started_it_is_not_shown(tmp_path: Path):
    """Before 1.32 and without a policy that refuses that."""
    cluster = with_hub_kinds(kubernetes="1.30", job_policy=False)
    await cluster.start()
    try:
        async with showing(tmp_path, cluster) as it:
            uid = await submit(it)

            async def told() -> bool:
                return any("job-guard.yaml" in message for _, message in await said(it, uid))

            await until(told)
            assert await it.get(*TRAIN) is None
    finally:
        await cluster.stop()


async def show_jobs(it: World, *, value: str) -> None:
    mark = {"metadata": {"labels": {labels.SHOW_JOBS: value}}}
    await it.kube.merge_patch("v1", "Namespace", "", "team-a", mark, field_manager=FIELDS)


async def was_looked_at(it: World, job: dict[str, Any]) -> bool:
    """Has this mirror a status? The bridge looks at its Workload in the turns that write statuses."""
    return bool((await it.get(*TRAIN)).get("status"))


async def beside(it: World, job: dict[str, Any]) -> Any:
    """The Workload that this Job owns."""
    for each in (await it.kube.list(WORKLOADS, "Workload", "team-a")).items:
        owners = each["metadata"].get("ownerReferences") or ()
        if [o["uid"] for o in owners] == [job["metadata"]["uid"]] and each.get("status"):
            return each
    return None


async def active(it: World, workload: dict[str, Any], *, value: bool) -> None:
    name = workload["metadata"]["name"]
    await it.kube.merge_patch(
        WORKLOADS, "Workload", "team-a", name, {"spec": {"active": value}}, field_manager=FIELDS
    )


async def state(it: World, uid: str, wanted: str) -> bool:
    return (await it.hub.hub.read(workloads.get, uid)).state == wanted


async def status(it: World, field: str, value: object) -> bool:
    return ((await it.get(*TRAIN)).get("status") or {}).get(field) == value


async def condition(it: World, kind: str) -> bool:
    conditions = ((await it.get(*TRAIN)).get("status") or {}).get("conditions") or ()
    return any(c["type"] == kind and c["status"] == "True" for c in conditions)
