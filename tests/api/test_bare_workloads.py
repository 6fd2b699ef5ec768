"""Bare Workloads through REST: handed in, followed, ended by whoever runs them."""

import asyncio
from typing import Any

import httpx
import orjson
import pytest

from hub.domain.workloads.states import Transition
from hub.services.questions import watch as watching
from hub.store import workloads
from hub.store.records.workloads import move_of
from hub.store.transaction import Transaction
from tests.api.serving import Served, a_job, served
from tests.services.build import a_workload, in_cohort

pytestmark = pytest.mark.anyio
PATH = "/v1/workloads/team-a/w"
MERGE = {"content-type": "application/merge-patch+json"}


async def with_queue(hub: Served) -> None:
    for manifest in in_cohort("a", "4"):
        assert (await hub.admin.post("/v1/apply", json=manifest)).status_code == 200


async def hand_in(hub: Served, **given: Any) -> str:
    reply = await hub.admin.post("/v1/workloads", json=a_workload("w", **given))
    assert reply.status_code == 201, reply.text
    return str(reply.json()["uid"])


async def admit(hub: Served, uid: str) -> None:
    """As a scheduling cycle does."""

    def run(tx: Transaction) -> None:
        row = workloads.get(tx, uid)
        assert row is not None
        admission = {
            "podSets": [{"name": "main", "count": 1, "flavors": {}, "usage": {"cpu": 1000}}]
        }
        charged: Any = {"cluster": "", "admission": admission, "cluster_queue": "a"}
        assert workloads.transition(tx, Transition.PLACE, [move_of(uid, row.epoch, charged)]) == [
            uid
        ]

    await hub.db.write(run)


async def report(hub: Served, query: str = "", **status: Any) -> httpx.Response:
    content = orjson.dumps({"status": status})
    return await hub.admin.patch(f"{PATH}/status{query}", content=content, headers=MERGE)


def finished(reason: str = "Succeeded", message: str = "") -> dict[str, str]:
    return {"type": "Finished", "status": "True", "reason": reason, "message": message}


async def test_it_is_handed_in_like_a_job(tmp_path):
    """POST /v1/workloads, the batch and apply take it: it waits, a unit of admission of its own."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        uid = await hand_in(hub)
        shown = (await hub.admin.get(f"/v1/jobs/{uid}")).json()
        assert (shown["kind"], shown["state"], shown["queue"]) == ("Workload", "Pending", "a")
        batch = await hub.admin.post("/v1/jobs:batch", json=[a_workload("x"), a_workload("w")])
        assert [i.get("code") for i in batch.json()["items"]] == [None, "AlreadyExists"]
        applied = await hub.admin.post("/v1/apply", json=a_workload("w"))
        assert applied.json()["items"][0]["result"] == "unchanged"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"queueName": "nowhere"}, "QueueNotFound"),
        ({"queueName": None}, "Required"),
        ({"podSets": []}, "Required"),
        ({"podSets": None}, "Required"),
        ({"maximumExecutionTimeSeconds": 0}, "OutOfRange"),
    ],
)
async def test_what_is_wrong_with_it_is_said(tmp_path, changes, code):
    """A queue that is not there, none at all, no pod sets: 422 with the field."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        manifest = a_workload("w")
        manifest["spec"] |= changes
        manifest["spec"] = {k: v for k, v in manifest["spec"].items() if v is not None}
        reply = await hub.admin.post("/v1/workloads", json=manifest)
        assert (reply.status_code, reply.json()["code"]) == (422, code)


LIMITED = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
HUGE = {"requests": {"memory": "9E"}}


@pytest.mark.parametrize(
    ("asked", "code"), [(LIMITED, "RequestAboveLimit"), (HUGE, "QuantityTooLarge")]
)
async def test_what_can_not_be_admitted_is_kept_and_says_why(tmp_path, asked, code):
    """Applied, it holds nothing and waits, as with Kueue; handed in, it is refused; mended, it is a unit."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        wrong = a_workload("w", count=100)
        wrong["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"] = asked
        reply = await hub.admin.post("/v1/workloads", json=wrong)
        assert (reply.status_code, reply.json()["code"]) == (422, code)
        assert reply.json()["errors"][0]["field"].startswith("spec.podSets[0].template.")
        (item,) = (await hub.admin.post("/v1/apply", json=wrong)).json()["items"]
        assert (item["result"], len(item["warnings"])) == ("created", 1)
        path = "/v1/objects/kueue.x-k8s.io/Workload/namespaces/team-a/w"
        (condition,) = (await hub.admin.get(path)).json()["status"]["conditions"]
        told = (condition["type"], condition["status"], condition["reason"])
        assert told == ("QuotaReserved", "False", "Inadmissible")
        assert "podSets[0]" in condition["message"]
        assert (await hub.admin.get("/v1/jobs")).json()["items"] == []
        mended = await hub.admin.post("/v1/apply", json=a_workload("w"))
        assert mended.json()["items"][0]["result"] == "created"
        (tx,) = (await hub.admin.get("/v1/jobs")).json()["items"]
        assert (tx["kind"], tx["state"]) == ("Workload", "Pending")
        again = (await hub.admin.post("/v1/apply", json=wrong)).json()
        assert again["code"] == code, "one that waits or runs is not made worse"


async def test_an_executor_ends_it_by_its_status(tmp_path):
    """Condition Finished ends it, reason Failed as failed; told again, or otherwise, it stays so."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        uid = await hand_in(hub)
        await admit(hub, uid)
        reply = await report(hub, conditions=[finished("Failed", "exit 3")])
        assert (reply.status_code, reply.json()["state"]) == (200, "Failed")
        shown = (await hub.admin.get(f"/v1/jobs/{uid}")).json()
        assert (shown["reason"], shown["message"]) == ("Failed", "exit 3")
        assert shown["finishedAt"]
        assert (await report(hub, conditions=[finished()])).json()["state"] == "Failed"


async def test_its_pods_are_ready_or_no_longer_are(tmp_path):
    """Condition PodsReady is the executor's to say; a status patch shows in the Workload."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        uid = await hand_in(hub)
        await admit(hub, uid)

        async def told(status: str) -> tuple[int, bool, bool]:
            await report(hub, conditions=[{"type": "PodsReady", "status": status}])
            row = await hub.hub.read(workloads.get, uid)
            assert row is not None
            return row.ready, row.pods_ready_at is not None, row.pods_lost_at is not None

        assert await told("True") == (1, True, False)
        assert await told("False") == (0, True, True)
        assert await told("True") == (1, True, False)


async def test_done_is_done(tmp_path):
    """The end counts in whatever state the hub has it: eviction and end may cross."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        await hand_in(hub)
        assert (await report(hub, conditions=[finished("ByTest")])).json()["state"] == "Succeeded"


async def test_a_report_about_another_run_can_be_refused(tmp_path):
    """With `epoch`, or metadata.uid, what is said of a run that was taken back ends nothing."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        uid = await hand_in(hub)
        await admit(hub, uid)
        reply = await report(hub, "?epoch=0", conditions=[finished()])
        assert (reply.status_code, reply.json()["code"]) == (409, "PreconditionFailed")
        content = orjson.dumps({"metadata": {"uid": "x"}, "status": {}})
        reply = await hub.admin.patch(f"{PATH}/status", content=content, headers=MERGE)
        assert (reply.status_code, reply.json()["code"]) == (409, "PreconditionFailed")
        assert (await report(hub, "?epoch=1", conditions=[finished()])).json()["state"] == (
            "Succeeded"
        )


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"admission": None}, "ForbiddenField"),
        ({"conditions": {}}, "InvalidType"),
        ({"conditions": [{"type": "Finished", "status": True}]}, "UnsupportedValue"),
        ({"conditions": [finished() | {"reason": 3}]}, "InvalidType"),
        ({"reclaimablePods": [{"name": "main", "count": -1}]}, "OutOfRange"),
    ],
)
async def test_what_it_may_not_say_is_refused(tmp_path, status, code):
    """Fields that are the hub's, and what can not be read, with the place named."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        await hand_in(hub)
        reply = await report(hub, **status)
        assert (reply.status_code, reply.json()["code"]) == (422, code)


async def test_reports_that_arrive_together_stand_for_themselves(tmp_path):
    """One about a Workload that is not there is a 404 and stops no other."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        await hand_in(hub)
        content = orjson.dumps({"status": {"conditions": [finished()]}})
        replies = await asyncio.gather(
            *(
                hub.admin.patch(
                    f"/v1/workloads/team-a/{name}/status", content=content, headers=MERGE
                )
                for name in ("gone", "w", "w")
            )
        )
        assert [r.status_code for r in replies] == [404, 200, 200]


async def test_a_report_counts_as_a_whole_or_not_at_all(tmp_path):
    """Where one part of it is refused, none of it is done."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        uid = await hand_in(hub)
        await admit(hub, uid)
        ready = {"type": "PodsReady", "status": "True"}
        too_many = [{"name": "main", "count": 5}]
        reply = await report(hub, conditions=[ready], reclaimablePods=too_many)
        assert (reply.status_code, reply.json()["code"]) == (422, "OutOfRange")
        assert (await hub.admin.get(f"/v1/jobs/{uid}")).json()["counts"]["ready"] == 0


async def test_it_is_changed_and_deleted(tmp_path):
    """A merge patch of its spec, active among it; deleted it gives its name back at once."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        uid = await hand_in(hub)
        content = b'{"spec": {"active": false, "priority": 7}}'
        reply = await hub.admin.patch(PATH, content=content, headers=MERGE)
        assert (reply.status_code, reply.json()["spec"]["active"]) == (200, False)
        shown = (await hub.admin.get(f"/v1/jobs/{uid}")).json()
        assert (shown["state"], shown["reason"], shown["priority"]) == ("Held", "Deactivated", 7)
        reply = await hub.admin.patch(PATH, content=b'{"spec": {"active": true}}', headers=MERGE)
        assert (await hub.admin.get(f"/v1/jobs/{uid}")).json()["state"] == "Pending"
        assert (await hub.admin.delete(PATH)).status_code == 200
        assert (await hub.admin.get(PATH)).status_code == 404
        await hand_in(hub)


async def test_the_workload_of_a_job_follows_its_job(tmp_path):
    """It is neither ended, nor changed, nor deleted by itself."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        await hub.admin.post("/v1/jobs", json=a_job("w", queue="a"))
        (item,) = (await hub.admin.get("/v1/workloads")).json()["items"]
        path = f"/v1/workloads/team-a/{item['metadata']['name']}"
        content = orjson.dumps({"status": {"conditions": [finished()]}})
        replies = [
            await hub.admin.patch(f"{path}/status", content=content, headers=MERGE),
            await hub.admin.patch(path, content=b'{"spec": {"priority": 7}}', headers=MERGE),
            await hub.admin.delete(path),
        ]
        assert [r.json()["code"] for r in replies] == ["ForbiddenField"] * 3


async def test_watchers_are_told_how_workloads_stand(tmp_path):
    """What was touched since a revision, as it is now; filters hold; an old revision is 410."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        before = hub.db.revision
        uid = await hand_in(hub)
        await admit(hub, uid)
        ask = watching.news
        reached, items, more = await hub.hub.read(ask, before, {"kind": "Workload"}, 200)
        (item,) = items
        assert (reached, more) == (hub.db.revision, False)
        assert (item["uid"], item["state"], item["reason"]) == (uid, "Placed", "Admitted")
        assert (item["epoch"], item["cluster"]) == (1, "")
        assert not (await hub.hub.read(ask, before, {"state": "Pending,Held"}, 200))[1]
        assert not (await hub.hub.read(ask, reached, {}, 200))[1]
        reply = await hub.viewer.get(f"/v1/workloads:watch?revision={reached + 9}")
        assert (reply.status_code, reply.json()["code"]) == (410, "Expired")


async def test_it_is_found_where_jobs_are_by_its_name(tmp_path):
    """What lists it also shows it: a Job of the same name comes first."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        uid = await hand_in(hub)
        path = "/v1/namespaces/team-a/jobs/w"
        assert (await hub.admin.get(path)).json()["uid"] == uid
        job = await hub.admin.post("/v1/apply", json=a_job("w", namespace="team-a"))
        assert (await hub.admin.get(path)).json()["uid"] != uid, job.text


async def test_one_whose_queue_is_missing_is_shown_with_the_others(tmp_path):
    """It is created with a warning, listed after those that wait, page by page, and shown by name."""
    async with served(tmp_path) as hub:
        await with_queue(hub)
        await hand_in(hub)
        for name in ("y", "x"):
            held = a_workload(name)
            held["spec"]["queueName"] = "nosuch"
            (item,) = (await hub.admin.post("/v1/apply", json=held)).json()["items"]
            assert item["result"] == "created"
            assert "LocalQueue team-a/nosuch does not exist" in item["warnings"][0]
        found: list[str] = []
        on = ""
        while not found or on:
            asked: dict[str, Any] = {"limit": 1, "continue": on} if on else {"limit": 1}
            page = (await hub.admin.get("/v1/workloads", params=asked)).json()
            (one,) = page["items"]
            found.append(one["metadata"]["name"])
            on = page["continue"]
        assert found == ["w", "x", "y"]
        shown = (await hub.admin.get("/v1/workloads/team-a/x")).json()
        (condition,) = shown["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("QuotaReserved", "QueueNotFound")
        asked = {"condition": "Finished"}
        assert (await hub.admin.get("/v1/workloads", params=asked)).json()["items"] == []
