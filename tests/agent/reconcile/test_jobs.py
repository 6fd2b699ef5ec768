"""Jobs from desire to result, against a simulated member over its real API."""

import pytest

from shared import labels
from shared.node_preferences import with_preferences
from tests.agent.scripted_hub import HUB_ID, a_job

pytestmark = pytest.mark.anyio


async def test_a_desired_job_is_created_runs_and_its_result_is_told(member):
    """A Job that the hub desires is created as it stands, and its end is reported with its counts."""
    member.hub.put(a_job(completions=2, parallelism=2))
    member.start()
    entry = await member.hub.finished("u-1")
    assert (entry.phase, entry.job.succeeded, entry.epoch) == ("Applied", 2, 1)
    assert entry.job.running_since
    assert entry.job.completion_time
    live = await member.job()
    assert live["metadata"]["labels"][labels.MANAGED_BY] == HUB_ID
    assert entry.object_uid == live["metadata"]["uid"]


async def test_a_job_prefers_nodes_by_their_hostname_labels(member):
    """The hub names nodes; on this member the label of one is another than its name."""
    first, second = sorted(
        n["metadata"]["name"] for n in (await member.kube.list("v1", "Node")).items
    )
    label = {"metadata": {"labels": {"kubernetes.io/hostname": "rack-7.example.com"}}}
    await member.kube.merge_patch("v1", "Node", "", first, label, field_manager="somebody")
    work = a_job()
    template = work.manifest["spec"]["template"]
    template["spec"] = with_preferences(template["spec"], [first], [second, "gone"])
    member.hub.put(work)
    member.start()
    await member.hub.finished("u-1")
    terms = (await member.job())["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (preferred,) = terms.values()
    values = [each["preference"]["matchExpressions"][0]["values"] for each in preferred]
    assert values == [["rack-7.example.com"], [second, "gone"]]


async def test_capacity_says_what_is_free_and_counts_bound_pods(member):
    """While a Job's pods are bound the free amounts lack their requests, and the work counts them."""
    member.hub.put(a_job(completions=3, parallelism=3, run_seconds="600"))
    member.start()
    capacity = await member.hub.until(
        lambda hub: (
            hub.capacity
            and any(b.uid == "u-1" and b.bound == 3 for b in hub.capacity.bound)
            and hub.capacity
        )
    )
    (pool,) = capacity.pools
    cpu = pool.resources.index("cpu")
    assert sum(node.allocatable[cpu] for node in pool.nodes) == 16_000
    assert sum(node.free[cpu] for node in pool.nodes) == 13_000
    assert capacity.node_count == 2
    await member.hub.until(lambda hub: "batch/v1/Job" in (hub.capacity.kinds or ()))


async def test_a_withdrawn_job_is_gone_with_its_pods_before_gone_is_told(member):
    """Withdraw deletes the Job and reports Gone only when neither it nor a pod of it is left."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "active")
    member.hub.put(a_job(action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    await member.absent()
    pods = await member.kube.list("v1", "Pod", "team")
    assert pods.items == []


async def test_a_job_that_someone_deleted_is_missing_and_not_created_again(member):
    """What was there once is never created again: its absence is reported as Missing."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.kube.delete("batch/v1", "Job", "team", "job")
    await member.hub.seen("u-1", "Missing")
    member.hub.put(a_job(action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    await member.absent()


async def test_a_job_the_hub_was_told_of_is_not_created_by_a_new_agent(member):
    """`seen`: the hub knows that this epoch existed, so an agent without memory reports Missing."""
    member.hub.put(a_job(seen=True))
    member.start()
    await member.hub.seen("u-1", "Missing")
    assert (await member.kube.list("batch/v1", "Job", "team")).items == []


async def test_a_foreign_job_of_the_same_name_is_left_alone(member):
    """An object that lacks our labels is a NameConflict: it is neither changed nor deleted."""
    foreign = a_job().manifest
    foreign["metadata"].pop("labels")
    foreign["spec"]["template"]["metadata"].pop("labels")
    foreign["spec"]["suspend"] = True
    made = await member.kube.create(foreign, field_manager="someone")
    member.hub.put(a_job())
    member.start()
    await member.hub.seen("u-1", "Failed", "NameConflict")
    member.hub.put(a_job(action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    live = await member.job()
    assert live["metadata"]["uid"] == made["metadata"]["uid"]
    assert (live["spec"], live["metadata"]["labels"]) == (made["spec"], made["metadata"]["labels"])


async def test_a_lower_epoch_gives_way_with_its_pods_before_the_next_starts(member):
    """A Job of an earlier epoch is deleted, and only when its pods are gone the next is created."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    first = await member.hub.seen("u-1", "Applied")
    member.hub.put(a_job(epoch=2))
    entry = await member.hub.finished("u-1")
    assert entry.epoch == 2
    assert entry.object_uid != first.object_uid
    assert (await member.job())["metadata"]["labels"][labels.EPOCH] == "2"


async def test_a_newer_epoch_in_the_cluster_is_left_alone(member):
    """An agent that is asked for an epoch older than what is there touches nothing and says so."""
    await member.kube.create(a_job(epoch=3, run_seconds="600").manifest, field_manager="roadstead")
    member.hub.put(a_job(epoch=2))
    member.start()
    await member.hub.seen("u-1", "Applied", "NewerEpoch")
    assert (await member.job())["metadata"]["labels"][labels.EPOCH] == "3"


async def test_a_newer_generation_patches_the_mutable_fields_and_never_suspend(member):
    """A new generation changes parallelism; `suspend` stays as the member's owner set it."""
    member.hub.put(a_job(parallelism=1, completions=4, run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    body = {"spec": {"suspend": True}}
    await member.kube.merge_patch("batch/v1", "Job", "team", "job", body, field_manager="kubectl")
    member.hub.put(a_job(parallelism=2, completions=4, run_seconds="600", generation=2))
    entry = await member.hub.until(
        lambda hub: hub.observed["u-1"].generation == 2 and hub.observed["u-1"]
    )
    live = await member.job()
    assert live["spec"]["parallelism"] == 2
    assert live["spec"]["suspend"] is True
    assert entry.job.held_by == "kubectl"
    assert entry.drift == []


async def test_a_finished_job_lives_its_time_and_is_then_deleted(member):
    """Keep with a time to live deletes the Job when it is over, and then reports Gone."""
    member.hub.put(a_job(run_seconds="0.1"))
    member.start()
    await member.hub.finished("u-1")
    member.hub.put(a_job(action="Keep", ttl_s=2))
    await member.hub.seen("u-1", "Gone")
    await member.absent()


async def test_the_namespace_of_a_job_is_created_where_it_is_missing(member):
    """A Job for a namespace that the member lacks, and that is no work, gets it created."""
    member.hub.put(a_job(namespace="fresh"))
    member.start()
    await member.hub.finished("u-1")
    namespace = await member.kube.get("v1", "Namespace", "", "fresh")
    assert namespace["metadata"]["labels"][labels.MANAGED_BY] == HUB_ID


async def test_a_newer_job_of_the_same_name_takes_the_place_of_an_ended_one(member):
    """An ended Job that is only kept gives its name to the next job of that name."""
    member.hub.put(a_job("u-1"))
    member.start()
    await member.hub.finished("u-1")
    member.hub.put(a_job("u-1", action="Keep"), a_job("u-2"))
    await member.hub.finished("u-2")
    await member.hub.seen("u-1", "Gone")


@pytest.mark.parametrize("restart", ["Never", "OnFailure"])
async def test_why_a_job_failed_is_told_with_container_pod_and_log(member, restart):
    """The controller counts failures only; the pods know the exit code, also those that are gone."""
    work = a_job(annotations={"sim.roadstead.dev/exit-code": "7"}, backoffLimit=0)
    work.manifest["spec"]["template"]["spec"]["restartPolicy"] = restart
    member.hub.put(work)
    member.start()
    entry = await member.hub.finished("u-1", "Failed")
    assert entry.job.reason == "BackoffLimitExceeded"
    assert entry.job.message.startswith("Job has reached the specified backoff limit; pod job-")
    assert ": container main exited with code 7; its log" in entry.job.message
    assert "roadstead logs team/job --pod job-" in entry.job.message


async def test_an_image_that_can_not_be_pulled_is_the_reason(member):
    """Pods that do not run lend the Job their reason."""
    member.hub.put(a_job(image="registry.invalid/x:1"))
    member.start()
    entry = await member.hub.job_says("u-1", "reason")
    assert entry.job.reason in {"ErrImagePull", "ImagePullBackOff"}


async def test_a_job_too_large_for_any_node_says_why_it_waits(member):
    """An unschedulable pod's message reaches the hub."""
    work = a_job()
    pod = work.manifest["spec"]["template"]["spec"]
    pod["containers"][0]["resources"]["requests"]["cpu"] = "64"
    member.hub.put(work)
    member.start()
    entry = await member.hub.job_says("u-1", "reason")
    assert entry.job.reason == "FailedScheduling"
    assert "Insufficient cpu" in entry.job.message


async def test_why_a_controller_makes_no_pods_is_read_from_events(member):
    """A Job without pods lends its reason from the newest Warning about it."""
    member.hub.put(a_job(parallelism=0))
    member.start()
    entry = await member.hub.seen("u-1", "Applied")
    for number, message in enumerate(["first", "exceeded quota: pods"]):
        await member.kube.create(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"e{number}", "namespace": "team"},
                "type": "Warning",
                "reason": "FailedCreate",
                "message": message,
                "lastTimestamp": f"2026-01-01T00:00:0{number}Z",
                "involvedObject": {
                    "kind": "Job",
                    "namespace": "team",
                    "name": "job",
                    "uid": entry.object_uid,
                },
            },
            field_manager="job-controller",
        )
    reconciler = member.agent.reconciler
    await reconciler._resync._explain(reconciler.tracked_works["u-1"])
    entry = await member.hub.job_says("u-1", "reason")
    assert (entry.job.reason, entry.job.message) == ("FailedCreate", "exceeded quota: pods")
