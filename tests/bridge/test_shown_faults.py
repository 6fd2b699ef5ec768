"""Hub clusters that are lost, replaced or restored, other leaders and copies: no job of REST is touched."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.bridge import shown
from hub.services.context import hub_cluster
from hub.services.jobs import cancel
from hub.store import workloads
from hub.store.records.workloads import Workload
from shared import labels
from shared.clock import SystemClock
from shared.kube.client import KubeClient
from shared.kubesim.apimachinery import errors as refusals
from shared.kubesim.cluster import SimCluster
from shared.kubesim.requests.call import Call, Reply
from tests.bridge.defined import with_hub_kinds
from tests.bridge.guide import absent
from tests.bridge.hub_cluster import FIELDS, World, until, warnings
from tests.bridge.rest import is_mirror, mirror, remove_job, said, submit
from tests.bridge.showing import showing
from tests.services.members.hubs import running_hub

pytestmark = pytest.mark.anyio
TRAIN = ("Job", "train", "team-a")


@contextlib.asynccontextmanager
async def hub_clusters(count: int = 1, **options: Any) -> AsyncIterator[list[SimCluster]]:
    """Hub clusters that outlive hubs."""
    made = [with_hub_kinds(**options) for _ in range(count)]
    for each in made:
        await each.start()
    try:
        yield made
    finally:
        for each in made:
            await each.stop()


async def test_mirrors_deleted_while_no_hub_ran_are_made_again(tmp_path: Path):
    """Their absence is no deletion, however many they are, and nothing stops for it."""
    async with hub_clusters(mirror_policy=False) as (cluster,):
        async with showing(tmp_path, cluster) as it:
            uids = [await submit(it, f"train-{number}") for number in range(5)]
            for number in range(5):
                await mirror(it, "Job", f"train-{number}", "team-a")
        async with administrator(cluster, tmp_path) as kube:
            for number in range(5):
                await kube.delete("batch/v1", "Job", "team-a", f"train-{number}")
            await kube.delete("kueue.x-k8s.io/v1beta1", "LocalQueue", "team-a", "team")
        async with showing(tmp_path, cluster) as it:
            for number in range(5):
                await mirror(it, "Job", f"train-{number}", "team-a")
            await mirror(it, "LocalQueue", "team", "team-a")
            assert it.bridge.condition.reason == ""
            for uid in uids:
                await is_as_it_was(it, uid)


async def test_what_rest_deleted_while_the_hub_cluster_was_away_goes_there(tmp_path: Path):
    """As after a restore from an older copy: a mirror that the store does not know any more is removed."""
    async with hub_clusters() as (cluster,):
        async with showing(tmp_path, cluster) as it:
            uid = await submit(it)
            await mirror(it, *TRAIN)
        async with running_hub(tmp_path, SystemClock()) as hub:
            await hub.write(cancel.delete_job, uid, "ann")
        async with showing(tmp_path, cluster) as it:
            await until(lambda: absent(it, *TRAIN))
            assert it.bridge.condition.reason == ""


async def test_an_empty_hub_cluster_takes_no_job_back(tmp_path: Path):
    """The bridge stops until an administrator says so, and then shows everything there."""
    async with hub_clusters(2) as (cluster, other):
        async with showing(tmp_path, cluster) as it:
            uid = await submit(it)
            await mirror(it, *TRAIN)
        async with showing(tmp_path, other) as it:
            await until(lambda: stopped(it, "HubClusterChanged"))
            await is_as_it_was(it, uid)
            assert await it.get(*TRAIN) is None
            await it.hub.write(hub_cluster.resume, "HubClusterChanged", "ann")
            await mirror(it, *TRAIN)
            await is_as_it_was(it, uid)


async def test_a_late_write_of_an_earlier_leader_is_put_back(tmp_path: Path):
    """It has the hub's own account and field manager, and what it writes is older."""
    async with hub_clusters() as (cluster,), showing(tmp_path, cluster) as it:
        uid = await submit(it)
        await mirror(it, *TRAIN)
        async with account(cluster, tmp_path) as kube:
            old = {
                "metadata": {"annotations": {labels.SPEC_HASH: "older"}},
                "spec": {"parallelism": 9},
            }
            await kube.merge_patch(
                "batch/v1",
                "Job",
                "team-a",
                "train",
                old,
                field_manager=labels.BRIDGE_FIELD_MANAGER,
            )

        async def back() -> bool:
            job = await it.get(*TRAIN)
            return job["spec"]["parallelism"] == 2 and shown.written_version(job) != "older"

        await until(back)
        await is_as_it_was(it, uid)


async def test_a_late_mirror_of_an_earlier_leader_is_removed(tmp_path: Path):
    """Its row went before the request arrived."""
    async with hub_clusters() as (cluster,), showing(tmp_path, cluster) as it:
        uid = await submit(it)
        made = await mirror(it, *TRAIN)
        await remove_job(it, uid)
        await until(lambda: absent(it, *TRAIN))
        async with account(cluster, tmp_path) as kube:
            await kube.create(copied(made), field_manager=labels.BRIDGE_FIELD_MANAGER)
        await until(lambda: absent(it, *TRAIN))


async def test_a_copy_of_a_mirror_is_not_ours(tmp_path: Path):
    """Where no policy refuses it: it is neither removed nor taken, and says which label is reserved."""
    async with hub_clusters(mirror_policy=False) as (cluster,), showing(tmp_path, cluster) as it:
        uid = await submit(it)
        made = copied(await mirror(it, *TRAIN))
        made["metadata"]["name"] = "copy"
        made["metadata"]["annotations"].pop(
            labels.SUBMITTED_BY, None
        )  # it is not theirs who copies
        await it.kube.create(made, field_manager=FIELDS)
        reason, message = await until(lambda: warned(it, "copy"))
        assert (reason, labels.ORIGIN in message) == ("ReservedLabel", True)
        await remove_job(it, uid)
        await until(lambda: absent(it, *TRAIN))
        assert await it.get("Job", "copy", "team-a")


async def test_a_namespace_that_goes_comes_back_with_what_is_rests(tmp_path: Path):
    """The hub cluster's own controller deletes its mirrors; the job goes on."""
    async with showing(tmp_path) as it:
        uid = await submit(it)
        before = await mirror(it, *TRAIN)
        await it.kube.delete("v1", "Namespace", "", "team-a")

        async def again() -> bool:
            job = await it.get(*TRAIN)
            return bool(job) and job["metadata"]["uid"] != before["metadata"]["uid"]

        await until(again, 60)
        await is_as_it_was(it, uid)


async def test_a_quota_of_the_hub_cluster_is_told_and_waited_for(tmp_path: Path):
    """In the API server's words, once; the job goes on, and is shown when there is room."""
    async with hub_clusters() as (cluster,), showing(tmp_path, cluster) as it:
        await mirror(it, "LocalQueue", "team", "team-a")
        quota = Quota(cluster)
        uid = await submit(it)

        async def told() -> list[str]:
            return [text for reason, text in await said(it, uid) if reason.startswith("NotShown")]

        assert "exceeded quota" in (await until(told))[0]
        await is_as_it_was(it, uid)
        quota.full = False
        await until(lambda: it.get(*TRAIN), 60)
        assert len(await told()) == 1

        async def shown_at_last() -> bool:
            return "ShownOnHubCluster" in [reason for reason, _ in await said(it, uid)]

        await until(shown_at_last)


class Quota:
    """Refuses new Jobs as a ResourceQuota does, other numbers each time."""

    def __init__(self, cluster: SimCluster) -> None:
        self.full = True
        self._count = 0
        self._then = cluster.server.intercept
        cluster.server.intercept = self

    async def before(self, call: Call, verb: str) -> Reply | None:
        asked = call.resource is not None and call.resource.plural == "jobs" and not call.dry_run
        if self.full and verb == "create" and asked:
            self._count += 1
            why = f"exceeded quota: jobs, used: count/jobs.batch={self._count}"
            raise refusals.forbidden("jobs", "batch", "train", why)
        return await self._then.before(call, verb) if self._then else None

    async def after(self, call: Call, verb: str, reply: Reply) -> Reply:
        return await self._then.after(call, verb, reply) if self._then else reply


def copied(obj: dict[str, Any]) -> dict[str, Any]:
    """What `kubectl get -o yaml` gives, to be created anew."""
    kept = {name: obj["metadata"][name] for name in ("namespace", "name", "labels", "annotations")}
    spec = {k: v for k, v in obj["spec"].items() if k != "selector"}
    spec["template"] = {**spec["template"], "metadata": {}}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": kept, "spec": spec}


@contextlib.asynccontextmanager
async def administrator(cluster: SimCluster, tmp_path: Path) -> AsyncIterator[KubeClient]:
    """What an administrator of the hub cluster does while no hub runs."""
    path = tmp_path / "administrator.kubeconfig"
    path.write_text(cluster.kubeconfig_text())
    async with await KubeClient.connect(path) as kube:
        yield kube


@contextlib.asynccontextmanager
async def account(cluster: SimCluster, tmp_path: Path) -> AsyncIterator[KubeClient]:
    """What another process with the hub's account does."""
    async with await KubeClient.connect(tmp_path / "hubs-own.kubeconfig") as kube:
        yield kube


async def is_as_it_was(it: World, uid: str) -> None:
    row: Workload | None = await it.hub.hub.read(workloads.get, uid)
    assert row is not None
    assert (row.live, row.state, row.withdraw_to) == (True, "Pending", "")
    assert is_mirror({"metadata": {"labels": {labels.ORIGIN: row.origin}}})


async def stopped(it: World, reason: str) -> bool:
    return it.bridge.condition.reason == reason


async def warned(it: World, name: str) -> tuple[str, str] | None:
    return (await warnings(it)).get(name)
