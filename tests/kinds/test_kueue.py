"""Kueue's kinds in both versions: one internal shape, each version's own names, and the rules."""

from typing import Any

import pytest

from hub.domain.quota.declared import read_cluster_queue
from hub.domain.quota.tree import UNLIMITED
from shared import kinds
from shared.errors import Rejected
from shared.resources import Resources
from tests.kinds.build import (
    KUEUE,
    a_container,
    a_group,
    a_queue,
    a_workload,
    an_object,
    refused,
    spec_of,
)


def test_both_versions_of_a_queue_have_one_shape():
    """v1beta1's names become v1beta2's."""
    old = a_queue(
        "v1beta1",
        cohort="all",
        admissionChecks=["quick"],
        flavorFungibility={"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
    )
    new = a_queue(
        cohortName="all",
        admissionChecksStrategy={"admissionChecks": [{"name": "quick"}]},
        flavorFungibility={"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"},
    )
    assert spec_of(old) == spec_of(new)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_older_words_of_fungibility_are_read_in_both_versions(version):
    """The hub cluster serves one stored object in both: `Preempt` by either is MayStopSearch."""
    words = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
    kept = spec_of(a_queue(version, flavorFungibility=words))["flavorFungibility"]
    assert kept == dict.fromkeys(words, "MayStopSearch")


def test_other_words_of_fungibility_are_refused():
    """Each field has its own word: whenCanPreempt refuses `Borrow`."""
    words = {"whenCanBorrow": "Preempt", "whenCanPreempt": "Borrow"}
    assert refused(a_queue(flavorFungibility=words)) == {
        f"spec.flavorFungibility.{name}": "UnsupportedValue" for name in words
    }


def test_defaults_are_filled_in():
    """A queue that says nothing has Kueue's defaults; who may use it is left to the hub."""
    spec = spec_of(a_queue())
    assert spec["queueingStrategy"] == "BestEffortFIFO"
    assert spec["stopPolicy"] == "None"
    assert spec["flavorFungibility"] == {
        "whenCanBorrow": "MayStopSearch",
        "whenCanPreempt": "TryNextFlavor",
    }
    assert "namespaceSelector" not in spec


@pytest.mark.parametrize(
    ("version", "field"),
    [("v1beta1", "cohortName"), ("v1beta2", "cohort"), ("v1beta2", "admissionChecks")],
)
def test_a_field_of_the_other_version_is_unknown(version, field):
    """Within one manifest only its own version's names are known."""
    value = ["a"] if field == "admissionChecks" else "a"
    assert refused(a_queue(version, **{field: value})) == {f"spec.{field}": "UnknownField"}


def test_the_nearest_name_is_that_of_the_place():
    """An unknown field deep inside is answered with the nearest name that is known there."""
    group = a_group(cpu="1")
    group["flavors"][0]["resources"][0]["nominalQuta"] = "1"
    with pytest.raises(Exception, match=r"did you mean nominalQuota\?"):
        kinds.parse(a_queue(resourceGroups=[group]))


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("origin", ["rest", "hub-cluster"])
def test_a_check_is_of_flavors_that_the_queue_has(version, origin):
    """A misspelt flavor would switch the check off: the refusal has its field and the right name."""
    checks: list[dict[str, Any]] = [{"name": "a"}, {"name": "b", "onFlavors": ["spot", "sopt"]}]
    queue = a_queue(
        version,
        resourceGroups=[a_group("spot", cpu="1")],
        admissionChecksStrategy={"admissionChecks": checks},
    )
    field = "spec.admissionChecksStrategy.admissionChecks[1].onFlavors[1]"
    assert refused(queue, origin=origin) == {field: "InvalidValue"}
    with pytest.raises(
        Rejected, match=r"no flavor 'sopt'.*did you mean spot\?.*resourceGroups: spot"
    ):
        kinds.parse(queue, origin=origin)
    checks[1]["onFlavors"].pop()
    queue["spec"]["admissionChecksStrategy"]["admissionChecks"] = checks
    assert spec_of(queue, origin=origin)["admissionChecksStrategy"] == {"admissionChecks": checks}


def test_a_stored_object_may_use_either_name():
    """From the hub cluster both spellings are read, as long as they agree."""
    lenient = {"origin": "hub-cluster", "lenient_versions": True}
    assert spec_of(a_queue(cohort="all"), **lenient)["cohortName"] == "all"
    assert spec_of(a_queue("v1beta1", cohort="all", cohortName="all"), **lenient)
    both = a_queue("v1beta1", cohort="all", cohortName="some")
    assert refused(both, **lenient) == {"spec.cohort": "AmbiguousField"}


def test_a_workload_names_its_priority_class_in_either_way():
    """Class name and source become one reference; both versions demand the number."""
    source = "kueue.x-k8s.io/workloadpriorityclass"
    reference = {"group": KUEUE, "kind": "WorkloadPriorityClass", "name": "high"}
    old = a_workload("v1beta1", priorityClassName="high", priorityClassSource=source, priority=9)
    new = a_workload(priorityClassRef=reference, priority=9)
    assert spec_of(old) == spec_of(new)
    for workload in (old, new):
        del workload["spec"]["priority"]
        assert refused(workload) == {"spec.priority": "Required"}


def test_a_workload_gives_pod_sets():
    """What a Workload asks for is read by the rule for pods."""
    workload = a_workload()
    pod_set = workload["spec"]["podSets"][0]
    resources = {"requests": {"cpu": "2"}}
    pod_set |= {"count": 4, "minCount": 2}
    pod_set["template"]["spec"]["containers"] = [a_container(resources=resources)]
    (pods,) = kinds.parse(workload).pod_sets
    assert (pods.count, pods.min_count, pods.requests) == (4, 2, Resources({"cpu": 2000}))


QUEUE_FAULTS = [
    ({"resourceGroups": [a_group(cpu="-1")]},
     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", "NegativeQuantity"),
    ({"resourceGroups": [a_group(memory="9223372036854775808")]},
     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", "QuantityTooLarge"),
    ({"resourceGroups": [a_group(**{"warp cores": "1"})]},
     "spec.resourceGroups[0].coveredResources[0]", "InvalidResourceName"),
    ({"resourceGroups": [a_group(**{"hugepages-2 Mi": "1"})]},
     "spec.resourceGroups[0].coveredResources[0]", "InvalidResourceName"),
    ({"resourceGroups": [a_group()]}, "spec.resourceGroups[0].coveredResources", "Required"),
    ({"resourceGroups": [a_group(cpu="1"), a_group("other", cpu="1")]},
     "spec.resourceGroups[1].coveredResources[0]", "Duplicate"),
    ({"resourceGroups": [a_group(cpu="1"), a_group(memory="1")]},
     "spec.resourceGroups[1].flavors[0].name", "Duplicate"),
    ({"resourceGroups": [{**a_group(cpu="1"), "coveredResources": ["cpu", "memory"]}]},
     "spec.resourceGroups[0].flavors[0].resources", "ResourcesMismatch"),
    ({"resourceGroups": [a_group(limits={"borrowingLimit": "1"}, cpu="1")]},
     "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit", "NeedsCohort"),
    ({"cohortName": "c", "resourceGroups": [a_group(limits={"borrowingLimit": "-1"}, cpu="1")]},
     "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit", "NegativeQuantity"),
    ({"cohortName": "c", "resourceGroups": [a_group(limits={"lendingLimit": "2"}, cpu="1")]},
     "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit", "OutOfRange"),
    ({"fairSharing": {"weight": -1}}, "spec.fairSharing.weight", "InvalidWeight"),
    ({"fairSharing": {"weight": "NaN"}}, "spec.fairSharing.weight", "InvalidWeight"),
    ({"fairSharing": {"weight": 1e308}}, "spec.fairSharing.weight", "InvalidWeight"),
    ({"fairSharing": {"weight": "1n"}}, "spec.fairSharing.weight", "InvalidWeight"),
    ({"queueingStrategy": "LIFO"}, "spec.queueingStrategy", "UnsupportedValue"),
    ({"cohortName": "No"}, "spec.cohortName", "InvalidName"),
    ({"flavorFungibility": {"preference": "BorrowingOverPreemption"}},
     "spec.flavorFungibility.preference", "InvalidCombination"),
    ({"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
     "spec.preemption.borrowWithinCohort.policy", "InvalidCombination"),
    ({"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}},
     "spec.namespaceSelector.matchExpressions[0].values", "InvalidSelector"),
]  # fmt: skip


@pytest.mark.parametrize("resource", ["gpu", "cpu_credits", "gpu.memory", "warp-cores", "a.b/c"])
def test_a_quota_may_name_any_qualified_resource(resource):
    """A covered resource is any qualified name, with a prefix or without."""
    queue = a_queue(resourceGroups=[a_group(**{resource: "1"})])
    assert spec_of(queue)["resourceGroups"][0]["coveredResources"] == [resource]


def test_more_cpu_than_can_be_counted_is_no_limit():
    """A quota of 1E cpu is unlimited, as the largest amount of any resource is."""
    spec = spec_of(a_queue(resourceGroups=[a_group(cpu="1E")]))
    (quota,) = read_cluster_queue("q", {}, spec).quotas.values()
    assert quota.nominal == UNLIMITED


def test_a_cohort_may_lend_more_than_its_own():
    """It lends what its children bring, so that its lending limit is not bound by its nominal quota."""
    group = a_group(limits={"lendingLimit": "2"}, cpu="1")
    cohort = an_object(
        f"{KUEUE}/v1beta2", "Cohort", "c", parentName="root", resourceGroups=[group]
    )
    assert spec_of(cohort)["resourceGroups"] == [group]


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue", "Cohort", "AdmissionCheck"])
def test_the_status_of_published_manifests_is_dropped(kind):
    """What servers write of an object's state is not refused, as an API server does not."""
    spec = {"clusterQueue": "q"} if kind == "LocalQueue" else {}
    spec |= {"controllerName": "a.b/c"} if kind == "AdmissionCheck" else {}
    manifest = {
        **an_object(f"{KUEUE}/v1beta2", kind, "n", **spec),
        "status": {"conditions": [{"type": "Active"}]},
    }
    assert "status" not in kinds.parse(manifest).spec


@pytest.mark.parametrize(("spec", "field", "code"), QUEUE_FAULTS)
def test_faults_of_a_queue_are_found(spec, field, code):
    """A queue that could not work is refused with the path of the fault."""
    assert refused(a_queue(**spec))[field] == code


def test_a_weight_of_zero_is_valid():
    """Zero means an infinite share when borrowing; small fractions are fine."""
    for weight in (0, "0", "0.5", 2):
        assert spec_of(a_queue(fairSharing={"weight": weight}))["fairSharing"]


FLAVOR_FAULTS = [
    ({"nodeLabels": {"a": "b c"}}, "spec.nodeLabels[a]", "InvalidLabel"),
    ({"nodeTaints": [{"key": "k", "effect": "X"}]}, "spec.nodeTaints[0].effect",
     "UnsupportedValue"),
    ({"tolerations": [{"operator": "Equal"}]}, "spec.tolerations[0].operator",
     "InvalidToleration"),
    ({"topologyName": "t"}, "spec.topologyName", "UnsupportedValue"),
    ({"nodeLabels": {f"k{i}": "v" for i in range(9)}}, "spec.nodeLabels", "TooManyItems"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "field", "code"), FLAVOR_FAULTS)
def test_faults_of_a_flavor_are_found(spec, field, code):
    """A flavor's labels, taints and tolerations obey Kubernetes' rules."""
    flavor = an_object(f"{KUEUE}/v1beta1", "ResourceFlavor", "f", **spec)
    assert refused(flavor) == {field: code}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_the_small_kinds_are_read_in_both_versions(version):
    """Priority classes, local queues, cohorts and admission checks."""
    group = f"{KUEUE}/{version}"
    priority = {"apiVersion": group, "kind": "WorkloadPriorityClass", "value": 10}
    priority["metadata"] = {"name": "high"}
    assert spec_of(priority) == {"value": 10}
    queue = an_object(group, "LocalQueue", "q", clusterQueue="all")
    assert spec_of(queue) == {"clusterQueue": "all", "stopPolicy": "None"}
    assert spec_of(an_object(group, "Cohort", "c", parentName="root")) == {"parentName": "root"}
    check = an_object(group, "AdmissionCheck", "a", controllerName="example.com/x")
    assert spec_of(check) == {"controllerName": "example.com/x"}


def test_a_local_queue_names_its_cluster_queue():
    """Without a ClusterQueue a LocalQueue could never admit anything."""
    assert refused(an_object(f"{KUEUE}/v1beta2", "LocalQueue", "q")) == {
        "spec.clusterQueue": "Required"
    }


def test_a_version_that_is_not_served_is_named():
    """A known kind in another version is refused, not taken for something else."""
    assert refused(an_object(f"{KUEUE}/v1alpha1", "LocalQueue", "q")) == {
        "apiVersion": "UnsupportedKind"
    }
