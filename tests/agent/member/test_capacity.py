"""The account of capacity, kept event by event, is what a sum over everything would give."""

from dataclasses import replace
from typing import Any

from hypothesis import given, strategies as st

from agent.member.capacity import Ledger, node_view
from agent.objects.pods import JobPods, PodView, view
from shared import labels
from shared.wire.agent_v1 import MOST_POD_NODES, Pools


def a_node(name, *, cpu="4", labels=None, taints=(), ready=True, cordoned=False):
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {"taints": list(taints), "unschedulable": cordoned},
        "status": {
            "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110", "nvidia.com/gpu": "2"},
            "capacity": {"cpu": cpu, "memory": "8Gi"},
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def a_pod(uid, *, node="", phase="Pending", job="", epoch=1, cpu="500m", **status):
    marks = {labels.JOB_UID: job, labels.EPOCH: str(epoch)} if job else {}
    return {
        "metadata": {"name": uid, "namespace": "n", "uid": uid, "labels": marks},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
        },
        "status": {"phase": phase, **status},
    }


def made(pod):
    """The view of a pod whose Job the agent made."""
    return replace(view(pod, None), made=True)


def a_ledger(*nodes):
    ledger = Ledger()
    for node in nodes:
        ledger.node_changed(None, node_view(node, None))
    return ledger


def everything(_uid):
    return True


def free_cpu(ledger, pools=None):
    report = ledger.snapshot(pools or Pools(revision=1, keys=[]), everything)
    return {
        node.name: node.free[pool.resources.index("cpu")]
        for pool in report.pools
        for node in pool.nodes
    }


def test_bound_pods_take_room_until_they_end():
    """A pod counts from its binding to its end, with its requests and one of `pods`."""
    ledger = a_ledger(a_node("n1"))
    steps = [
        view(a_pod("p"), None),
        view(a_pod("p", node="n1"), None),
        view(a_pod("p", node="n1", phase="Running"), None),
        view(a_pod("p", node="n1", phase="Succeeded"), None),
    ]
    seen, old = [], None
    for new in steps:
        ledger.pod_changed(old, new)
        seen.append(free_cpu(ledger)["n1"])
        old = new
    ledger.pod_changed(old, None)
    assert seen == [4000, 3500, 3500, 4000]
    assert free_cpu(ledger)["n1"] == 4000


def test_a_work_is_counted_with_the_room_it_takes():
    """Bound and succeeded pods per work and epoch come from the same state as the free amounts."""
    ledger = a_ledger(a_node("n1"))
    for uid, phase in (("a", "Running"), ("b", "Succeeded"), ("c", "Pending")):
        node = "n1" if phase != "Pending" else ""
        ledger.pod_changed(None, made(a_pod(uid, node=node, phase=phase, job="u-1")))
    (bound,) = ledger.snapshot(Pools(revision=1, keys=[]), everything).bound
    assert (bound.uid, bound.epoch, bound.bound, bound.succeeded) == ("u-1", 1, 1, 1)


def on_nodes(ledger, **given):
    """By work the nodes of its bound pods, by their number in the report."""
    report = ledger.snapshot(Pools(revision=1, keys=["zone"]), everything, **given)
    names = [node.name for pool in report.pools for node in pool.nodes]
    return {
        each.uid: each.nodes
        and {names[at]: count for at, count in zip(each.nodes[::2], each.nodes[1::2], strict=True)}
        for each in report.bound
    }


def test_a_report_says_on_which_nodes_bound_pods_are():
    """Of each work, for the nodes that it lists: a cordoned one takes nothing, and frees nothing."""
    zones = [a_node(f"n{zone}", labels={"zone": str(zone)}) for zone in range(3)]
    ledger = a_ledger(*zones, a_node("shut", cordoned=True))
    pods = [made(a_pod(f"p{n}", node=f"n{n % 3}", job="u-1")) for n in range(4)]
    pods.append(made(a_pod("q", node="shut", job="u-2")))
    for pod in pods:
        ledger.pod_changed(None, pod)
    assert on_nodes(ledger) == {"u-1": {"n0": 2, "n1": 1, "n2": 1}, "u-2": []}
    ledger.pod_changed(pods[0], made(a_pod("p0", node="n0", phase="Succeeded", job="u-1")))
    ledger.pod_changed(pods[1], None)
    assert on_nodes(ledger)["u-1"] == {"n0": 1, "n2": 1}
    assert on_nodes(ledger, with_nodes=False) == {"u-1": None, "u-2": None}


def test_of_too_many_works_no_nodes_are_told():
    """A report has room for so many pairs of work and node; the counts are whole."""
    ledger, one = a_ledger(a_node("n1")), made(a_pod("p", node="n1", job="u"))
    for number in range(MOST_POD_NODES + 1):
        ledger.pod_changed(None, replace(one, uid=f"p{number}", job_uid=f"u-{number}"))
    bound = ledger.snapshot(Pools(revision=1, keys=[]), everything).bound
    assert sum(each.bound for each in bound) == MOST_POD_NODES + 1
    assert sum(each.nodes is not None for each in bound) == MOST_POD_NODES


def test_a_pod_of_others_takes_room_and_is_not_counted_for_the_work():
    """It carries the work's labels; that its Job is the agent's may show later, and is counted once."""
    ledger, pod = a_ledger(a_node("n1")), view(a_pod("a", node="n1", job="u-1"), None)
    ledger.pod_changed(None, pod)
    assert ledger.works == {}
    assert free_cpu(ledger) == {"n1": 3500}
    pod.made = True
    ledger.pod_made(pod)
    assert ledger.works["u-1", 1].bound == 1
    assert free_cpu(ledger) == {"n1": 3500}
    ledger.pod_changed(pod, None)
    assert ledger.works == {}


def test_ended_jobs_are_left_out_of_the_count():
    """What a finished job's pods were reserves nothing."""
    ledger = a_ledger(a_node("n1"))
    ended = a_pod("a", node="n1", phase="Succeeded", job="u-1")
    ledger.pod_changed(None, made(ended))
    report = ledger.snapshot(Pools(revision=1, keys=[]), lambda uid: False)
    assert report.bound == []


def test_nodes_are_grouped_by_the_keys_asked_for_and_by_taints():
    """Other labels do not split a pool; a missing key is a group of its own."""
    taint = {"key": "gpu", "value": "x", "effect": "NoSchedule"}
    ledger = a_ledger(
        a_node("a", labels={"zone": "1", "rack": "7"}),
        a_node("b", labels={"zone": "1", "rack": "8"}),
        a_node("c", labels={"zone": "2"}),
        a_node("d"),
        a_node("e", taints=[taint]),
    )
    report = ledger.snapshot(Pools(revision=3, keys=["zone"]), everything)
    groups = {
        (tuple(pool.labels.items()), len(pool.taints)): [n.name for n in pool.nodes]
        for pool in report.pools
    }
    assert groups == {
        ((("zone", "1"),), 0): ["a", "b"],
        ((("zone", "2"),), 0): ["c"],
        ((), 0): ["d"],
        ((), 1): ["e"],
    }
    assert report.pools_revision == 3


def test_unready_and_cordoned_nodes_offer_nothing():
    """They still count as nodes."""
    ledger = a_ledger(a_node("a"), a_node("b", ready=False), a_node("c", cordoned=True))
    report = ledger.snapshot(Pools(revision=1, keys=[]), everything)
    assert [n.name for pool in report.pools for n in pool.nodes] == ["a"]
    assert report.node_count == 3
    assert report.properties["resources.kubernetes-fleet.io/total-cpu"] == "12"


def test_a_pod_on_a_node_that_is_not_known_yet_counts_once_it_is():
    """Pods and nodes come on two streams, in any order."""
    ledger = a_ledger()
    ledger.pod_changed(None, view(a_pod("p", node="late"), None))
    ledger.node_changed(None, node_view(a_node("late"), None))
    assert free_cpu(ledger) == {"late": 3500}


pods = st.fixed_dictionaries(
    {
        "node": st.sampled_from(["", "n0", "n1"]),
        "phase": st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
        "job": st.sampled_from(["", "u-1", "u-2"]),
        "cpu": st.sampled_from(["0", "100m", "2"]),
    }
)


@given(st.lists(st.tuples(st.integers(0, 4), st.none() | pods), max_size=40))
def test_event_by_event_equals_all_at_once(events):
    """Whatever the order of events, the account is that of the pods that are left."""
    ledger = a_ledger(a_node("n0"), a_node("n1"))
    there: dict[int, Any] = {}
    for number, shape in events:
        old = there.pop(number, None)
        new = view(a_pod(f"p{number}", **shape), None) if shape is not None else None
        ledger.pod_changed(old, new)
        if new is not None:
            there[number] = new
    fresh = a_ledger(a_node("n0"), a_node("n1"))
    for pod in there.values():
        fresh.pod_changed(None, pod)
    assert free_cpu(ledger) == free_cpu(fresh)
    assert ledger.works == fresh.works


def test_the_reason_of_a_stuck_pod_is_the_kubelets():
    """A bound pod's own trouble comes before another's missing node."""
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    stuck = a_pod("a", node="n1", containerStatuses=[{"state": waiting}])
    unbound = a_pod(
        "b",
        conditions=[
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/2 nodes",
            }
        ],
    )
    group = JobPods()
    group.put(made(unbound))
    assert group.stuck() == ("FailedScheduling", "0/2 nodes")
    group.put(made(stuck))
    assert group.stuck() == ("ImagePullBackOff", "no such image")


def test_running_since_is_the_first_start_and_outlives_the_pod():
    """It stays when the pod that gave it has gone."""

    def started(uid, at):
        state = {"running": {"startedAt": at}}
        return made(a_pod(uid, phase="Running", containerStatuses=[{"state": state}]))

    group = JobPods()
    first, second = started("a", "2026-01-01T00:00:05Z"), started("b", "2026-01-01T00:00:03Z")
    group.put(first)
    group.put(second)
    group.remove(second)
    assert group.running_since == "2026-01-01T00:00:03Z"


def test_a_view_reads_the_amounts_of_a_pod_once():
    """The previous view of the same pod lends its amounts."""
    first = view(a_pod("p"), None)
    later = view(a_pod("p", node="n1"), first)
    assert later.requests is first.requests
    assert isinstance(later, PodView)


def test_a_pod_that_is_resized_in_place_is_charged_anew():
    """Whether the kubelet is at it or done."""
    ledger, seen = a_ledger(a_node("n1")), None
    for cpu, status in (("500m", {}), ("2", {"resize": "InProgress"}), ("2", {})):
        now = view(a_pod("p", node="n1", phase="Running", cpu=cpu, **status), seen)
        ledger.pod_changed(seen, now)
        seen = now
    assert free_cpu(ledger) == {"n1": 2000}


def test_labels_of_nodes_say_how_far_their_pool_may_grow():
    """Present nodes count whether ready or not; a new node is like one that is; lifecycle taints go."""
    group = {labels.NODE_POOL: "gpu", labels.NODE_POOL_MAX: "5", "kind": "a100"}
    taints = [
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
    ]
    ledger = a_ledger(
        a_node("n1", labels=group, taints=taints[:1]),
        a_node("n2", cpu="1", labels=group, taints=taints, ready=False),
        a_node("n3"),
    )
    report = ledger.snapshot(Pools(revision=1, keys=["kind"]), everything)
    (pool,) = report.growing
    assert (pool.name, pool.max_nodes, pool.nodes) == ("gpu", 5, 2)
    assert (pool.labels, [t.key for t in pool.taints]) == ({"kind": "a100"}, ["gpu"])
    assert dict(zip(pool.resources, pool.shape, strict=True))["cpu"] == 4000


def test_nodes_that_can_not_be_used_are_counted_in_their_pool():
    """They lend no room, but an autoscaler counts them among those that are there."""
    ledger = a_ledger(a_node("n1"), a_node("n2", cordoned=True), a_node("n3", ready=False))
    (pool,) = ledger.snapshot(Pools(revision=1, keys=[]), everything).pools
    assert ([n.name for n in pool.nodes], pool.unusable) == (["n1"], 2)
