"""A Job of a member as its user may have written it: what hub, agent and servers added is not in it."""

import copy
from typing import Any

import pytest

from agent.objects.manifests import as_written
from shared import labels
from shared.node_preferences import with_hostnames, with_preferences

WRITTEN: Any = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "train",
        "namespace": "team-a",
        "labels": {"team": "a"},
        "annotations": {"roadstead.dev/retry": "3"},
    },
    "spec": {
        "parallelism": 2,
        "template": {
            "metadata": {"labels": {"app": "x"}, "annotations": {}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "env": [{"name": "MINE", "value": "1"}]}],
            },
        },
    },
}


def test_what_others_added_is_taken_off():
    """Marks, finalizers, generated labels and selectors, the fence, the status; a user's own stays."""
    live = copy.deepcopy(WRITTEN)
    marks = {labels.JOB_UID: "u", labels.EPOCH: "3", "batch.kubernetes.io/job-name": "train"}
    live["metadata"] |= {"uid": "m", "resourceVersion": "7", "finalizers": ["x"]}
    live["metadata"]["labels"] |= {**marks, labels.MANAGED_BY: "h", labels.QUEUE_NAME: "there"}
    live["metadata"]["annotations"] |= {labels.INCARNATION: "i", labels.SPEC_HASH: "s"}
    live["spec"] |= {"suspend": False, "selector": {"matchLabels": marks}}
    live["spec"]["template"]["metadata"]["labels"] |= marks
    (container,) = live["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": name, "value": "1"} for name in sorted(labels.FENCE)] + container[
        "env"
    ]
    live["status"] = {"active": 1}
    before = copy.deepcopy(live)
    assert as_written(live) == WRITTEN
    assert live == before


ZONE: Any = {
    "weight": 100,
    "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED: Any = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}


def preferred(pod: Any) -> list[tuple[str, Any]]:
    terms = pod["affinity"]["nodeAffinity"][PREFERRED]
    of_terms = [term["preference"]["matchExpressions"][0] for term in terms]
    return [(each["operator"], each["values"]) for each in of_terms]


def test_hostname_labels_take_the_place_of_node_names():
    """In the hub's terms alone: a user's own term is about labels already."""
    own = {"weight": 1, "preference": {"matchExpressions": [
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]}}  # fmt: skip
    pod = {"affinity": {"nodeAffinity": {PREFERRED: [own]}}}
    given = with_preferences(pod, ["n1"], ["n2", "n3"])
    before = copy.deepcopy(given)
    assert preferred(with_hostnames(given, "host-{}".format)) == [
        ("In", ["n1"]),
        ("In", ["host-n1"]),
        ("NotIn", ["host-n2", "host-n3"]),
    ]
    assert given == before
    assert with_hostnames(pod, str.upper) is pod
    assert with_hostnames({}, str.upper) == {}


@pytest.mark.parametrize(
    "affinity",
    [
        None,
        {"podAffinity": {"x": 1}},
        {"nodeAffinity": REQUIRED},
        {"nodeAffinity": {**REQUIRED, PREFERRED: [ZONE]}},
    ],
)
@pytest.mark.parametrize(
    ("nodes", "others"), [([], []), (["n1"], []), ([], ["n2"]), (["n1"], ["n2", "n3"])]
)
def test_nodes_that_the_hub_chose_are_taken_off(affinity: Any, nodes: Any, others: Any):
    """The user's own affinity stays: the hub's preferences were for another time."""
    written = copy.deepcopy(WRITTEN)
    if affinity:
        written["spec"]["template"]["spec"]["affinity"] = affinity
    live = copy.deepcopy(written)
    pod = live["spec"]["template"]["spec"]
    live["spec"]["template"]["spec"] = with_preferences(pod, nodes, others)
    assert as_written(live) == written
