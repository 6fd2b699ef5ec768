"""Which kinds are known, where they live, which no placement carries, and what a mistyped one meant."""

import pytest

from shared.groups import CLUSTER, KUEUE, PLACEMENT
from shared.kinds.scopes import is_cluster_scoped, is_namespaced, is_never_placed, unknown_kind
from shared.kubesim.builtin.kinds import BUILT_IN


@pytest.mark.parametrize("served", BUILT_IN, ids=lambda each: f"{each.group}/{each.kind}")
def test_every_kind_that_the_simulator_serves_is_known(served):
    """With its scope; so that no warning is given of what is right."""
    where = is_namespaced if served.namespaced else is_cluster_scoped
    assert where(served.group, served.kind)
    assert unknown_kind(served.group, served.kind) == ""


@pytest.mark.parametrize(
    ("group", "kind", "meant"),
    [
        ("batch", "Jobs", "did you mean Job?"),
        ("", "Confimap", "did you mean ConfigMap?"),
        ("", "configmap", "did you mean ConfigMap?"),
        ("apps", "Deploymnt", "did you mean Deployment?"),
        ("", "Deployment", "did you mean Deployment of group apps?"),
        ("apps", "Service", "did you mean Service of apiVersion v1?"),
        ("apps", "Zebra", "not known to have 'Zebra', and it is kept for members that have it"),
        ("", "Zebra" * 20, "it is kept for members that have it"),
    ],
)
def test_a_mistyped_kind_is_told_with_the_one_that_was_meant(group, kind, meant):
    """Where some kind is near; the group may be what is wrong."""
    assert unknown_kind(group, kind).endswith(meant)


@pytest.mark.parametrize("group", ["example.com", "apps.example.com", KUEUE, PLACEMENT, CLUSTER])
def test_kinds_of_other_groups_are_nobodys_business(group):
    """Their groups are not listed whole."""
    assert unknown_kind(group, "Deploymnt") == ""


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        (PLACEMENT, "ResourceOverride"),
        (PLACEMENT, "ClusterResourcePlacementDisruptionBudget"),
        (PLACEMENT, "ClusterApprovalRequest"),
        (CLUSTER, "MemberCluster"),
        (KUEUE, "Workload"),
        (KUEUE, "MultiKueueCluster"),
        ("metrics.k8s.io", "PodMetrics"),
        ("", "Pod"),
    ],
)
def test_what_is_the_hubs_or_one_clusters_is_never_placed(group, kind):
    """No member serves the first, and each has its own of the second."""
    assert is_never_placed(group, kind)


@pytest.mark.parametrize(
    "kind", ["ResourceFlavor", "ClusterQueue", "LocalQueue", "AdmissionCheck"]
)
def test_queues_may_be_placed(kind):
    """Members that run Kueue get them from the hub."""
    assert not is_never_placed(KUEUE, kind)
