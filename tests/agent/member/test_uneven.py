"""The account of a cluster in which no two nodes are alike, and what of it is worth telling."""

import pytest

from agent.member.capacity import Ledger, node_view
from agent.objects.pods import PodView
from shared import labels
from shared.wire.agent_v1 import Pools


def a_node(
    name="n1", marks=None, taints=(), *, capacity=None, spec=None, metadata=None, **allocatable
):
    return {
        "metadata": {"name": name, "labels": marks or {}, **(metadata or {})},
        "spec": {"taints": list(taints), **(spec or {})},
        "status": {
            "allocatable": allocatable,
            "capacity": capacity or {},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def a_pod(node="n1", uid="p", **fields):
    given = {"phase": "Running", "requests": {"cpu": 500, "pods": 1}, "size": 0, "job_uid": "u-1"}
    return PodView(
        uid=uid, node=node, **{**given, "epoch": 1, "owner": "m-1", "made": True, **fields}
    )


def a_ledger(*nodes, pods=()):
    ledger = Ledger()
    for node in nodes:
        ledger.node_changed(None, node_view(node, None))
    for pod in pods:
        ledger.pod_changed(None, pod)
    return ledger


def told(ledger, keys=(), unfinished=lambda uid: True):
    return ledger.snapshot(Pools(revision=1, keys=list(keys)), unfinished)


def test_each_node_says_what_it_has_and_what_is_free_of_it():
    """In the order of names and resources; what a node lacks is zero, and overcommitted is below it."""
    ledger = a_ledger(
        a_node("b", cpu="4", memory="1Gi"),
        a_node("a", cpu="1", **{"example.com/gpu": "2"}),
        pods=[a_pod("a", requests={"cpu": 1500, "pods": 1}), a_pod("b", "q")],
    )
    (pool,) = told(ledger).pools
    assert pool.resources == ["cpu", "example.com/gpu", "memory"]
    shown = [(node.name, node.allocatable, node.free) for node in pool.nodes]
    assert shown == [
        ("a", [1000, 2, 0], [-500, 2, 0]),
        ("b", [4000, 0, 2**30], [3500, 0, 2**30]),
    ]


@pytest.mark.parametrize(
    ("node", "usable"),
    [
        (a_node(), True),
        (a_node(spec={"unschedulable": True}), False),
        (a_node(metadata={"deletionTimestamp": "now"}), False),
        (
            {
                "metadata": {"name": "n1"},
                "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]},
            },
            False,
        ),
        (
            {
                "metadata": {"name": "n1"},
                "status": {"conditions": [{"type": "DiskPressure", "status": "True"}]},
            },
            False,
        ),
        ({"metadata": {"name": "n1"}}, False),
    ],
    ids=["ready", "cordoned", "going", "unknown", "another condition", "none"],
)
def test_a_node_lends_room_while_it_is_ready_open_and_stays(node, usable):
    """Any one of the three missing, and it does not."""
    assert node_view(node, None).usable is usable


def test_a_node_that_says_only_its_capacity_has_that():
    """An amount that can not be read counts as nothing, and does not hide the others."""
    node = a_node(capacity={"cpu": "2", "memory": "lots"})
    del node["status"]["allocatable"]
    assert node_view(node, None).allocatable == {"cpu": 2000}


def test_totals_are_of_what_nodes_have_not_of_what_they_lend():
    """The system's own share is part of a cluster's size."""
    ledger = a_ledger(
        a_node("a", capacity={"cpu": "4"}, cpu="3"), a_node("b", capacity={"cpu": "2"}, cpu="1")
    )
    properties = told(ledger).properties
    assert properties["resources.kubernetes-fleet.io/total-cpu"] == "6"
    assert properties["kubernetes-fleet.io/node-count"] == "2"


def test_nodes_with_the_same_taints_are_of_one_pool():
    """In whichever order they are listed; another value or effect makes another pool."""
    one = {"key": "a", "value": "1", "effect": "NoSchedule"}
    two = {"key": "b", "effect": "NoExecute"}
    ledger = a_ledger(
        a_node("n1", taints=[one, two]),
        a_node("n2", taints=[two, one]),
        a_node("n3", taints=[{**one, "value": "2"}, two]),
        a_node("n4", taints=[one, {**two, "effect": "NoSchedule"}]),
    )
    groups = sorted(tuple(node.name for node in pool.nodes) for pool in told(ledger).pools)
    assert groups == [("n1", "n2"), ("n3",), ("n4",)]


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        ({}, False),
        ({"message": "words"}, False),
        ({"started": "2026"}, False),
        ({"phase": "Pending"}, False),
        ({"phase": "Succeeded"}, True),
        ({"phase": "Failed"}, True),
        ({"node": "n2"}, True),
        ({"requests": {"cpu": 600, "pods": 1}}, True),
        ({"job_uid": "u-2"}, True),
        ({"epoch": 2}, True),
    ],
    ids=str,
)
def test_only_what_moves_the_account_makes_a_new_revision(change, counts):
    """Every other event of a pod would have the whole capacity sent once more."""
    before = a_pod()
    after = a_pod(**change)
    ledger = a_ledger(a_node(cpu="4"), pods=[before])
    revision = ledger.revision
    ledger.pod_changed(before, after)
    assert (ledger.revision > revision) is counts
    fresh = a_ledger(a_node(cpu="4"), pods=[after])
    assert (ledger.works, told(ledger).pools) == (fresh.works, told(fresh).pools)


@pytest.mark.parametrize(("cpu", "counts"), [("4", False), ("5", True)])
def test_a_node_that_only_beats_is_no_change(cpu, counts):
    """Its kubelet writes its status every few minutes."""
    before = node_view(a_node(cpu="4"), None)
    ledger = Ledger()
    ledger.node_changed(None, before)
    ledger.node_changed(before, node_view(a_node(cpu=cpu), before))
    assert ledger.revision == (2 if counts else 1)


@pytest.mark.parametrize(
    ("phase", "unfinished", "counted"),
    [
        ("Running", True, [(1, 0)]),
        ("Running", False, [(1, 0)]),
        ("Succeeded", True, [(0, 1)]),
        ("Succeeded", False, []),
        ("Failed", True, []),
    ],
)
def test_what_still_takes_room_is_counted_whatever_its_job_came_to(phase, unfinished, counted):
    """What has succeeded is counted until the job has ended; what failed holds nothing."""
    report = told(a_ledger(a_node(cpu="4"), pods=[a_pod(phase=phase)]), (), lambda uid: unfinished)
    assert [(each.bound, each.succeeded) for each in report.bound] == counted


def test_epochs_of_a_work_are_counted_apart():
    """Pods of the earlier one may still be going while the next begins."""
    pods = [a_pod(), a_pod(uid="q"), a_pod(uid="r", epoch=2)]
    report = told(a_ledger(a_node(cpu="4"), pods=pods))
    assert sorted((each.epoch, each.bound) for each in report.bound) == [(1, 2), (2, 1)]


def test_nothing_is_remembered_of_the_last_pod_of_a_node():
    """A cluster whose nodes come and go keeps no row for each that ever was."""
    ledger = a_ledger(pods=[a_pod()])
    ledger.pod_changed(a_pod(), None)
    assert (dict(ledger.used), ledger.works) == ({}, {})


def growing(**most):
    """Nodes of one growing pool: name → whether it is ready."""
    marks = {labels.NODE_POOL: "gpu", labels.NODE_POOL_MAX: "5"}
    nodes = [a_node(name, marks, cpu=cpu) for name, (cpu, _) in most.items()]
    for node, (_, ready) in zip(nodes, most.values(), strict=True):
        node["status"]["conditions"][0]["status"] = "True" if ready else "False"
    (pool,) = told(a_ledger(*nodes)).growing
    return pool.shape


@pytest.mark.parametrize(
    ("nodes", "cpu"),
    [
        ({"a": ("1", True), "b": ("2", True)}, 2000),
        ({"b": ("2", True), "a": ("1", True)}, 2000),
        ({"a": ("1", True), "b": ("2", False)}, 1000),
        ({"a": ("1", False), "b": ("2", False)}, 2000),
    ],
)
def test_a_new_node_is_like_the_last_of_its_pool_that_is_ready(nodes, cpu):
    """By name, whichever was heard of last."""
    assert growing(**nodes) == [cpu]


@pytest.mark.parametrize(
    ("most", "found"),
    [("5", [5]), ("0", [0]), ("", []), ("many", []), ("-1", []), ("1" * 12, [111_111_111])],
)
def test_a_pool_grows_as_far_as_its_label_says(most, found):
    """Where that is a number; one that nobody can mean is cut to one that everybody can hold."""
    ledger = a_ledger(a_node("a", {labels.NODE_POOL_MAX: most}, cpu="1"))
    pools = told(ledger).growing
    assert [pool.max_nodes for pool in pools] == found
    assert [pool.name for pool in pools] == ["pool"] * len(found)


def test_what_a_node_keeps_for_its_system_is_nobodys_room():
    """The room of a node is its allocatable; its capacity counts where it does not say that."""
    whole = {"cpu": "8", "memory": "8Gi", "pods": "110"}
    ledger = a_ledger(
        a_node("kept", capacity=whole, cpu="7", memory="6Gi", pods="110"),
        a_node("plain", capacity=whole),
    )
    (pool,) = told(ledger).pools
    assert pool.resources == ["cpu", "memory", "pods"]
    shown = [(node.name, node.allocatable, node.free) for node in pool.nodes]
    kept, plain = [7000, 6 * 2**30, 110], [8000, 8 * 2**30, 110]
    assert shown == [("kept", kept, kept), ("plain", plain, plain)]
