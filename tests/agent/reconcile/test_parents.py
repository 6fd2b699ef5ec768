"""Objects whose operator makes the pods, from desire to end, against a simulated member."""

import pytest

from agent.objects.facts import is_unstarted
from shared import labels
from shared.kubesim.operators.definitions import operator_crds
from shared.wire.kind_rules import KindDefinition, KindDefinitions
from tests.agent.parents import API, HELD_AT, KINDS, RESOURCES, SERVICES, a_parent, a_template
from tests.agent.scripted_hub import a_job_manifest, eventually

pytestmark = pytest.mark.anyio
CRDS = "customresourcedefinitions.apiextensions.k8s.io"


@pytest.fixture
async def member(member):
    """The member serves the kinds, and its scripted operators run them."""
    for crd in operator_crds():
        member.cluster.store.create(CRDS, crd)
    return member


def live_of(member, kind="JobSet", name="parent"):
    return member.cluster.store.get(RESOURCES[kind], "team", name)


def pods_of(member):
    return member.cluster.store.list("pods", "team")


def epochs_of(pods):
    return {pod["metadata"]["labels"].get(labels.EPOCH) for pod in pods}


def forget(hub):
    """The hub desires nothing any more, and orders nothing."""
    hub.works.clear()
    hub.observed.clear()
    hub.removes_strays = False


async def all_ready(hub):
    def is_told(hub):
        entry = hub.observed.get("u-1")
        return entry is not None and entry.job is not None and entry.job.ready == 3

    await hub.until(is_told)


@pytest.mark.parametrize("kind", KINDS)
async def test_an_object_is_started_runs_and_its_result_is_told(member, kind):
    """The agent creates it held, starts it, counts its pods, and tells the end that its definition names."""
    member.hub.put(a_parent(kind, run_seconds="1.5"))
    member.start()
    await member.hub.job_says("u-1", "active")
    entry = await member.hub.finished("u-1")
    assert (entry.phase, entry.epoch) == ("Applied", 1)
    assert entry.job.completion_time
    assert entry.job.running_since
    live = live_of(member, kind)
    assert entry.object_uid == live["metadata"]["uid"]
    assert labels.NOT_STARTED not in live["metadata"]["annotations"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_failure_is_told_with_its_reason_and_exit_codes(member, kind):
    """The condition, or the phase, that says so gives the reason; pods give the exit codes."""
    member.hub.put(a_parent(kind, exit_code=3))
    member.start()
    entry = await member.hub.finished("u-1", "Failed")
    assert entry.job.reason
    assert entry.job.failures == ["3/Error"]


async def people_fail(member, *owners):
    """A pod that people make with the labels of u-1 fails with code 9; the agent has seen it."""
    template = a_template("u-1", 1, run_seconds=600)
    metadata = {**template["metadata"], "name": "theirs", "namespace": "team"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
    metadata["ownerReferences"] = list(owners)
    made = await member.kube.create(pod, field_manager="people")
    ended = {"exitCode": 9, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}
    status = {"name": "main", "state": {"terminated": ended}, "ready": False, "restartCount": 0}
    failed = {"phase": "Failed", "containerStatuses": [status]}
    live = member.cluster.store.get("pods", "team", "theirs")
    member.cluster.store.update(
        "pods", {**live, "status": failed}, subresource="status", trusted=True
    )

    def view():
        pods = member.agent.reconciler.observer.pods.get("u-1")
        found = pods and pods.views.get(made["metadata"]["uid"])
        return found if found and found.failures else None

    return await eventually(view)


OWNERS = {
    "another kind": {"apiVersion": "v1", "kind": "ConfigMap"},
    "another JobSet": {
        "apiVersion": API["JobSet"],
        "kind": "JobSet",
        "spec": {"managedBy": labels.MULTIKUEUE_CONTROLLER},  # its operator leaves its pods alone
    },
    "a copied Job": a_job_manifest("theirs", uid="u-1"),
}


async def an_owner_of_people(member, which):
    """The reference to it as a controller, once the agent could have seen it."""
    document = OWNERS[which]
    metadata = {**document.get("metadata", {}), "name": "theirs", "namespace": "team"}
    made = await member.kube.create({**document, "metadata": metadata}, field_manager="people")
    if which == "a copied Job":
        caches = member.agent.reconciler.observer
        await eventually(lambda: caches.live("batch/v1", "Job", "team", "theirs"))
    kept = {key: made[key] for key in ("apiVersion", "kind")}
    return {**kept, "name": "theirs", "uid": made["metadata"]["uid"], "controller": True}


@pytest.mark.parametrize("which", ["nobody", *OWNERS])
async def test_pods_of_people_give_no_exit_codes_to_retry_on(member, which):
    """With all labels of the job, in its namespace: its operator makes no such controller."""
    member.hub.put(a_parent(exit_code=3, run_seconds="2"))
    member.start()
    await member.hub.job_says("u-1", "active")
    owners = [] if which == "nobody" else [await an_owner_of_people(member, which)]
    seen = await people_fail(member, *owners)
    assert not seen.made
    entry = await member.hub.finished("u-1", "Failed")
    assert entry.job.failures == ["3/Error"]
    assert "theirs" not in entry.job.message


@pytest.mark.parametrize("kind", KINDS)
async def test_the_log_of_a_failed_pod_is_found_by_the_name_of_its_job(member, kind):
    """The pod's own owner, which the operator made, has another name, or is no Job."""
    member.hub.put(a_parent(kind, exit_code=3))
    member.start()
    entry = await member.hub.finished("u-1", "Failed")
    assert (
        "; its log, while the pod is kept: roadstead logs team/parent --pod " in entry.job.message
    )


async def test_a_post_without_an_answer_that_lands_late_starts_nothing(member):
    """The object is held, in every field that the rule names, until the agent starts it by its uid."""
    member.hub.put(a_parent())
    member.cluster.faults.add("503", verb="patch", resource="jobsets", count=0)
    member.start()
    live = await eventually(lambda: live_of(member))
    await member.hub.taken_in()
    assert live["spec"]["suspend"] is True
    assert is_unstarted(live)
    assert live["metadata"]["labels"][labels.QUEUE_NAME] == labels.NO_QUEUE
    assert live["metadata"]["finalizers"] == [labels.MEMBER_FINALIZER]
    assert pods_of(member) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_gone_is_told_when_neither_object_nor_pod_is_left(member, kind):
    """Withdrawing deletes the object in the foreground, waits for its pods, and says Gone."""
    member.hub.put(a_parent(kind, run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "ready")
    member.hub.put(a_parent(kind, action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    await eventually(lambda: live_of(member, kind) is None)
    assert pods_of(member) == []


async def test_a_later_epoch_begins_when_all_pods_of_the_earlier_one_are_gone(member):
    """At no time are there pods of two epochs."""
    member.hub.put(a_parent(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "ready")
    seen = []
    member.cluster.store.subscribe(lambda event: seen.append(epochs_of(pods_of(member))))
    member.hub.put(a_parent(epoch=2))
    entry = await member.hub.finished("u-1")
    assert entry.epoch == 2
    assert {"1", "2"} not in seen


async def test_what_an_operator_makes_again_belongs_to_the_epoch(member):
    """A pod that is lost and made again counts for the work, and is waited for like the first one."""
    member.hub.put(a_parent("PyTorchJob", run_seconds="600"))
    member.start()
    await all_ready(member.hub)
    lost = pods_of(member)[0]["metadata"]
    await member.kube.delete("v1", "Pod", "team", lost["name"])

    def is_again():
        found = member.cluster.store.get("pods", "team", lost["name"])
        return found is not None and found["metadata"]["uid"] != lost["uid"]

    await eventually(is_again)
    await all_ready(member.hub)
    assert epochs_of(pods_of(member)) == {"1"}


async def test_children_that_carry_our_labels_are_no_jobs(member):
    """KubeRay copies the labels of a RayJob to its RayCluster: the agent reports and deletes no child."""
    member.hub.put(a_parent("RayJob", run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "ready")
    cluster = member.cluster.store.get("rayclusters.ray.io", "team", "parent-raycluster")
    assert cluster["metadata"]["labels"][labels.JOB_UID] == "u-1"
    await member.stop()
    forget(member.hub)
    member.start()
    entry = await member.hub.seen("u-1", "Applied", "Orphan")
    assert entry.object_uid == live_of(member, "RayJob")["metadata"]["uid"]


@pytest.mark.parametrize("kind", [*KINDS, *SERVICES])
async def test_an_object_of_the_same_name_that_is_not_ours_is_left_alone(member, kind):
    """It is a NameConflict, and withdrawing the work leaves it as it is."""
    body = {
        "apiVersion": API[kind],
        "kind": kind,
        "metadata": {"name": "parent", "namespace": "team"},
        "spec": {"suspend": True},
    }
    made = await member.kube.create(body, field_manager="someone")
    member.hub.put(a_parent(kind))
    member.start()
    await member.hub.seen("u-1", "Failed", "NameConflict")
    member.hub.put(a_parent(kind, action="Withdraw"))
    await member.hub.seen("u-1", "Gone")
    live = live_of(member, kind)
    assert live["metadata"]["uid"] == made["metadata"]["uid"]
    assert live["spec"] == made["spec"]


async def test_one_that_its_ttl_or_a_person_removed_is_not_made_again(member):
    """Its end is told before it goes, and an agent that starts later makes no second one."""
    member.hub.put(a_parent())
    member.start()
    await member.hub.finished("u-1")
    await member.kube.delete(API["JobSet"], "JobSet", "team", "parent")
    await member.hub.seen("u-1", "Missing")
    await eventually(lambda: live_of(member) is None)
    await member.stop()
    member.hub.observed.clear()
    member.hub.put(a_parent(seen=True))
    member.start()
    entry = await member.hub.seen("u-1", "Missing")
    assert entry.object_uid == ""
    assert live_of(member) is None


async def test_a_finished_one_is_kept_for_its_time_and_then_deleted(member):
    """Keep: its finalizer goes at once, and the object when its time to live is over."""
    member.hub.put(a_parent())
    member.start()
    await member.hub.finished("u-1")
    member.hub.put(a_parent(action="Keep", ttl_s=0))
    await eventually(lambda: live_of(member) is None)
    await member.hub.seen("u-1", "Gone")


async def test_a_kind_that_the_member_does_not_serve_is_refused_by_name(member):
    """Nothing is created, and the reason names the kind."""
    member.cluster.store.delete(CRDS, "", "jobsets.jobset.x-k8s.io")
    member.hub.put(a_parent())
    member.start()
    await member.hub.seen("u-1", "Failed", "KindNotServed")


async def test_states_that_nothing_explains_keep_the_job_unfinished(member):
    """No condition of the definition holds: the object has neither completed nor failed."""
    member.hub.put(a_parent("PyTorchJob", run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "ready")
    live = live_of(member, "PyTorchJob")
    odd = {"conditions": [{"type": "Odd", "status": "True"}]}
    key = RESOURCES["PyTorchJob"]
    member.cluster.store.update(key, {**live, "status": odd}, subresource="status", trusted=True)
    entry = await member.hub.job_says("u-1", "ready")
    assert entry.job.result is None


async def test_a_definition_of_an_administrator_says_what_has_ended(member):
    """What the hub tells goes before the built-in one, and is evaluated in a process of its own."""
    matcher = {"byExpression": {"expression": ".status.done", "expectedResult": "true"}}
    of = {"group": "jobset.x-k8s.io", "version": "v1alpha2", "kind": "JobSet"}
    root = {
        "name": "jobset",
        "kind": of,
        "statusDefinition": {
            "conditionsDefinition": {"path": ".status.conditions"},
            "statusMappings": {"completed": [matcher]},
        },
        "suspendDefinition": {
            "suspendActions": [{"path": ".spec.suspend", "value": "true"}],
            "resumeActions": [{"path": ".spec.suspend", "value": "false"}],
        },
    }
    karta = {
        "apiVersion": "run.ai/v1alpha1",
        "kind": "Karta",
        "metadata": {"name": "ours"},
        "spec": {"structureDefinition": {"rootComponent": root}},
    }
    told = KindDefinition(name="jobset", hash="1", karta=karta)
    member.hub.kinds = KindDefinitions(revision=3, definitions=[told])
    member.hub.put(a_parent(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "ready")
    live = live_of(member)
    status = {**live["status"], "done": True}
    key = RESOURCES["JobSet"]
    member.cluster.store.update(
        key, {**live, "status": status}, subresource="status", trusted=True
    )
    await member.hub.finished("u-1")
    assert member.hub.requests[-1].kinds_held == 3


async def test_one_that_waits_for_its_start_is_known_by_an_agent_without_its_work(member):
    """Its mark says how it is held, so it is not told as begun."""
    member.hub.put(a_parent("PyTorchJob"))
    member.cluster.faults.add("503", verb="patch", resource="pytorchjobs", count=0)
    member.start()
    live = await eventually(lambda: live_of(member, "PyTorchJob"))
    assert HELD_AT["PyTorchJob"] in live["metadata"]["annotations"][labels.NOT_STARTED]
    await member.stop()
    forget(member.hub)
    member.start()
    await member.hub.seen("u-1", "Waiting", "Orphan")


async def test_a_right_that_the_agent_lacks_is_named(member):
    """403 to the create of an object: the reason says which kind, and what to grant."""
    member.cluster.faults.add("403", verb="create", resource="jobsets", count=0)
    member.hub.put(a_parent())
    member.start()
    entry = await member.hub.seen("u-1", "Failed", "KindForbidden")
    assert "JobSet in namespace team (403): grant" in entry.message


async def test_a_kind_that_the_agent_may_not_list_is_refused_by_name(member):
    """It creates nothing that it could not see."""
    member.cluster.faults.add("403", verb="list", resource="jobsets", count=0)
    member.hub.put(a_parent())
    member.start()
    await member.hub.seen("u-1", "Failed", "KindNotReadable")
    assert live_of(member) is None


async def test_a_child_that_may_still_make_pods_delays_gone(member):
    """The parent was deleted again in the background, and no pod is there: its Job could make one."""
    member.hub.put(a_parent(run_seconds="600"))
    member.start()
    await all_ready(member.hub)
    child = member.cluster.store.get("jobs.batch", "team", "parent-lead-0")
    held = {"metadata": {"finalizers": ["example.org/hold"]}}
    await member.kube.merge_patch(
        "batch/v1", "Job", "team", "parent-lead-0", held, field_manager="someone"
    )
    member.hub.put(a_parent(action="Withdraw"))
    await eventually(lambda: "deletionTimestamp" in live_of(member)["metadata"])
    await member.kube.delete(API["JobSet"], "JobSet", "team", "parent", propagation="Background")
    await eventually(lambda: pods_of(member) == [])
    with pytest.raises(AssertionError):
        await member.hub.seen("u-1", "Gone", timeout_s=2.0)
    free = {"metadata": {"uid": child["metadata"]["uid"], "finalizers": None}}
    await member.kube.merge_patch(
        "batch/v1", "Job", "team", "parent-lead-0", free, field_manager="someone"
    )
    await member.hub.seen("u-1", "Gone")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_end_of_an_object_that_the_hub_adopts_is_told(member, kind):
    """It is another session's, and the hub says that it was seen: it is never missing while it lives."""
    member.hub.put(a_parent(kind, run_seconds="3"))
    member.start()
    await member.hub.job_says("u-1", "ready")
    await member.stop()
    forget(member.hub)
    member.hub.put(a_parent(kind, run_seconds="3", seen=True))
    member.start()
    entry = await member.hub.finished("u-1")
    assert (entry.phase, entry.job.result) == ("Applied", "Succeeded")
