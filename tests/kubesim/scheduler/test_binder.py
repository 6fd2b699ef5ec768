"""Which pods are bound to which nodes, and what is said where none fits."""

import pytest

from tests.kubesim.world import World, a_job, a_pod, a_pool, conditions_of

GPU = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def an_affinity(*terms):
    required = {"nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def an_expression(key, operator, *values):
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def node_of(world, name):
    return world.get("pods", name)["spec"].get("nodeName")


def why_not(world, name):
    (condition,) = [
        c for c in conditions_of(world.get("pods", name)) if c["type"] == "PodScheduled"
    ]
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    return condition["message"]


def test_pods_spread_over_equal_nodes():
    """Equal pods go to the node that has most left; among equals, to the first by name."""
    world = World([a_pool(count=3)])
    for number in range(4):
        world.create("pods", a_pod(f"p{number}", requests={"cpu": "2"}))
    assert [node_of(world, f"p{n}") for n in range(4)] == ["cpu-0", "cpu-1", "cpu-2", "cpu-0"]


def test_no_node_is_given_more_than_it_has():
    """What does not fit waits, and the scheduler says of what there is too little."""
    world = World([a_pool(count=2, cpu="4")])
    for number in range(3):
        world.create("pods", a_pod(f"p{number}", requests={"cpu": "3"}))
    assert why_not(world, "p2") == "0/2 nodes are available: 2 Insufficient cpu."
    assert "FailedScheduling" in world.reasons("p2")


def test_a_waiting_pod_is_bound_when_room_appears():
    """A pod that ends or is deleted gives its room to the one that waits."""
    world = World([a_pool(count=1, cpu="4")])
    for name in ("first", "second"):
        world.create("pods", a_pod(name, requests={"cpu": "3"}))
    assert node_of(world, "second") is None
    world.delete("pods", "first")
    assert node_of(world, "second") is None, "a pod that is stopping still holds its room"
    world.advance(1)
    assert node_of(world, "second") == "cpu-0"


def test_a_node_that_fits_takes_the_waiting_pod():
    """A pod larger than every node is bound as soon as a node appears that fits it."""
    world = World([a_pool()])
    world.create("pods", a_pod("large", requests={"cpu": "64"}))
    assert why_not(world, "large") == "0/3 nodes are available: 3 Insufficient cpu."
    world.behaviours.add_node("big", allocatable={"cpu": "64", "memory": "1Gi"})
    world.settle()
    assert node_of(world, "large") == "big"


def test_the_first_to_come_is_the_first_to_go():
    """Of equal pods that wait, the one that came first is bound first; higher priority before it."""
    world = World([a_pool(count=1, cpu="1")])
    world.create("pods", a_pod("holder", requests={"cpu": "1"}))
    world.create("pods", a_pod("early", requests={"cpu": "1"}))
    world.create("pods", a_pod("late", requests={"cpu": "1"}))
    world.create("pods", a_pod("urgent", requests={"cpu": "1"}, priority=10))
    for gone, bound in (("holder", "urgent"), ("urgent", "early"), ("early", "late")):
        world.delete("pods", gone)
        world.advance(1)
        assert node_of(world, bound) == "cpu-0"


def test_every_reason_is_counted():
    """The message counts the nodes by what rules them out, as kube-scheduler does."""
    world = World(
        [
            a_pool("gpu", count=1, taints=[GPU], **{"cpu": "8", "nvidia.com/gpu": "4"}),
            a_pool("cpu", count=2, labels={"zone": "a"}),
        ]
    )
    pod = a_pod("p", requests={"nvidia.com/gpu": "1"}, nodeSelector={"zone": "a"})
    world.create("pods", pod)
    assert why_not(world, "p") == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient nvidia.com/gpu."
    )
    world.create(
        "pods", a_pod("q", nodeSelector={"zone": "b"}, tolerations=[{"operator": "Exists"}])
    )
    assert why_not(world, "q") == (
        "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."
    )


def test_without_nodes_there_is_nothing_to_choose_from():
    """A cluster without nodes says so."""
    world = World()
    world.create("pods", a_pod("p"))
    assert why_not(world, "p") == "no nodes available to schedule pods"


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        (an_expression("tier", "In", "gold", "silver"), True),
        (an_expression("tier", "In", "bronze"), False),
        (an_expression("tier", "NotIn", "bronze"), True),
        (an_expression("tier", "NotIn", "gold"), False),
        (an_expression("absent", "NotIn", "x"), True),
        (an_expression("tier", "Exists"), True),
        (an_expression("absent", "Exists"), False),
        (an_expression("absent", "DoesNotExist"), True),
        (an_expression("size", "Gt", "5"), True),
        (an_expression("size", "Gt", "6"), False),
        (an_expression("size", "Lt", "7"), True),
        (an_expression("tier", "Gt", "1"), False),
        (an_expression("tier", "Resembles", "gold"), False),
    ],
)
def test_required_node_affinity(expression, fits):
    """Every operator of node affinity, on a node with tier=gold and size=6."""
    world = World([a_pool(count=1, labels={"tier": "gold", "size": "6"})])
    world.create("pods", a_pod("p", affinity=an_affinity([expression])))
    assert (node_of(world, "p") is not None) is fits


def a_preference(key, operator, *values, weight=100):
    preference = {"matchExpressions": [an_expression(key, operator, *values)]}
    return {"weight": weight, "preference": preference}


def preferring(*terms):
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}}


HOSTNAME = "kubernetes.io/hostname"


@pytest.mark.parametrize(
    ("terms", "node"),
    [
        ([a_preference(HOSTNAME, "In", "cpu-2")], "cpu-2"),
        ([a_preference(HOSTNAME, "NotIn", "cpu-0")], "cpu-1"),
        ([a_preference(HOSTNAME, "In", "gone")], "cpu-0"),
        (
            [
                a_preference(HOSTNAME, "In", "cpu-2", weight=1),
                a_preference(HOSTNAME, "In", "cpu-1"),
            ],
            "cpu-1",
        ),
    ],
)
def test_preferred_node_affinity_goes_before_free_room(terms, node):
    """As kube-scheduler weighs it; a preference that no node meets asks for nothing."""
    world = World([a_pool(count=3)])
    world.create("pods", a_pod("p", affinity=preferring(*terms)))
    assert node_of(world, "p") == node


def test_a_preferred_node_without_room_is_passed_over():
    """It is a preference."""
    world = World([a_pool(count=2, cpu="4")])
    world.create("pods", a_pod("first", requests={"cpu": "3"}))
    affinity = preferring(a_preference(HOSTNAME, "In", "cpu-0"))
    world.create("pods", a_pod("p", requests={"cpu": "3"}, affinity=affinity))
    assert node_of(world, "p") == "cpu-1"


def test_terms_are_alternatives():
    """One satisfied nodeSelectorTerm is enough; without any, no node is."""
    world = World([a_pool(count=1, labels={"tier": "gold"})])
    missed, met = an_expression("tier", "In", "x"), an_expression("tier", "Exists")
    world.create("pods", a_pod("p", affinity=an_affinity([missed], [met])))
    world.create("pods", a_pod("q", affinity=an_affinity()))
    assert (node_of(world, "p"), node_of(world, "q")) == ("cpu-0", None)


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}, True),
        ({"key": "nvidia.com/gpu", "value": "absent"}, False),
        ({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_taints_need_tolerations(toleration, fits):
    """A tainted node takes only pods that tolerate its taint."""
    world = World([a_pool(count=1, taints=[GPU])])
    world.create("pods", a_pod("p", tolerations=[toleration]))
    assert (node_of(world, "p") is not None) is fits


def test_preferred_taints_keep_nobody_out():
    """PreferNoSchedule is a wish, not a rule."""
    world = World([a_pool(count=1, taints=[{"key": "old", "effect": "PreferNoSchedule"}])])
    world.create("pods", a_pod("p"))
    assert node_of(world, "p") == "cpu-0"


def test_a_cordoned_node_takes_no_more():
    """A cordoned node gets no new pods until it is uncordoned; those it has run on."""
    world = World([a_pool(count=1)])
    world.create("pods", a_pod("before"))
    world.behaviours.nodes_request("cordon", {"name": "cpu-0"})
    world.create("pods", a_pod("after"))
    assert why_not(world, "after") == "0/1 nodes are available: 1 node(s) were unschedulable."
    world.behaviours.nodes_request("uncordon", {"name": "cpu-0"})
    world.settle()
    assert node_of(world, "after") == "cpu-0"


def test_a_node_takes_so_many_pods():
    """`pods` is a resource like others: a full node takes no more."""
    world = World([a_pool(count=1, cpu="100", pods="2")])
    world.create("jobs.batch", a_job(parallelism=3, completions=3, run_seconds="9"))
    waiting = [pod for pod in world.pods() if "nodeName" not in pod["spec"]]
    assert len(waiting) == 1
    assert why_not(world, waiting[0]["metadata"]["name"]) == (
        "0/1 nodes are available: 1 Too many pods."
    )


def test_pods_for_other_schedulers_are_left_alone():
    """A pod that names another scheduler, or has scheduling gates, is not bound."""
    world = World([a_pool()])
    world.create("pods", a_pod("other", schedulerName="mine"))
    world.create("pods", a_pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    assert node_of(world, "other") is None
    assert node_of(world, "gated") is None
    world.patch_spec("pods", "gated", schedulingGates=None)
    assert node_of(world, "gated") is not None


def test_room_that_others_took_counts():
    """A pod that somebody else bound holds its room; after a restart all of them do."""
    world = World([a_pool(count=1, cpu="4")])
    world.create("pods", a_pod("given", requests={"cpu": "3"}, nodeName="cpu-0"))
    world.create("pods", a_pod("p", requests={"cpu": "2"}))
    assert node_of(world, "p") is None
    again = world.restarted()
    again.create("pods", a_pod("q", requests={"cpu": "1"}))
    assert (node_of(again, "p"), node_of(again, "q")) == (None, "cpu-0")


def test_a_pod_with_an_impossible_quantity_stops_nobody():
    """A pod whose requests cannot be read is told so; the others are bound."""
    world = World([a_pool()])
    world.store.create("pods", a_pod("poison", requests={"cpu": "lots"}), trusted=True)
    world.create("pods", a_pod("good"))
    assert node_of(world, "good") == "cpu-0"
    assert "FailedScheduling" in world.reasons("poison")
