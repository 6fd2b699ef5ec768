"""No submitter sets a number as priority, at any door: it comes from a class, or from an administrator."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
import pytest

from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.store import objects, workloads
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.kinds.registry import parse
from tests.api.people import a_user, bound
from tests.api.serving import START, Served, a_job, served
from tests.services.build import a_class, a_workload, in_cohort

pytestmark = pytest.mark.anyio
MERGE = {"content-type": "application/merge-patch+json"}
BIG = 2_000_000_000
HIGH = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
OF_PODS = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "pods-high"}
POD_CLASS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "pods-high"},
    "value": 500,
}
# Who may give a job of queue `a` in namespace team-a a number that no class says.
ROLES: dict[str, tuple[dict[str, Any], bool]] = {
    "submitter": ({"namespaces": ["team-a"]}, False),
    "submitter of the queue": ({"namespaces": ["team-a"], "queues": ["a"]}, False),
    "submitter everywhere": ({}, False),
    "batch-administrator": ({"namespaces": ["team-a"]}, True),
    "batch-administrator of the queue": ({"namespaces": ["team-a"], "queues": ["a"]}, True),
    "batch-administrator everywhere": ({}, True),
    "cluster-administrator": ({}, True),
}


@dataclass
class House:
    """A hub with queue `a`, classes and people."""

    hub: Served
    submitter: httpx.AsyncClient

    async def person(self, role: str, name: str = "p", **where: Any) -> httpx.AsyncClient:
        """A person with a role."""
        await bound(self.hub, name, role.split(maxsplit=1)[0], users=[name], **where)
        return await a_user(self.hub, name)

    async def row(self, uid: str) -> Workload | None:
        """A job as the store has it."""
        return await self.hub.db.read(lambda tx: workloads.get(tx, uid))

    async def priority(self, name: str) -> int | None:
        """The priority that the scheduler goes by; None: there is no such Workload."""

        def read(tx: Transaction) -> int | None:
            found = workloads.live_by_name(tx, [("team-a", name)], "Workload")
            return found["team-a", name].priority if found else None

        return await self.hub.db.read(read)


@contextlib.asynccontextmanager
async def house(tmp_path: Any) -> AsyncIterator[House]:
    async with served(tmp_path) as hub:
        for each in (*in_cohort("a", "4"), a_class("high", 1000), a_class("low", 5), POD_CLASS):
            reply = await hub.admin.post("/v1/apply", json=each)
            assert reply.status_code == 200, reply.text
        made = House(hub, hub.nobody)
        made.submitter = await made.person("submitter", "sue", namespaces=["team-a"])
        yield made


async def by_workloads(client: httpx.AsyncClient, manifest: Any) -> dict[str, Any]:
    return (await client.post("/v1/workloads", json=manifest)).json()


async def by_batch(client: httpx.AsyncClient, manifest: Any) -> dict[str, Any]:
    return (await client.post("/v1/jobs:batch", json=[manifest])).json()["items"][0]


async def by_apply(client: httpx.AsyncClient, manifest: Any) -> dict[str, Any]:
    return (await client.post("/v1/apply", json=manifest)).json()["items"][0]


async def by_apply_of_a_change(client: httpx.AsyncClient, manifest: Any) -> dict[str, Any]:
    """The Workload is there without a number, and is applied again with one."""
    plain = a_workload(manifest["metadata"]["name"])
    assert (await client.post("/v1/workloads", json=plain)).status_code == 201
    return await by_apply(client, manifest)


async def by_patch(client: httpx.AsyncClient, manifest: Any) -> dict[str, Any]:
    """The Workload is there without a number, and is patched."""
    name = manifest["metadata"]["name"]
    assert (await client.post("/v1/workloads", json=a_workload(name))).status_code == 201
    spec = {k: v for k, v in manifest["spec"].items() if k.startswith("priority")}
    content = orjson.dumps({"spec": spec})
    path = f"/v1/workloads/team-a/{name}"
    return (await client.patch(path, content=content, headers=MERGE)).json()


DOORS = {
    each.__name__.replace("_", "-"): each
    for each in (by_workloads, by_batch, by_apply, by_apply_of_a_change, by_patch)
}


@pytest.mark.parametrize("role", ROLES)
async def test_who_may_set_a_number(tmp_path, role):
    """Administrators of the queue may; a submitter is refused, with the field and the remedy."""
    where, may = ROLES[role]
    async with house(tmp_path) as there:
        person = await there.person(role, **where)
        for name, door in DOORS.items():
            told = await door(person, a_workload(name, priority=BIG))
            if may:
                assert "code" not in told, told
                assert await there.priority(name) == BIG
                continue
            assert told["code"] == "PriorityNotAllowed", told
            assert "spec.priority: 2000000000 is the number of no class" in told["detail"]
            assert "spec.priorityClassRef" in told["detail"]
            assert await there.priority(name) in (None, 0)


async def test_an_administrators_token_sets_a_number(tmp_path):
    """Executors that run Workloads themselves come with one."""
    async with house(tmp_path) as there:
        for name, door in DOORS.items():
            assert "code" not in await door(there.hub.admin, a_workload(name, priority=BIG))
            assert await there.priority(name) == BIG


async def test_an_administrator_of_another_place_is_a_submitter_here(tmp_path):
    """The role counts where it is bound: neither of another namespace nor of another queue."""
    async with house(tmp_path) as there:
        person = await there.person("submitter", namespaces=["team-a"])
        for number, given in enumerate(({"namespaces": ["team-b"]}, {"queues": ["b"]})):
            await bound(there.hub, f"more-{number}", "batch-administrator", users=["p"], **given)
        for name, door in DOORS.items():
            told = await door(person, a_workload(name, priority=BIG))
            assert told["code"] == "PriorityNotAllowed"


async def test_a_submitter_names_a_class_with_its_value(tmp_path):
    """As an export of a Workload says it."""
    async with house(tmp_path) as there:
        for name, door in DOORS.items():
            given = a_workload(name, priority=1000, priorityClassRef=HIGH)
            assert "code" not in await door(there.submitter, given)
            assert await there.priority(name) == 1000


WRONG = {
    "another value": (
        {"priority": 1001, "priorityClassRef": HIGH},
        "PriorityNotAllowed",
        "is 1001, and WorkloadPriorityClass high is 1000: set it to 1000",
    ),
    "a lower value": (
        {"priority": 999, "priorityClassRef": HIGH},
        "PriorityNotAllowed",
        "is 999, and WorkloadPriorityClass high is 1000: set it to 1000",
    ),
    "no such class": (
        {"priority": BIG, "priorityClassRef": {**HIGH, "name": "none"}},
        "PriorityClassNotFound",
        "WorkloadPriorityClass none does not exist; there are high, low",
    ),
    "no such class of pods": (
        {"priority": BIG, "priorityClassRef": {**OF_PODS, "name": "none"}},
        "PriorityClassNotFound",
        "PriorityClass none does not exist; there are pods-high",
    ),
    "below zero": ({"priority": -1}, "PriorityNotAllowed", "-1 is the number of no class"),
}


@pytest.mark.parametrize(("spec", "code", "detail"), WRONG.values(), ids=WRONG)
async def test_a_number_beside_a_class_is_that_of_the_class(tmp_path, spec, code, detail):
    """A class that is not there, or says another number, is refused."""
    async with house(tmp_path) as there:
        for name, door in DOORS.items():
            told = await door(there.submitter, a_workload(name, **spec))
            assert (told["code"], detail in told["detail"]) == (code, True), told


async def test_a_class_of_pods_that_the_hub_has_may_be_named(tmp_path):
    """Kueue takes the PriorityClass of the pod template where no WorkloadPriorityClass is named."""
    async with house(tmp_path) as there:
        given = a_workload("w", priority=500, priorityClassRef=OF_PODS)
        assert "code" not in await by_workloads(there.submitter, given)
        assert await there.priority("w") == 500


async def test_no_number_and_zero_need_no_class(tmp_path):
    """Both are the default."""
    async with house(tmp_path) as there:
        both: dict[str, dict[str, Any]] = {"none": {}, "zero": {"priority": 0}}
        for name, given in both.items():
            assert "code" not in await by_workloads(there.submitter, a_workload(name, **given))


async def test_what_a_workload_has_stays_where_nobody_changes_it(tmp_path):
    """The owner applies and patches a Workload whose number was accepted earlier."""
    async with house(tmp_path) as there:
        spec: dict[str, Any] = {"priority": 1000, "priorityClassRef": HIGH}
        assert "code" not in await by_workloads(there.submitter, a_workload("w", **spec))
        edited = await by_apply(there.hub.admin, a_class("high", 2000))
        assert edited["result"] == "configured"
        again = await by_apply(there.submitter, a_workload("w", active=False, **spec))
        assert again["result"] == "configured", again
        assert await there.priority("w") == 1000
        content = orjson.dumps({"spec": {"maximumExecutionTimeSeconds": 60}})
        path = "/v1/workloads/team-a/w"
        patched = await there.submitter.patch(path, content=content, headers=MERGE)
        assert patched.status_code == 200, patched.text


async def test_a_workload_that_waits_for_its_queue_is_judged_when_it_comes(tmp_path):
    """Kept as an object, it becomes a job once the queue is there: with a number that was allowed."""
    async with house(tmp_path) as there:
        told = await by_apply(there.submitter, a_workload("w", queue="late", priority=BIG))
        assert told["code"] == "PriorityNotAllowed"
        spec: dict[str, Any] = {"priority": 1000, "priorityClassRef": HIGH}
        told = await by_apply(there.submitter, a_workload("w", queue="late", **spec))
        assert told["result"] == "created", told
        told = await by_apply(there.submitter, a_workload("w", queue="late", priority=BIG))
        assert told["code"] == "PriorityNotAllowed"
        told = await by_apply(there.hub.admin, a_workload("x", queue="late", priority=BIG))
        assert told["result"] == "created", told
        for each in in_cohort("late", "4"):
            await there.hub.admin.post("/v1/apply", json=each)
        assert (await there.priority("w"), await there.priority("x")) == (1000, BIG)


def with_pod(manifest: dict[str, Any], **pod: Any) -> dict[str, Any]:
    """The Job or Workload, with fields in its pods."""
    spec = manifest["spec"]
    template = spec["template"] if "template" in spec else spec["podSets"][0]["template"]
    template["spec"].update(pod)
    return manifest


async def by_jobs(client: httpx.AsyncClient, manifest: Any) -> dict[str, Any]:
    return (await client.post("/v1/jobs", json=manifest)).json()


async def test_a_number_in_a_pod_template_is_refused(tmp_path):
    """A submitter's Job names a class there, and the cluster sets the number."""

    def job(name: str, **pod: Any) -> dict[str, Any]:
        return with_pod(a_job(name, queue="a"), **pod)

    async with house(tmp_path) as there:
        for name, door in {"j": by_jobs, "b": by_batch, "a": by_apply}.items():
            told = await door(there.submitter, job(name, priority=7))
            assert told["code"] == "PriorityNotAllowed", told
            assert "spec.template.spec.priority: leave the number out" in told["detail"]
            other = job(name, priority=7, priorityClassName="pods-high")
            assert (await door(there.submitter, other))["code"] == "PriorityNotAllowed"
            same = job(name, priority=500, priorityClassName="pods-high")
            assert "code" not in await door(there.submitter, same)
            assert "code" not in await door(there.hub.admin, job(f"{name}-2", priority=7))


async def test_a_number_in_a_workloads_pods_is_refused(tmp_path):
    """The field names the pod set."""
    async with house(tmp_path) as there:
        given = with_pod(a_workload("w"), priority=7)
        told = await by_workloads(there.submitter, given)
        assert told["code"] == "PriorityNotAllowed"
        assert told["errors"][0]["field"] == "spec.podSets[0].template.spec.priority"


async def test_a_job_takes_its_priority_from_its_class_alone(tmp_path):
    """A class of its pods changes nothing in the hub's queues."""
    async with house(tmp_path) as there:

        async def priority(manifest: dict[str, Any]) -> int:
            told = await by_jobs(there.submitter, manifest)
            return int((await there.submitter.get(f"/v1/jobs/{told['uid']}")).json()["priority"])

        job = a_job("k", queue="a")
        job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
        assert await priority(job) == 1000
        assert await priority(with_pod(a_job("j", queue="a"), priorityClassName="pods-high")) == 0


async def test_what_a_workload_says_of_its_own_admission_is_ignored(tmp_path):
    """A posted status or creation time gives no place in the queue and no quota; a uid is refused."""
    status = {"admission": {"clusterQueue": "a"}, "nominatedClusterNames": ["c1"]}
    async with house(tmp_path) as there:
        for name, door in {"w": by_workloads, "b": by_batch, "a": by_apply}.items():
            given = {**a_workload(name), "status": status}
            given["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z"
            uid = (await door(there.submitter, given))["uid"]
            row = await there.row(uid)
            assert row is not None
            assert (row.state, row.cluster_queue, row.cluster) == ("Pending", "", "")
            assert row.created_at == row.queued_at == START
            given["metadata"] |= {"name": f"{name}-2", "uid": "u"}
            assert (await door(there.submitter, given))["code"] == "ForbiddenField"


@pytest.mark.parametrize("value", ["abc", [1]])
async def test_a_class_that_an_earlier_release_stored_unread_is_reported(tmp_path, value):
    """Its value is no number: who names it is refused, and the rest of a batch is taken."""
    async with house(tmp_path) as there:

        def spoil(tx: Transaction) -> None:
            row = objects.find(tx, "scheduling.k8s.io", "PriorityClass", "", "pods-high")
            assert row is not None
            objects.change(tx, row.uid, manifest={**row.manifest, "value": value})

        await there.hub.db.write(spoil)
        named = a_workload("w", priority=500, priorityClassRef=OF_PODS)
        of_pods = with_pod(a_job("j", queue="a"), priority=500, priorityClassName="pods-high")
        documents = [named, of_pods, a_job("k", queue="a")]
        items = (await there.submitter.post("/v1/jobs:batch", json=documents)).json()["items"]
        codes = [each.get("code") for each in items]
        assert codes == ["PriorityClassNotFound", "PriorityNotAllowed", None], items
        assert "PriorityClass pods-high has no integer value" in items[0]["detail"]


@pytest.mark.parametrize("kind", ["LocalQueue", "WorkloadPriorityClass", "PriorityClass"])
async def test_a_submitter_gives_no_weight_and_makes_no_class(tmp_path, kind):
    """Fair-share weights and classes are for administrators."""
    manifests = {
        "LocalQueue": {**in_cohort("a", "4")[2]},
        "WorkloadPriorityClass": a_class("mine", BIG),
        "PriorityClass": {**POD_CLASS, "metadata": {"name": "mine"}},
    }
    given = manifests[kind]
    if kind == "LocalQueue":
        given["spec"] = {**given["spec"], "fairSharing": {"weight": "100"}}
    async with house(tmp_path) as there:
        assert (await by_apply(there.submitter, given))["code"] == "Forbidden"


async def test_workloads_of_the_hub_cluster_are_its_roles_to_judge(tmp_path):
    """A Job that came by kubectl carries no number in its pods; what the bridge takes is refused here."""
    async with house(tmp_path) as there:
        job = parse(with_pod(a_job("j", queue="a"), priority=7), origin="hub-cluster")

        def take(tx: Transaction) -> Any:
            return apply_documents(
                tx,
                [draft(job, tx.now, origin="hub-cluster", uid="u")],
                there.hub.hub.settings.intake,
            )

        (applied,) = await there.hub.db.write(take)
        assert applied.error is not None
        assert applied.error.code == "PriorityNotAllowed"


@pytest.mark.parametrize("door", ["patch", "apply"])
async def test_a_number_does_not_move_to_a_queue_of_others(tmp_path, door):
    """An administrator of queue `a` who may submit to `b` moves a Workload there: the number is refused."""
    async with house(tmp_path) as it:
        for each in in_cohort("b", "4"):
            assert (await it.hub.admin.post("/v1/apply", json=each)).status_code == 200
        await bound(
            it.hub,
            "admin-of-a",
            "batch-administrator",
            users=["p"],
            namespaces=["team-a"],
            queues=["a"],
        )
        await bound(it.hub, "submits", "submitter", users=["p"], namespaces=["team-a"])
        client = await a_user(it.hub, "p")
        manifest = a_workload("one")
        manifest["spec"]["priority"] = BIG
        assert (await client.post("/v1/workloads", json=manifest)).status_code == 201
        if door == "patch":
            content = orjson.dumps({"spec": {"queueName": "b"}})
            path = "/v1/workloads/team-a/one"
            said = (await client.patch(path, content=content, headers=MERGE)).json()
        else:
            manifest["spec"]["queueName"] = "b"
            said = await by_apply(client, manifest)
        assert "PriorityNotAllowed" in str(said)
