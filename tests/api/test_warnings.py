"""A job that no member could ever hold is accepted with a warning, by every way in."""

from dataclasses import replace
from typing import Any

import pytest

from hub.services.context.timeline import StoreTimeline
from hub.services.index.index import ScheduleIndex
from shared import labels
from tests.api.serving import Served, a_job, served
from tests.domain.build import a_cluster, a_pool

pytestmark = pytest.mark.anyio
KUEUE = "kueue.x-k8s.io/v1beta1"
JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet")

SAID = (
    "no member could ever hold it: no node of any member is large enough for one pod of main "
    "(cpu 99, memory 1Gi); nearest miss: cluster north misses 91 cpu on one node"
)


def leads(hub: Served) -> None:
    """This hub decides, on a fleet of one member with two nodes of 8 cpus."""
    index = ScheduleIndex(None, 45.0)
    index.members.put(a_cluster(a_pool(nodes=2, cpu=8, memory="32Gi"), name="north"))
    index.members.refresh(lambda _best, _left: None)
    hub.app.state.schedule_index = lambda: index


def too_large(name: str = "large") -> dict[str, Any]:
    job = a_job(name)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["resources"]["requests"]["cpu"] = "99"
    return job


async def test_submit_warns_in_the_answer_and_in_a_header(tmp_path):
    """201 all the same: members come and go."""
    async with served(tmp_path) as hub:
        leads(hub)
        reply = await hub.admin.post("/v1/jobs", json=too_large())
        assert reply.status_code == 201
        assert reply.json()["warnings"] == [SAID]
        assert reply.headers["Warning"] == f'299 - "{SAID}"'


async def test_a_cron_job_whose_jobs_never_fit_is_a_warning(tmp_path):
    """As one of its Jobs is."""
    async with served(tmp_path) as hub:
        leads(hub)
        metadata = {"name": "nightly", "namespace": "team-a", "labels": {labels.QUEUE_NAME: "q"}}
        spec = {"schedule": "@daily", "jobTemplate": {"spec": too_large()["spec"]}}
        cron_job = {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": metadata,
            "spec": spec,
        }
        (item,) = (await hub.admin.post("/v1/apply", json=cron_job)).json()["items"]
        assert item["result"] == "created"
        assert item["warnings"][-1] == SAID


async def test_a_kind_that_no_member_serves_is_a_warning(tmp_path):
    """Until a member reports that it serves the kind."""
    queue = {"kueue.x-k8s.io/queue-name": "local-queue"}
    template = a_job()["spec"]["template"]

    def a_jobset(name: str) -> dict[str, Any]:
        jobs = [{"name": "a", "template": {"spec": {"template": template}}}]
        metadata = {"name": name, "namespace": "team-a", "labels": queue}
        spec = {"replicatedJobs": jobs}
        return {"apiVersion": JOBSET[0], "kind": JOBSET[1], "metadata": metadata, "spec": spec}

    async with served(tmp_path) as hub:
        leads(hub)
        index = hub.app.state.schedule_index()
        door = {"name": "local-queue", "namespace": "team-a"}
        made = {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": door}
        await hub.admin.post("/v1/apply", json={**made, "spec": {"clusterQueue": "q"}})
        for kinds in ({"batch/v1/Job"}, {"batch/v1/Job", "/".join(JOBSET)}):
            served_by = replace(
                index.members.clusters["north"], protocol=7, kinds=frozenset(kinds)
            )
            index.members.put(served_by)
            index.members.refresh(lambda _best, _left: None)
            reply = await hub.admin.post("/v1/jobs", json=a_jobset(f"s{len(kinds)}"))
            assert reply.status_code == 201, reply.text
            said = reply.json().get("warnings") or [""]
            assert ("jobset.x-k8s.io/v1alpha2/JobSet is not served there" in said[0]) is (
                len(kinds) == 1
            )


async def test_a_hub_that_went_back_warns_that_it_starts_nothing(tmp_path):
    """By submit, in batches and by apply: the job is taken, and waits for an administrator."""
    async with served(tmp_path) as hub:
        leads(hub)
        hub.hub.timeline = StoreTimeline("one", b"k", [("run", 0)], stopped="it went back")
        reply = await hub.admin.post("/v1/jobs", json=a_job())
        (said,) = reply.json()["warnings"]
        assert said.startswith("HubRolledBack: dispatch is stopped")
        many = await hub.admin.post("/v1/jobs:batch", json=[a_job("b")])
        assert many.json()["warnings"] == [{"index": 0, "message": said}]
        applied = await hub.admin.post("/v1/apply", json=a_job("c"))
        assert applied.json()["items"][0]["warnings"] == [said]


async def test_a_job_that_may_fit_one_day_is_taken_without_a_word(tmp_path):
    """No list and no header where there is nothing to be said."""
    async with served(tmp_path) as hub:
        leads(hub)
        reply = await hub.admin.post("/v1/jobs", json=a_job())
        assert reply.status_code == 201
        assert "warnings" not in reply.json()
        assert "Warning" not in reply.headers


async def test_a_batch_names_the_places(tmp_path):
    """Each Job of a batch that no member could hold is named by its index."""
    async with served(tmp_path) as hub:
        leads(hub)
        jobs = [a_job("a"), too_large("b"), too_large("c")]
        told = (await hub.admin.post("/v1/jobs:batch", json=jobs)).json()
        assert told["accepted"] == 3
        assert told["warnings"] == [{"index": n, "message": SAID} for n in (1, 2)]


async def test_equal_pods_for_other_clusters_are_another_question(tmp_path):
    """What may go anywhere fits; the same named for a cluster that is too small, or not there, does not."""
    async with served(tmp_path) as hub:
        leads(hub)
        bound = a_job("bound")
        bound["metadata"]["annotations"] = {labels.PREFIX + "clusters": "south"}
        jobs = [a_job("free"), bound, a_job("free-too")]
        told = (await hub.admin.post("/v1/jobs:batch", json=jobs)).json()
        (warning,) = told["warnings"]
        assert warning["index"] == 1
        assert "none of 1 clusters may take it" in warning["message"]


async def test_apply_warns_beside_the_result(tmp_path):
    """The document's own item carries it."""
    async with served(tmp_path) as hub:
        leads(hub)
        reply = await hub.admin.post("/v1/apply", json=too_large())
        (item,) = reply.json()["items"]
        assert (item["result"], item["warnings"]) == ("created", [SAID])


async def test_a_replica_that_does_not_lead_says_nothing(tmp_path):
    """It knows no fleet to hold the job against."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/jobs", json=too_large())
        assert reply.status_code == 201
        assert "warnings" not in reply.json()
