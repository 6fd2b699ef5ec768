"""CronJobs at the doors of REST: what is taken, what is refused with which field, and who may change one."""

from typing import Any

import pytest

from hub.services.context.settings import Settings
from hub.services.objects.delete import delete_object
from hub.services.placements.selecting import read_rules, select
from hub.store import objects
from tests.api.people import a_user, bound
from tests.api.serving import Served, served
from tests.services.hubs import a_queue, running
from tests.services.jobs.cron_jobs import QUEUE, Crons, a_cron_job

pytestmark = pytest.mark.anyio
PLACE = "/v1/objects/batch/CronJob/namespaces/team-a/nightly"


async def applied(hub: Served, manifest: dict[str, Any]) -> dict[str, Any]:
    """The result of one document."""
    answer = (await hub.admin.post("/v1/apply", json=manifest)).json()
    found: dict[str, Any] = answer["items"][0]
    return found


async def with_queue(hub: Served) -> None:
    for each in a_queue("q"):
        assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200


async def test_a_cron_job_is_applied_shown_suspended_and_deleted(tmp_path):
    """By the routes of objects; it is no job, and the route of jobs says where it goes."""
    async with served(tmp_path, Settings()) as hub:
        await with_queue(hub)
        assert (await applied(hub, a_cron_job()))["result"] == "created"
        assert (await applied(hub, a_cron_job()))["result"] == "unchanged"
        assert (await applied(hub, a_cron_job(suspend=True)))["result"] == "configured"
        assert (await hub.admin.get(PLACE)).json()["spec"]["suspend"] is True
        refused = await hub.admin.post("/v1/jobs", json=a_cron_job())
        assert (refused.status_code, refused.json()["code"]) == (422, "UnsupportedKind")
        assert "roadstead apply" in refused.json()["detail"]
        assert (await hub.admin.delete(PLACE)).json()["result"] == "deleted"
        assert (await hub.admin.get(PLACE)).status_code == 404


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"schedule": "0 0 30 2 *"}, "spec.schedule"),
        ({"schedule": "@every 5m"}, "spec.schedule"),
        ({"timeZone": "Mars/Base"}, "spec.timeZone"),
        ({"concurrencyPolicy": "Queue"}, "spec.concurrencyPolicy"),
        ({"startingDeadlineSeconds": -1}, "spec.startingDeadlineSeconds"),
        ({"failedJobsHistoryLimit": 5000}, "spec.failedJobsHistoryLimit"),
        ({"suspend": "yes"}, "spec.suspend"),
        ({"shedule": "x"}, "spec.shedule"),
    ],
)
async def test_a_fault_is_told_with_its_field(tmp_path, changed, field):
    """Also a misspelt one."""
    async with served(tmp_path, Settings()) as hub:
        await with_queue(hub)
        told = await applied(hub, a_cron_job(**changed))
        assert [each["field"] for each in told["errors"]] == [field]


async def test_faults_of_its_jobs_are_told_by_their_fields_in_the_template(tmp_path):
    """As those of a Job; and its name leaves room for the minutes."""
    async with served(tmp_path, Settings()) as hub:
        await with_queue(hub)
        wrong = a_cron_job(name="n" * 53)
        assert "metadata.name" in str((await applied(hub, wrong))["errors"])
        wrong = a_cron_job()
        wrong["spec"]["jobTemplate"]["spec"]["parallelism"] = -1
        assert "spec.jobTemplate.spec.parallelism" in str((await applied(hub, wrong))["errors"])
        wrong = a_cron_job()
        wrong["metadata"]["labels"] = {QUEUE: "other"}
        assert "two queues" in (await applied(hub, wrong))["detail"]


async def test_a_queue_that_does_not_exist_warns(tmp_path):
    """No time runs until it exists."""
    async with served(tmp_path, Settings()) as hub:
        told = await applied(hub, a_cron_job())
        assert told["result"] == "created"
        said = "no time runs: LocalQueue team-a/q does not exist, and each time until it does is missed"
        assert told["warnings"] == [said]


async def test_a_cron_job_without_a_queue_warns(tmp_path):
    """The hub runs none of its times."""
    async with served(tmp_path, Settings()) as hub:
        told = await applied(hub, a_cron_job(queue=""))
        assert told["result"] == "created"
        assert "the CronJob names no LocalQueue: the hub runs none" in told["warnings"][0]


async def test_one_that_is_asked_for_as_a_job_is_named_a_cron_job(tmp_path):
    """With the command that lists its runs; without a queue there are no runs."""
    async with served(tmp_path, Settings()) as hub:
        await with_queue(hub)
        await applied(hub, a_cron_job())
        await applied(hub, a_cron_job(name="placed", queue=""))
        told = (await hub.admin.get("/v1/namespaces/team-a/jobs/nightly")).json()
        assert told["code"] == "NotFound"
        assert "it is a CronJob, whose runs are the Jobs nightly-MINUTES" in told["detail"]
        told = (await hub.admin.get("/v1/namespaces/team-a/jobs/placed")).json()
        assert "a CronJob without a queue" in told["detail"]


async def test_a_plan_has_one_run_of_a_cron_job(tmp_path):
    """Under the name of the CronJob."""
    async with served(tmp_path, Settings()) as hub:
        await with_queue(hub)
        (told,) = (await hub.admin.post("/v1/plan", json=a_cron_job())).json()["jobs"]
        assert (told["kind"], told["name"], told["queue"]) == ("CronJob", "nightly", "q")


async def test_a_dry_run_of_a_deletion_counts_its_jobs(tmp_path):
    """By their states."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job())
        await crons.turn()
        hub.clock.advance(600)
        await crons.turn()
        place = ("batch", "CronJob", "team-a", "nightly")
        told = await hub.hub.read(
            delete_object, *place, origin="rest", principal="ada", dry_run=True
        )
        assert told["message"] == "deletes its 1 Jobs too: 1 Pending"


@pytest.mark.parametrize(("before", "after"), [("", "q"), ("q", "")])
async def test_a_cron_job_neither_gets_nor_loses_its_queue(tmp_path, before, after):
    """Members may run the one, and the hub runs the other."""
    async with served(tmp_path, Settings()) as hub:
        await with_queue(hub)
        assert (await applied(hub, a_cron_job(queue=before)))["result"] == "created"
        told = await applied(hub, a_cron_job(queue=after))
        assert (told["result"], told["code"]) == ("rejected", "Immutable")


async def test_placements_select_cron_jobs_without_a_queue_alone(tmp_path):
    """A member's controller would run the other beside the hub."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"), a_cron_job(), a_cron_job(name="placed", queue=""))
        chosen = {"group": "batch", "version": "v1", "kind": "CronJob"}
        rules = read_rules("ResourcePlacement", "team-a", {"resourceSelectors": [chosen]})
        found = await hub.hub.read(select, rules)
        assert [row.name for row in found.objects.values()] == ["placed"]
        rows = await hub.hub.read(objects.list_kind, "batch", "CronJob")
        assert sorted((row.name, row.is_scheduled) for row in rows) == [
            ("nightly", True),
            ("placed", False),
        ]


KEPT = "/v1/cronjobs/team-a/nightly"


def with_env(value: str) -> dict[str, Any]:
    manifest = a_cron_job()
    pod = manifest["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    pod["containers"][0]["env"] = [{"name": "KEY", "value": value}]
    return manifest


async def test_suspend_and_resume_change_the_field_alone(tmp_path):
    """Values that the caller may not read stay as they are, and the same manifest changes nothing."""
    async with served(tmp_path, Settings()) as hub:
        await with_queue(hub)
        await bound(hub, "ana", "submitter", users=["ana"], namespaces=["team-a"], queues=["q"])
        ana = await a_user(hub, "ana")
        given = with_env("secret")
        assert (await ana.post("/v1/apply", json=given)).status_code == 200
        told = (await ana.post(f"{KEPT}/suspend")).json()
        assert told["spec"]["suspend"] is True
        assert "[hidden]" in str(told), "a submitter reads no values"
        (row,) = await hub.hub.read(objects.list_kind, "batch", "CronJob")
        assert row.manifest["spec"] == {**given["spec"], "suspend": True}
        assert (row.spec["suspend"], row.generation) == (True, 2)
        assert (await ana.post(f"{KEPT}/suspend")).json()["metadata"]["generation"] == 2
        given["spec"]["suspend"] = True
        assert (await applied(hub, given))["result"] == "unchanged"
        assert (await ana.post(f"{KEPT}/resume")).json()["spec"]["suspend"] is False
        (row,) = await hub.hub.read(objects.list_kind, "batch", "CronJob")
        assert row.manifest["spec"] == {**given["spec"], "suspend": False}
        acts = [each["verb"] for each in (await hub.admin.get("/v1/audit")).json()["items"]]
        assert [verb for verb in acts if verb in ("suspend", "resume")] == ["resume", "suspend"]


async def test_owners_have_their_cron_jobs_and_nobody_elses(tmp_path):
    """By a role that is bound to a queue: to get, list, suspend, resume and delete."""
    async with served(tmp_path, Settings()) as hub:
        await with_queue(hub)
        where = {"namespaces": ["team-a"], "queues": ["q"]}
        await bound(hub, "ana", "submitter", users=["ana"], **where)
        other = {"namespaces": ["team-a"], "queues": ["other"]}
        await bound(hub, "ben", "submitter", users=["ben"], **other)
        ana, ben = await a_user(hub, "ana"), await a_user(hub, "ben")
        assert (await ana.post("/v1/apply", json=a_cron_job())).status_code == 200
        assert (await applied(hub, a_cron_job(name="placed", queue="")))["result"] == "created"
        assert (await ana.get(KEPT)).json()["metadata"]["name"] == "nightly"
        assert (await ben.get(KEPT)).status_code == 404
        for who, names in ((ana, ["nightly"]), (ben, [])):
            listed = (await who.get("/v1/cronjobs")).json()["items"]
            assert [each["metadata"]["name"] for each in listed] == names
        for verb in ("suspend", "resume"):
            assert (await ben.post(f"{KEPT}/{verb}")).status_code == 404
            assert (await ana.post(f"{KEPT}/{verb}")).status_code == 200
        assert (await ben.delete(PLACE)).status_code == 404
        assert (await ana.delete(PLACE)).json()["result"] == "deleted"
