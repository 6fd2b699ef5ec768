"""Kueue's kinds on a simulated hub cluster are kept in v1beta2's names."""

import pytest

from shared.kubesim.new_names import in_new_names

FIFO = {"queueingStrategy": "BestEffortFIFO"}


def kept(spec, old=None, plural="clusterqueues"):
    """The spec that is kept of a new object, or of one that was kept as `old` before."""
    before = None if old is None else {"spec": old}
    return in_new_names(f"{plural}.kueue.x-k8s.io", {"spec": spec}, before)["spec"]


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
    was = {"priorityClassRef": REFERENCE}
    now = kept(was | CLASS | {"priorityClassName": "low"}, was, "workloads")
    assert now == {"priorityClassRef": REFERENCE | {"name": "low"}}
    moved = {"location": "south", "locationType": "Secret"}
    was = {"clusterSource": {"kubeConfig": SECRET}}
    now = kept(was | {"kubeConfig": moved}, was, "multikueueclusters")
    assert now == {"clusterSource": {"kubeConfig": moved}}


def test_two_names_of_a_new_object_that_differ_are_the_hubs_to_refuse():
    """They are left as they were written."""
    both = CLASS | {"priorityClassRef": REFERENCE | {"name": "low"}}
    assert kept(both, plural="workloads") == both
    other = {"location": "south", "locationType": "Secret"}
    both = {"kubeConfig": SECRET, "clusterSource": {"kubeConfig": other}}
    assert kept(both, plural="multikueueclusters") == both
