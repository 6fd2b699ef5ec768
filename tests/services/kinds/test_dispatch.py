"""JobSets and their kin on a hub: queued, placed, given to a member, watched, finished, evicted, retried."""

from typing import Any

import orjson
import pytest

from hub.services.jobs.cancel import cancel_job
from shared.kinds.dispatched import DISPATCHED
from shared.wire.versions import KINDS
from tests.services.build import a_class, told
from tests.services.hubs import a_pool, a_queue
from tests.services.kinds.fleet import (
    QUEUE,
    Fleet,
    a_fleet,
    a_jobset,
    a_pytorchjob,
    a_raycluster,
    a_rayjob,
    a_rayservice,
    a_sparkapplication,
    an_appwrapper,
    an_lws,
    two_flavors,
)
from tests.services.members.hubs import Agent, ran, seen

pytestmark = pytest.mark.anyio


def _env(template: dict[str, Any]) -> dict[str, str]:
    container = template["spec"]["containers"][0]
    return {each["name"]: each["value"] for each in container["env"]}


async def _running(fleet: Fleet, agent: Agent, manifest: dict[str, Any]) -> str:
    """It was placed on the agent's member and runs there."""
    (uid,) = await fleet.apply(manifest)
    work = await fleet.told(agent, uid)
    epoch = work["epoch"]
    await agent.sync(ran(uid, epoch, active=3, ready=3, running_since="2026-05-01T00:00:00Z"))
    await fleet.settle()
    assert (await fleet.job(uid)).state == "Running"
    return uid


@pytest.mark.parametrize(
    ("manifest", "kind", "pods"),
    [
        (a_jobset(), "JobSet", 3),
        (a_pytorchjob(), "PyTorchJob", 4),
        (a_rayjob(), "RayJob", 4),
        (an_lws(), "LeaderWorkerSet", 6),
        (a_raycluster(), "RayCluster", 3),
        (a_rayservice(), "RayService", 3),
        (a_sparkapplication(), "SparkApplication", 3),
        (an_appwrapper(), "AppWrapper", 4),
    ],
    ids=["jobset", "pytorch", "rayjob", "lws", "raycluster", "rayservice", "spark", "appwrapper"],
)
async def test_an_object_becomes_one_work_with_marks_in_every_pod_template(
    tmp_path, manifest, kind, pods
):
    """The member gets the object as it runs; each template of its pods has uid and epoch of the job."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q", quota={"cpu": "100", "memory": "100Gi"}))
        (uid,) = await fleet.apply(manifest)
        work = await fleet.told(agent, uid)
        assert (work["kind"], work["epoch"], work["action"]) == (kind, 1, "Apply")
        rule = work["kind_rule"]
        assert rule["pods"] == pods
        assert work["manifest"]["metadata"]["labels"]["roadstead.dev/job-uid"] == uid
        for pointer in rule["templates"]:
            template: Any = work["manifest"]
            for step in pointer.split("/")[1:]:
                template = template[int(step) if isinstance(template, list) else step]
            assert template["metadata"]["labels"]["roadstead.dev/job-uid"] == uid
            assert _env(template) == {"ROADSTEAD_JOB_UID": uid, "ROADSTEAD_EPOCH": "1"}


async def test_every_pod_set_gets_the_selectors_of_its_own_flavor(tmp_path):
    """Workers of GPUs go to nodes of the GPU flavor, and the driver to no special ones."""
    tolerated = {"key": "gpu", "operator": "Exists"}
    flavors = {"nodeLabels": {"pool": "gpu"}, "tolerations": [tolerated]}
    jobset = a_jobset()
    _, workers = jobset["spec"]["replicatedJobs"]
    workers["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"nvidia.com/gpu": "1"},
        "limits": {"nvidia.com/gpu": "1"},
    }
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*two_flavors("q", flavors))
        (uid,) = await fleet.apply(jobset)
        await fleet.settle()
        gpu_pool = a_pool(cpu="8", gpu=4, labels={"pool": "gpu"})
        gpu_pool["nodes"][0]["name"] = "g0"
        await fleet.has(agent, a_pool(cpu="4"), gpu_pool)
        work = await fleet.told(agent, uid)
        driver, workers = (
            each["template"]["spec"]["template"]["spec"]
            for each in work["manifest"]["spec"]["replicatedJobs"]
        )
        assert (driver.get("nodeSelector"), workers["nodeSelector"]) == (None, {"pool": "gpu"})
        assert (driver.get("tolerations"), workers["tolerations"]) == (None, [tolerated])


async def test_the_object_as_it_runs_has_nothing_that_is_for_the_hub_alone(tmp_path):
    """managedBy, time to live and queue go; the operator's default template is written with our marks."""
    rayjob = a_rayjob()
    rayjob["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q", quota={"cpu": "9", "memory": "9Gi"}))
        (uid,) = await fleet.apply(rayjob)
        work = await fleet.told(agent, uid)
        spec = work["manifest"]["spec"]
        assert not {"managedBy", "ttlSecondsAfterFinished"} & spec.keys()
        assert (spec["suspend"], work["ttl_s"]) == (False, 60)
        assert QUEUE not in work["manifest"]["metadata"]["labels"]
        submitter = spec["submitterPodTemplate"]
        assert submitter["spec"]["containers"][0]["image"] == "ex/ray:2"
        assert submitter["metadata"]["labels"]["roadstead.dev/job-uid"] == uid


async def test_jobs_within_an_object_get_no_time_to_live(tmp_path):
    """The operator of a JobSet makes a child Job again that expired: its pods would run twice."""
    jobset = a_jobset()
    for job in jobset["spec"]["replicatedJobs"]:
        job["template"]["spec"]["ttlSecondsAfterFinished"] = 0
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q", quota={"cpu": "9"}))
        (uid,) = await fleet.apply(jobset)
        jobs = (await fleet.told(agent, uid))["manifest"]["spec"]["replicatedJobs"]
        assert [job["name"] for job in jobs] == ["driver", "workers"]
        assert not any("ttlSecondsAfterFinished" in job["template"]["spec"] for job in jobs)
        assert jobs[1]["template"]["spec"]["parallelism"] == 2


async def test_nothing_in_an_appwrapper_gets_a_time_to_live(tmp_path):
    """Its operator makes again what expired, and runs all parts once more within one epoch."""
    wrapper = an_appwrapper()
    job, training = (each["template"] for each in wrapper["spec"]["components"])
    job["spec"]["ttlSecondsAfterFinished"] = 0
    training["spec"]["runPolicy"] = {"ttlSecondsAfterFinished": 0, "cleanPodPolicy": "None"}
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q", quota={"cpu": "9"}))
        (uid,) = await fleet.apply(wrapper)
        manifest = (await fleet.told(agent, uid))["manifest"]
        assert "ttlSecondsAfterFinished" not in orjson.dumps(manifest).decode()
        assert "cleanPodPolicy" in orjson.dumps(manifest).decode()


async def test_a_finished_one_frees_its_quota_and_is_kept_as_a_job_is(tmp_path):
    """Its result is told once; the work becomes Keep with its time to live, and goes once it is Gone."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q", quota={"cpu": "5"}))
        uid = await _running(fleet, agent, a_jobset(ttlSecondsAfterFinished=30))
        (second,) = await fleet.apply(a_jobset("later"))
        await fleet.settle()
        assert (await fleet.job(second)).state == "Pending"
        await agent.sync(ran(uid, succeeded=3, result="Succeeded", reason="AllJobsCompleted"))
        await fleet.settle()
        assert (await fleet.job(uid)).state == "Succeeded"
        assert (await fleet.job(second)).state == "Placed"
        work = await fleet.told(agent, uid)
        assert (work["action"], work["ttl_s"]) == ("Keep", 30)
        await agent.sync(seen(uid, "Gone"))
        assert await fleet.exchange.work(uid) is None


async def test_pods_that_run_on_after_the_end_hold_room_and_no_quota(tmp_path):
    """As in Kueue the end frees the quota; the nodes stay taken until the agent reports them free."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1", cpu="5")
        await fleet.apply(*a_queue("q", quota={"cpu": "5"}))
        uid = await _running(fleet, agent, a_jobset())
        (second,) = await fleet.apply(a_jobset("later"))
        full = a_pool(cpu="5", memory="64Gi")
        full["nodes"][0]["free"] = [0, *full["nodes"][0]["free"][1:]]
        bound = [{"uid": uid, "epoch": 1, "bound": 3, "succeeded": 0}]
        await fleet.has(agent, full, bound=bound)
        assert (await fleet.job(second)).reason == "WaitingForQuota"
        await agent.sync(ran(uid, active=3, succeeded=0, result="Succeeded"))
        await fleet.settle()
        waiting = await fleet.job(second)
        assert (waiting.state, waiting.reason) == ("Pending", "NoClusterFits")
        await fleet.has(agent, a_pool(cpu="5", memory="64Gi"))
        assert (await fleet.job(second)).state == "Placed"


async def test_pods_that_succeed_free_no_quota_before_the_object_has_ended(tmp_path):
    """Which pod set they were of is not told."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q"))
        uid = await _running(fleet, agent, a_jobset())
        before = (await fleet.job(uid)).admission
        await agent.sync(
            ran(uid, active=1, ready=1, succeeded=2, running_since="2026-05-01T00:00:00Z")
        )
        assert (await fleet.job(uid)).admission == before


async def test_a_higher_priority_evicts_it_and_it_starts_again_once_it_is_gone(tmp_path):
    """The work is withdrawn; the next epoch begins only after the agent has said Gone."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        within = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        await fleet.apply(*a_queue("q", quota={"cpu": "5"}, spec=within), a_class("high", 100))
        uid = await _running(fleet, agent, a_jobset())
        urgent = a_pytorchjob("urgent")
        urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
        (above,) = await fleet.apply(urgent)
        work = await fleet.told(agent, uid)
        assert work["action"] == "Withdraw"
        assert (await fleet.job(above)).state == "Pending"
        await agent.sync(seen(uid, "Gone"))
        await fleet.told(agent, above)
        assert (await fleet.job(above)).state == "Offered"
        assert ((await fleet.job(uid)).state, (await fleet.job(uid)).epoch) == ("Pending", 1)
        await agent.sync(ran(above, result="Succeeded"))
        again = await fleet.told(agent, uid)
        assert (again["action"], again["epoch"]) == ("Apply", 2)


async def test_a_cancelled_one_ends_when_its_member_says_that_it_is_gone(tmp_path):
    """Until then it keeps its quota, as a Job does."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q"))
        uid = await _running(fleet, agent, a_jobset())
        await fleet.hub.write(cancel_job, uid, "ann")
        assert (await fleet.told(agent, uid))["action"] == "Withdraw"
        assert (await fleet.job(uid)).state == "Withdrawing"
        await agent.sync(seen(uid, "Gone"))
        assert (await fleet.job(uid)).state == "Cancelled"


async def test_a_failed_one_is_tried_again_as_often_as_it_says(tmp_path):
    """Annotation roadstead.dev/retry counts epochs; each begins after the one before is gone."""
    jobset = a_jobset()
    jobset["metadata"]["annotations"] = {"roadstead.dev/retry": "2"}
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q"))
        uid = await _running(fleet, agent, jobset)
        await agent.sync(ran(uid, result="Failed", reason="FailedJobs", failures=["1/Error"]))
        assert (await fleet.job(uid)).state == "Withdrawing"
        await agent.sync(seen(uid, "Gone"))
        fleet.clock.advance(3600)
        await fleet.reports(agent, "16")
        assert (await fleet.told(agent, uid))["epoch"] == 2
        await agent.sync(ran(uid, 2, result="Failed", reason="FailedJobs", failures=["1/Error"]))
        assert (await fleet.job(uid)).state == "Failed"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            {"protocol": 6},
            "its agent is of a release that runs no jobset.x-k8s.io/v1alpha2/JobSet",
        ),
        ({"kinds": ("batch/v1/Job",)}, "jobset.x-k8s.io/v1alpha2/JobSet is not served there"),
    ],
    ids=["agent", "kind"],
)
async def test_only_members_that_serve_the_kind_by_an_agent_that_runs_it_are_chosen(
    tmp_path, more, why
):
    """Any other member is left out, and explain names the reason."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.member("m1", **more)
        await fleet.apply(*a_queue("q"))
        (uid,) = await fleet.apply(a_jobset())
        await fleet.settle()
        told = await fleet.explain(uid)
        assert (await fleet.job(uid)).state == "Pending"
        assert why in str(told)
        other = await fleet.member("m2")
        assert (await fleet.told(other, uid))["kind"] == "JobSet"


async def test_explain_names_the_object_by_its_kind(tmp_path):
    """Of an object that is on its way to a member, or in it."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q"))
        (uid,) = await fleet.apply(a_jobset(workers=1))
        await fleet.told(agent, uid)
        said = (await fleet.explain(uid))["message"]
        assert "the JobSet has not been observed" in said


async def test_explain_says_what_to_install_where_no_member_serves_the_kind(tmp_path):
    """The definition and the operator, in a member that lacks them."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.member("m1", kinds=("batch/v1/Job",))
        await fleet.apply(*a_queue("q"))
        (uid,) = await fleet.apply(a_jobset())
        await fleet.settle()
        first, *_ = (await told(fleet, uid))["remedies"]
        assert first["kind"] == "Rule"
        assert first["message"].startswith(
            "install the CustomResourceDefinition of JobSet and its operator in a member, such as m1: "
        )


async def test_an_agent_that_was_downgraded_neither_gets_a_jobset_nor_proves_that_it_is_gone(
    tmp_path,
):
    """It sees Jobs alone, so its Gone of a JobSet is refused, and the job keeps its quota."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q"))
        uid = await _running(fleet, agent, a_jobset())
        agent.restart("session-m1-2", protocol=6)
        await fleet.reports(agent, "16")
        work = await fleet.told(agent, uid)
        assert (work["manifest"], work["kind_rule"]) == (None, None)
        await fleet.hub.write(cancel_job, uid, "ann")
        await fleet.told(agent, uid)
        answer = await agent.sync(seen(uid, "Gone"))
        assert [each["code"] for each in answer["refused"]] == ["AgentTooOld"]
        assert (await fleet.job(uid)).state == "Withdrawing"
        agent.restart("session-m1-3", protocol=KINDS)
        await agent.sync(seen(uid, "Gone"))
        assert (await fleet.job(uid)).state == "Cancelled"


async def test_agents_are_told_the_definitions_once(tmp_path):
    """By the revision that they hold; agents of before, which send none, are told none."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        assert "kinds" not in await agent.sync()
        told = (await agent.sync(kinds_held=0))["kinds"]
        assert {each["karta"]["kind"] for each in told["definitions"]} == {"Karta"}
        assert len(told["definitions"]) == len(DISPATCHED)
        assert "kinds" not in await agent.sync(kinds_held=told["revision"])
