"""Workloads that are kept as objects until their queue exists: they belong to whoever submitted them."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from hub.services.mirror.objects import take
from hub.services.reading.draft import draft
from hub.store import events, objects, workloads
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared import labels
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.registry import parse
from tests.api.people import a_user, bound
from tests.api.serving import Served, a_job, served
from tests.services.build import a_workload, in_cohort

pytestmark = pytest.mark.anyio
NUMBER = 900


@dataclass
class House:
    """A hub with queue `a` in team-a, where ana and ben submit and bat administers."""

    hub: Served
    ana: httpx.AsyncClient
    ben: httpx.AsyncClient
    bat: httpx.AsyncClient

    async def held(self, name: str = "h") -> StoredObject | None:
        """The Workload as it is kept, if it is."""
        return await self.hub.db.read(
            lambda tx: objects.find(tx, KUEUE, "Workload", "team-a", name)
        )

    async def job(self, name: str = "h") -> Workload | None:
        """The job that has the name, if there is one."""

        def read(tx: Transaction) -> Workload | None:
            return workloads.live_by_name(tx, [("team-a", name)], "Workload").get(("team-a", name))

        return await self.hub.db.read(read)

    async def keep(self, client: httpx.AsyncClient, **given: Any) -> StoredObject:
        """Apply Workload `h` for a queue that does not exist."""
        told = await applied(client, a_workload("h", queue="late", **given))
        assert told["result"] == "created", told
        row = await self.held()
        assert row is not None
        return row

    async def make_queue(self) -> None:
        """The queue that held Workloads wait for appears."""
        for each in in_cohort("late", "4"):
            assert (await applied(self.hub.admin, each))["result"] in {"created", "unchanged"}


@contextlib.asynccontextmanager
async def house(tmp_path: Any) -> AsyncIterator[House]:
    async with served(tmp_path) as hub:
        for each in in_cohort("a", "4"):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        await bound(hub, "submit", "submitter", users=["ana", "ben"], namespaces=["team-a"])
        await bound(hub, "admin", "batch-administrator", users=["bat"], namespaces=["team-a"])
        ana, ben, bat = [await a_user(hub, name) for name in ("ana", "ben", "bat")]
        yield House(hub, ana, ben, bat)


async def applied(client: httpx.AsyncClient, manifest: Any) -> dict[str, Any]:
    return (await client.post("/v1/apply", json=manifest)).json()["items"][0]


def with_image(manifest: dict[str, Any], image: str) -> dict[str, Any]:
    manifest["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["image"] = image
    return manifest


def with_pod(manifest: dict[str, Any], **pod: Any) -> dict[str, Any]:
    manifest["spec"]["podSets"][0]["template"]["spec"].update(pod)
    return manifest


REFUSED = {
    "a number": a_workload("h", priority=5),
    "a number in its pods": with_pod(a_workload("h"), priority=5),
    "a number, and no queue": a_workload("h", queue="later", priority=5),
}


@pytest.mark.parametrize("owner", ["ana", "ben", "bat"])
@pytest.mark.parametrize("manifest", REFUSED.values(), ids=REFUSED)
async def test_a_refused_apply_removes_no_held_workload(tmp_path, manifest, owner):
    """A refused document changes nothing, neither one's own Workload nor somebody else's."""
    async with house(tmp_path) as it:
        before = await it.keep(getattr(it, owner))
        told = await applied(it.ben, manifest)
        assert told["result"] == "rejected", told
        assert await it.held() == before
        assert await it.job() is None


async def test_only_what_was_accepted_replaces_what_is_held(tmp_path):
    """In one request, the accepted Workload becomes a job and the refused one leaves its object."""
    async with house(tmp_path) as it:
        for name in ("good", "bad"):
            assert (await applied(it.ben, a_workload(name, queue="late")))["result"] == "created"
        documents = [a_workload("bad", priority=5), a_workload("good")]
        reply = await it.ben.post("/v1/apply", json=documents)
        assert [each["result"] for each in reply.json()["items"]] == ["rejected", "created"]
        assert (await it.held("bad") is None, await it.held("good") is None) == (False, True)
        assert (await it.job("bad") is None, await it.job("good") is None) == (True, False)


@pytest.mark.parametrize("queue", ["a", "late"])
async def test_a_submitter_replaces_nobody_elses_held_workload(tmp_path, queue):
    """The rule for a job of another owner: Forbidden, whether the queue it names exists or not."""
    async with house(tmp_path) as it:
        job = await applied(it.ana, a_job("j", queue="a"))
        assert job["result"] == "created", job
        of_job = await applied(it.ben, a_job("j", queue="a"))
        before = await it.keep(it.ana)
        told = await applied(it.ben, with_image(a_workload("h", queue=queue), "evil"))
        assert (told["result"], told["code"]) == ("rejected", of_job["code"])
        assert told["code"] == "Forbidden"
        assert await it.held() == before
        assert await it.job() is None


async def test_who_is_bound_to_another_queue_replaces_no_held_workload(tmp_path):
    """The queue that counts is the one which the held Workload names."""
    async with house(tmp_path) as it:
        await bound(it.hub, "of-a", "batch-administrator", users=["cq"], queues=["a"])
        before = await it.keep(it.ana)
        told = await applied(await a_user(it.hub, "cq"), a_workload("h"))
        assert (told["result"], told["code"]) == ("rejected", "Forbidden")
        assert await it.held() == before


@pytest.mark.parametrize("door", ["/v1/workloads", "/v1/jobs:batch"])
async def test_a_held_workload_keeps_its_name(tmp_path, door):
    """POST and batch create; what holds the name already is replaced by apply alone."""
    async with house(tmp_path) as it:
        before = await it.keep(it.ana)
        many = door.endswith("batch")
        for client in (it.ana, it.ben):
            given = a_workload("h")
            told = (await client.post(door, json=[given] if many else given)).json()
            told = told["items"][0] if many else told
            assert told["code"] == "AlreadyExists", told
        assert await it.held() == before
        assert await it.job() is None


async def test_what_the_bridge_is_refused_leaves_what_is_held(tmp_path):
    """A Workload of kubectl whose name a job of REST took stays stored when it is refused."""
    async with house(tmp_path) as it:

        async def bring(manifest: dict[str, Any], uid: str) -> str:
            def run(tx: Transaction) -> str:
                parsed = parse(manifest, origin="hub-cluster")
                given = draft(parsed, tx.now, origin="hub-cluster", uid=uid)
                (answer,) = take(tx, [given], it.hub.hub.settings.intake)
                return answer.result

            return await it.hub.db.write(run)

        assert await bring(a_workload("h", queue="late"), "u") == "created"
        before = await it.held()
        job = with_pod(a_workload("h"), priority=7)
        assert await bring(job, "u") == "rejected"
        assert await it.held() == before
        assert await bring(a_workload("h"), "u") == "created"
        assert await it.held() is None
        taken = await it.job()
        assert taken is not None
        assert taken.uid == "u"


async def test_an_owner_does_not_reuse_an_administrators_number(tmp_path):
    """An administrator gave ana's held Workload a number: with other pods ana brings the class's or none."""
    async with house(tmp_path) as it:
        await it.keep(it.ana)
        numbered = a_workload("h", queue="late", priority=NUMBER)
        assert (await applied(it.bat, numbered))["result"] == "configured"
        before = await it.held()
        other = with_image(a_workload("h", queue="late", priority=NUMBER), "other")
        for client in (it.ana, it.ben):
            told = await applied(client, other)
            refused = "PriorityNotAllowed" if client is it.ana else "Forbidden"
            assert (told["result"], told["code"]) == ("rejected", refused)
        assert await it.held() == before
        await it.make_queue()
        job = await it.job()
        assert job is not None
        assert (job.priority, job.owner) == (NUMBER, "ana")


async def test_an_owner_keeps_the_number_of_an_unchanged_spec(tmp_path):
    """New labels are no new spec: the administrator's number stays, until the job is admitted."""
    async with house(tmp_path) as it:
        await it.keep(it.ana)
        numbered = a_workload("h", queue="late", priority=NUMBER)
        assert (await applied(it.bat, numbered))["result"] == "configured"
        numbered["metadata"]["labels"] = {"team": "x"}
        assert (await applied(it.ana, numbered))["result"] == "configured"
        await it.make_queue()
        job = await it.job()
        assert job is not None
        assert (job.priority, job.labels) == (NUMBER, {"team": "x"})


async def forget_writer(it: House, number: int) -> None:
    """As an earlier release stored it: a number, and nothing of who wrote it."""

    def run(tx: Transaction) -> None:
        row = objects.find(tx, KUEUE, "Workload", "team-a", "h")
        assert row is not None
        kept = {k: v for k, v in row.annotations.items() if k != labels.PRIORITY_FROM}
        changed = draft(parse(a_workload("h", queue="late", priority=number)), tx.now)
        spec, manifest = changed.parsed.spec, changed.manifest
        objects.change(
            tx, row.uid, annotations=kept, spec=spec, manifest=manifest, hash=changed.hash
        )

    await it.hub.db.write(run)


async def test_a_number_of_which_nobody_knows_the_writer_is_not_admitted(tmp_path):
    """A number that an earlier release stored unjudged stays held with a Warning event."""
    async with house(tmp_path) as it:
        kept = await it.keep(it.ana)
        await forget_writer(it, NUMBER)
        await it.make_queue()
        assert await it.job() is None
        said = await it.hub.db.read(lambda tx: events.list_events(tx, uid=kept.uid))
        assert any("PriorityNotAllowed" in each.reason for each in said)


async def test_a_refusal_of_a_held_workload_is_said_once(tmp_path):
    """A change of queues tries it again; the same refusal is no new Event, and stands in its condition."""
    async with house(tmp_path) as it:
        kept = await it.keep(it.ana)
        await forget_writer(it, NUMBER)
        await it.make_queue()
        for name in ("x", "y"):
            for each in in_cohort(name, "4"):
                await applied(it.hub.admin, each)
        said = await it.hub.db.read(lambda tx: events.list_events(tx, uid=kept.uid))
        assert [each.reason for each in said].count("PriorityNotAllowed") == 1
        row = await it.held()
        assert row is not None
        (condition,) = (row.status or {})["conditions"]
        assert condition["reason"] == "PriorityNotAllowed"


async def test_an_administrator_confirms_a_number_by_applying_it_again(tmp_path):
    """The spec is unchanged; what changes is who answers for its number. Its owner can not confirm it."""
    async with house(tmp_path) as it:
        await it.keep(it.ana)
        await forget_writer(it, NUMBER)
        numbered = a_workload("h", queue="late", priority=NUMBER)
        assert (await applied(it.ana, numbered))["code"] == "PriorityNotAllowed"
        assert (await applied(it.bat, numbered))["result"] == "unchanged"
        await it.make_queue()
        job = await it.job()
        assert job is not None
        assert (job.priority, job.owner) == (NUMBER, "ana")


OBJECT = "/v1/objects/kueue.x-k8s.io/Workload/namespaces/team-a/h"
DOORS = {"workloads": "/v1/workloads/team-a/h", "objects": OBJECT}


@pytest.mark.parametrize("path", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("who", ["ana", "bat"])
async def test_who_may_delete_a_held_workload(tmp_path, path, who):
    """Its owner and an administrator of its queue; the audit names them."""
    async with house(tmp_path) as it:
        kept = await it.keep(it.ana)
        reply = await getattr(it, who).delete(path)
        assert (reply.status_code, reply.json()["uid"]) == (200, kept.uid), reply.text
        assert await it.held() is None
        audit = (await it.hub.admin.get(f"/v1/audit?principal={who}&verb=delete")).json()["items"]
        assert [each["object"] for each in audit] == ["Workload/team-a/h"]
        await it.make_queue()
        assert await it.job() is None


@pytest.mark.parametrize("path", DOORS.values(), ids=DOORS)
async def test_nobody_else_deletes_a_held_workload(tmp_path, path):
    """Another submitter is refused, and one of another queue or namespace finds nothing."""
    async with house(tmp_path) as it:
        before = await it.keep(it.ana)
        await bound(it.hub, "of-a", "batch-administrator", users=["cq"], queues=["a"])
        await bound(it.hub, "of-b", "batch-administrator", users=["nb"], namespaces=["team-b"])
        people = {"ben": 403, "cq": 404, "nb": 404}
        for name, status in people.items():
            reply = await (await a_user(it.hub, name)).delete(path)
            assert reply.status_code == status, (name, reply.text)
        assert await it.held() == before


@pytest.mark.parametrize("path", DOORS.values(), ids=DOORS)
async def test_an_owner_bound_to_one_queue_deletes_a_held_workload_of_it(tmp_path, path):
    """Their role shows them jobs of that queue alone, and this is one that is to be."""
    async with house(tmp_path) as it:
        where = {"namespaces": ["team-a"], "queues": ["late"]}
        await bound(it.hub, "late", "submitter", users=["lea"], **where)
        lea = await a_user(it.hub, "lea")
        await it.keep(lea)
        assert (await lea.delete(path)).status_code == 200
        assert await it.held() is None


@pytest.mark.parametrize("path", DOORS.values(), ids=DOORS)
async def test_a_held_workload_of_another_uid_is_not_deleted(tmp_path, path):
    """The precondition holds for it as for jobs."""
    async with house(tmp_path) as it:
        before = await it.keep(it.ana)
        body = {"preconditions": {"uid": "another"}}
        reply = await it.ana.request("DELETE", path, json=body)
        assert (reply.status_code, reply.json()["code"]) == (409, "PreconditionFailed")
        assert await it.held() == before


async def test_a_submitter_deletes_no_local_queue(tmp_path):
    """The route lets owners in for their Workloads, and for nothing else."""
    async with house(tmp_path) as it:
        path = "/v1/objects/kueue.x-k8s.io/LocalQueue/namespaces/team-a/a"
        assert (await it.ana.delete(path)).json()["code"] == "Forbidden"
        other = "/v1/objects/core/ConfigMap/namespaces/team-a/a"
        assert (await it.ana.delete(other)).json()["code"] == "Forbidden"
        assert (await it.bat.delete(path)).status_code == 200


async def test_a_job_that_was_held_is_its_submitters_to_end(tmp_path):
    """Admitted, it has the owner that it had while it was held."""
    async with house(tmp_path) as it:
        await it.keep(it.ana)
        await it.make_queue()
        job = await it.job()
        assert job is not None
        assert job.owner == "ana"
        assert (await it.ben.delete(DOORS["workloads"])).status_code == 403
        assert (await it.ana.delete(DOORS["workloads"])).status_code == 200
