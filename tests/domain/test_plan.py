"""What an assignment charges, and what it adds to pods."""

from dataclasses import replace

from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.plan import Assignment, PodSetAssignment
from shared.resources import Toleration

GPU = PodSetAssignment(
    "worker", 3, (("nvidia.com/gpu", "h100"),), (("nvidia.com/gpu", 24),), (("gpu", "h100"),),
    (Toleration(key="gpu", operator="Exists", effect="NoSchedule"),) * 2,
)  # fmt: skip
CPU = PodSetAssignment("driver", 1, (("cpu", "any"),), (("cpu", 2000),), (), ())


def test_an_admission_names_flavors_and_usage_by_pod_set() -> None:
    """As it is stored; what is usual is left out."""
    told = Assignment((CPU, GPU), {}, (NodeAsk(), NodeAsk())).admission()
    assert told == {
        "podSets": [
            {"name": "driver", "count": 1, "flavors": {"cpu": "any"}, "usage": {"cpu": 2000}},
            {
                "name": "worker",
                "count": 3,
                "flavors": {"nvidia.com/gpu": "h100"},
                "usage": {"nvidia.com/gpu": 24},
            },
        ]
    }


def test_an_admission_tells_what_is_unusual() -> None:
    """Fewer pods than wanted, and nodes that are still to come."""
    told = Assignment((CPU,), {}, (NodeAsk(growing=True),), reduced=True).admission()
    assert (told["growing"], told["reduced"]) == (True, True)


def test_the_flavors_of_a_single_pod_set_are_added_to_all_pods() -> None:
    """A Job has one: its selector and each toleration once, and its parallelism where that is reduced."""
    added = Assignment((GPU,), {}, (NodeAsk(),)).additions()
    assert (added.parallelism, added.node_selector) == (None, {"gpu": "h100"})
    assert added.tolerations == ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},)
    assert Assignment((GPU,), {}, (NodeAsk(),), reduced=True).additions().parallelism == 3


def test_of_several_pod_sets_each_gets_the_flavors_of_its_own() -> None:
    """Nothing is added to pods of another pod set."""
    other = replace(CPU, labels=(("pool", "cpu"),))
    added = Assignment((other, GPU), {}, (NodeAsk(), NodeAsk())).additions()
    assert (added.node_selector, added.tolerations) == ({}, ())
    assert {name: each["node_selector"] for name, each in added.pod_sets.items()} == {
        "driver": {"pool": "cpu"},
        "worker": {"gpu": "h100"},
    }
