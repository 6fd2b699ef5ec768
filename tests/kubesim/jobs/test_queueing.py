"""The Kueue-like queue manager of a member: who starts, when, and what the queues say."""

import pytest

from tests.kubesim.world import World, a_job, a_pool, conditions_of

CQ, LQ, FLAVORS = (
    f"{plural}.kueue.x-k8s.io" for plural in ("clusterqueues", "localqueues", "resourceflavors")
)
QUEUED = {"kueue.x-k8s.io/queue-name": "main"}


def a_flavor(name="default", **node_labels):
    return {"metadata": {"name": name}, "spec": {"nodeLabels": node_labels} if node_labels else {}}


def a_cluster_queue(name="cq", *, cpu="4", flavors=("default",), **spec):
    resources = [{"name": "cpu", "nominalQuota": cpu}]
    listed = [{"name": flavor, "resources": resources} for flavor in flavors]
    group = {"coveredResources": ["cpu"], "flavors": listed}
    return {"metadata": {"name": name}, "spec": {"resourceGroups": [group], **spec}}


def a_local_queue(name="main", cluster_queue="cq"):
    meta = {"name": name, "namespace": "default"}
    return {"metadata": meta, "spec": {"clusterQueue": cluster_queue}}


def a_queued_job(name, cpu="2", **spec):
    return a_job(name, requests={"cpu": cpu}, labels=QUEUED, **{"suspend": True, **spec})


@pytest.fixture
def world():
    world = World([a_pool(count=4)], queue_manager=True)
    world.create(FLAVORS, a_flavor())
    world.create(CQ, a_cluster_queue())
    world.create(LQ, a_local_queue())
    return world


def active(world, key, name):
    return {c["type"]: (c["status"], c["reason"]) for c in conditions_of(world.get(key, name))}[
        "Active"
    ]


def suspended(world, *names):
    return [world.job(name)["spec"]["suspend"] for name in names]


def test_queues_that_work_are_active(world):
    """A ClusterQueue whose flavors exist is Active, and so are its LocalQueues."""
    assert active(world, CQ, "cq") == ("True", "Ready")
    assert active(world, LQ, "main") == ("True", "Ready")


def test_queues_that_cannot_work_say_why():
    """A missing flavor or ClusterQueue makes a queue inactive, until it is there."""
    world = World(queue_manager=True)
    world.create(LQ, a_local_queue())
    assert active(world, LQ, "main") == ("False", "ClusterQueueDoesNotExist")
    world.create(CQ, a_cluster_queue())
    assert active(world, CQ, "cq") == ("False", "FlavorNotFound")
    assert active(world, LQ, "main") == ("False", "ClusterQueueIsInactive")
    world.create(FLAVORS, a_flavor())
    assert active(world, LQ, "main") == ("True", "Ready")


def test_a_job_within_quota_starts_at_once(world):
    """A suspended Job with the queue's label is unsuspended where it fits, and runs."""
    world.create("jobs.batch", a_queued_job("j"))
    assert suspended(world, "j") == [False]
    world.advance(4)
    assert "Complete" in world.conditions("j")


def test_the_quota_is_never_exceeded(world):
    """Jobs beyond the quota wait, and start in their order as others end."""
    for number in range(4):
        world.create("jobs.batch", a_queued_job(f"j{number}"))
    assert suspended(world, "j0", "j1", "j2", "j3") == [False, False, True, True]
    world.advance(4)
    assert suspended(world, "j2", "j3") == [False, False]


def test_best_effort_lets_smaller_jobs_pass(world):
    """BestEffortFIFO: what fits may pass a larger Job that does not."""
    for name, cpu in (("a", "3"), ("large", "4"), ("small", "1")):
        world.create("jobs.batch", a_queued_job(name, cpu=cpu))
    assert suspended(world, "a", "large", "small") == [False, True, False]


def test_strict_fifo_lets_nobody_pass():
    """StrictFIFO: nobody passes the head of the queue."""
    world = World([a_pool()], queue_manager=True)
    world.create(FLAVORS, a_flavor())
    world.create(CQ, a_cluster_queue(queueingStrategy="StrictFIFO"))
    world.create(LQ, a_local_queue())
    for name, cpu in (("a", "3"), ("large", "4"), ("small", "1")):
        world.create("jobs.batch", a_queued_job(name, cpu=cpu))
    assert suspended(world, "a", "large", "small") == [False, True, True]


def test_the_flavors_node_labels_are_injected():
    """An admitted Job runs on the nodes of its flavor; the second flavor serves when the first is full."""
    pools = [
        a_pool("x", count=1, labels={"type": "x"}),
        a_pool("y", count=1, labels={"type": "y"}),
    ]
    world = World(pools, queue_manager=True)
    for name in ("x", "y"):
        world.create(FLAVORS, a_flavor(name, type=name))
    world.create(CQ, a_cluster_queue(cpu="2", flavors=("x", "y")))
    world.create(LQ, a_local_queue())
    for name in ("first", "second"):
        world.create("jobs.batch", a_queued_job(name))
    nodes = {
        pod["metadata"]["labels"]["job-name"]: pod["spec"]["nodeName"] for pod in world.pods()
    }
    assert nodes == {"first": "x-0", "second": "y-0"}


def test_a_job_that_is_not_suspended_is_made_to_wait(world):
    """As under Kueue's webhook, a Job with the label does not start by itself."""
    world.create("jobs.batch", a_queued_job("huge", cpu="64", suspend=False))
    assert suspended(world, "huge") == [True]
    assert world.pods() == []


def test_others_are_left_alone(world):
    """Jobs without the label, with only the annotation, or managed elsewhere stay as they are."""
    world.create("jobs.batch", a_job("plain", suspend=True))
    world.create("jobs.batch", a_job("annotated", suspend=True, annotations=QUEUED))
    world.create("jobs.batch", a_queued_job("elsewhere", managedBy="example.com/other"))
    assert suspended(world, "plain", "annotated", "elsewhere") == [True] * 3


def test_a_resource_that_the_queue_does_not_know_keeps_a_job_waiting(world):
    """A Job that asks for a resource outside the quota is never admitted, and the others are."""
    job = a_queued_job("gpu")
    job["spec"]["template"]["spec"]["containers"][0]["resources"] = {
        "limits": {"nvidia.com/gpu": 1}
    }
    world.create("jobs.batch", job)
    world.create("jobs.batch", a_queued_job("cpu"))
    assert suspended(world, "gpu", "cpu") == [True, False]


def test_usage_outlasts_a_restart(world):
    """After a restart what runs is still charged; nobody is admitted on top of it."""
    for name in ("a", "b"):
        world.create("jobs.batch", a_queued_job(name, run_seconds="60"))
    world.advance(1)
    again = world.restarted()
    again.create("jobs.batch", a_queued_job("c"))
    assert suspended(again, "a", "b", "c") == [False, False, True]


def test_a_deleted_job_gives_its_quota_back(world):
    """Deleting a running Job lets the next one start."""
    for name in ("a", "b", "c"):
        world.create("jobs.batch", a_queued_job(name, run_seconds="60"))
    world.delete("jobs.batch", "a")
    world.advance(1)
    assert suspended(world, "c") == [False]


def stopped(world, policy, key=CQ, name="cq"):
    world.patch_spec(key, name, stopPolicy=policy)
    world.advance(1)


@pytest.mark.parametrize(
    ("key", "name", "reasons"),
    [(CQ, "cq", ("Stopped", "ClusterQueueIsInactive")), (LQ, "main", ("Ready", "Stopped"))],
)
def test_a_held_queue_admits_nobody(world, key, name, reasons):
    """stopPolicy Hold: what runs goes on, nobody is admitted until it is lifted, and the queues say so."""
    world.create("jobs.batch", a_queued_job("runs", run_seconds="60"))
    stopped(world, "Hold", key, name)
    world.create("jobs.batch", a_queued_job("waits"))
    assert suspended(world, "runs", "waits") == [False, True]
    assert (active(world, CQ, "cq")[1], active(world, LQ, "main")[1]) == reasons
    stopped(world, "None", key, name)
    assert suspended(world, "waits") == [False]


@pytest.mark.parametrize(("key", "name"), [(CQ, "cq"), (LQ, "main")])
def test_a_drained_queue_evicts_what_runs(key, name):
    """HoldAndDrain: what runs is suspended as it was before its admission, and starts again afterwards."""
    world = World([a_pool(labels={"type": "x"})], queue_manager=True)
    world.create(FLAVORS, a_flavor(type="x"))
    world.create(CQ, a_cluster_queue())
    world.create(LQ, a_local_queue())
    world.create("jobs.batch", a_queued_job("j", run_seconds="60"))
    world.advance(1)
    stopped(world, "HoldAndDrain", key, name)
    assert suspended(world, "j") == [True]
    assert "nodeSelector" not in world.job("j")["spec"]["template"]["spec"]
    world.advance(60)
    assert world.pods() == []
    stopped(world, "None", key, name)
    assert suspended(world, "j") == [False]
    world.advance(61)
    assert "Complete" in world.conditions("j")
