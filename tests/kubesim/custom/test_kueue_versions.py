"""Kueue's kinds on a simulated hub cluster are kept in v1beta2's names."""

from typing import Any

import orjson
import pytest

from shared.kubesim.custom.kueue_v1beta2 import NEW_NAMES, defaulted, in_new_names

FIFO = {"queueingStrategy": "BestEffortFIFO"}


def kept(spec, old=None, plural="clusterqueues"):
    """The spec that is kept of a new object, or of one that was kept as `old` before."""
    before = None if old is None else {"spec": old}
    key = f"{plural}.kueue.x-k8s.io"
    return defaulted(key, in_new_names(key, {"spec": spec}, before))["spec"]


@pytest.mark.parametrize(
    ("written", "spec"),
    [
        ({"cohort": "all"}, {"cohortName": "all"}),
        ({"cohortName": "all"}, {"cohortName": "all"}),
        (
            {"admissionChecks": ["a", "b"]},
            {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}},
        ),
        ({"admissionChecks": []}, {}),
        (
            {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}},
            {"flavorFungibility": dict.fromkeys(("whenCanBorrow", "whenCanPreempt"), "MayStopSearch")},
        ),
        ({"queueingStrategy": "StrictFIFO"}, {"queueingStrategy": "StrictFIFO"}),
    ],
)  # fmt: skip
def test_old_names_become_new_ones(written, spec):
    """What v1beta1 calls otherwise is kept as v1beta2 calls it, with Kueue's default strategy."""
    assert kept(written) == FIFO | spec


def test_an_old_name_written_later_wins():
    """A patch in v1beta1's names changes what is kept under the new one."""
    was = FIFO | {"cohortName": "all"}
    assert kept(was | {"cohort": "other"}, was) == FIFO | {"cohortName": "other"}


def test_of_two_names_the_one_that_changed_counts():
    """Who reads the old name, leaves it and writes the new one means the new one."""
    was = FIFO | {"cohortName": "all"}
    assert kept(was | {"cohort": "all", "cohortName": "b"}, was) == FIFO | {"cohortName": "b"}


def test_two_names_that_differ_are_left_alone():
    """Written both and different, they are the hub's to refuse."""
    spec = FIFO | {"cohort": "a", "cohortName": "b"}
    assert kept(spec) == spec
    assert kept(spec, FIFO | {"cohortName": "c"}) == spec


SECRET = {"location": "north", "locationType": "Secret"}
CLASS = {
    "priorityClassName": "high",
    "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
}
REFERENCE = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
OTHERS = (
    ("workloads", CLASS, {"priorityClassRef": REFERENCE}),
    ("workloads", {"priorityClassName": "high", "priority": 3}, {"priority": 3}),
    ("workloads", {"priorityClassRef": REFERENCE}, {"priorityClassRef": REFERENCE}),
    ("workloads", {"queueName": "q"}, {"queueName": "q"}),
    (
        "admissionchecks",
        {"controllerName": "c", "retryDelayMinutes": 15},
        {"controllerName": "c"},
    ),
    ("multikueueclusters", {"kubeConfig": SECRET}, {"clusterSource": {"kubeConfig": SECRET}}),
    (
        "multikueueclusters",
        {"clusterSource": {"kubeConfig": SECRET}},
        {"clusterSource": {"kubeConfig": SECRET}},
    ),
    ("cohorts", {"parentName": "p"}, {"parentName": "p"}),
)


@pytest.mark.parametrize(("plural", "written", "spec"), OTHERS)
def test_other_kinds_are_kept_in_new_names_too(plural, written, spec):
    """A class becomes a reference, a kubeconfig a source; a delay that has no effect is dropped."""
    assert kept(written, plural=plural) == spec
    assert kept(spec | written, spec, plural) == spec, "written again in the old names"


def test_an_old_name_of_another_kind_written_later_wins():
    """A patch in v1beta1's names changes what is kept under the new one."""
    was: dict[str, Any] = {"priorityClassRef": REFERENCE}
    now = kept(was | CLASS | {"priorityClassName": "low"}, was, "workloads")
    assert now == {"priorityClassRef": REFERENCE | {"name": "low"}}
    moved = {"location": "south", "locationType": "Secret"}
    was = {"clusterSource": {"kubeConfig": SECRET}}
    now = kept(was | {"kubeConfig": moved}, was, "multikueueclusters")
    assert now == {"clusterSource": {"kubeConfig": moved}}


def test_two_names_of_a_new_object_that_differ_are_the_hubs_to_refuse():
    """They are left as they were written."""
    both: dict[str, Any] = CLASS | {"priorityClassRef": REFERENCE | {"name": "low"}}
    assert kept(both, plural="workloads") == both
    other = {"location": "south", "locationType": "Secret"}
    both = {"kubeConfig": SECRET, "clusterSource": {"kubeConfig": other}}
    assert kept(both, plural="multikueueclusters") == both


APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
CHECKS = {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}}
ONE_FLAVOR = {"admissionChecksStrategy": {"admissionChecks": [{"name": "a", "onFlavors": ["f"]}]}}
SEARCH = {"flavorFungibility": {"whenCanBorrow": "MayStopSearch"}}
SOURCE = {"clusterSource": {"kubeConfig": SECRET}}


@pytest.mark.parametrize(
    ("kind", "spec", "applied", "shown"),
    [
        ("ClusterQueue", {"cohortName": "c"}, {}, {"cohort": "c"}),
        ("ClusterQueue", {"cohortName": "c"}, {"cohortName": "b"}, {"cohortName": "c"}),
        ("ClusterQueue", CHECKS, {}, CHECKS),
        ("ClusterQueue", CHECKS, {"admissionChecks": ["a"]}, {"admissionChecks": ["a", "b"]}),
        ("ClusterQueue", ONE_FLAVOR, {"admissionChecks": ["a"]}, ONE_FLAVOR),
        ("ClusterQueue", SEARCH, {}, SEARCH),
        ("ClusterQueue", SEARCH, {"flavorFungibility": {"whenCanBorrow": "Borrow"}},
         {"flavorFungibility": {"whenCanBorrow": "Borrow"}}),
        ("Workload", {"priorityClassRef": REFERENCE}, {}, CLASS),
        ("Workload", {"priorityClassRef": REFERENCE}, {"priorityClassRef": REFERENCE},
         {"priorityClassRef": REFERENCE}),
        ("AdmissionCheck", {"controllerName": "c"}, {"retryDelayMinutes": 1},
         {"controllerName": "c", "retryDelayMinutes": 1}),
        ("MultiKueueCluster", SOURCE, {}, {"kubeConfig": SECRET}),
        ("MultiKueueCluster", SOURCE, SOURCE, SOURCE),
        ("LocalQueue", {"clusterQueue": "q"}, {}, {"clusterQueue": "q"}),
    ],
)  # fmt: skip
def test_v1beta1_shows_what_is_kept_in_its_own_names(kind, spec, applied, shown):
    """Where it has two ways to say a thing, in the way that kubectl applied it; v1beta2 as it is kept."""
    annotation = orjson.dumps({"spec": applied}).decode()
    obj = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": "x", "annotations": {APPLIED: annotation}},
        "spec": spec,
    }
    old = NEW_NAMES.shown(obj, "kueue.x-k8s.io/v1beta1")
    assert old == {**obj, "apiVersion": "kueue.x-k8s.io/v1beta1", "spec": shown}
    assert NEW_NAMES.shown(obj, "kueue.x-k8s.io/v1beta2") is obj
    plural = {"Workload": "workloads", "AdmissionCheck": "admissionchecks"}.get(
        kind, f"{kind.lower()}s"
    )
    assert in_new_names(f"{plural}.kueue.x-k8s.io", old, None)["spec"] == spec, "and back"


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"spec": 1}', "{}"])
def test_an_annotation_that_is_no_manifest_says_nothing(text):
    """A client may write anything into it."""
    obj = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "x", "annotations": {APPLIED: text}},
        "spec": {"cohortName": "c"},
    }
    assert NEW_NAMES.shown(obj, "kueue.x-k8s.io/v1beta1")["spec"] == {"cohort": "c"}
