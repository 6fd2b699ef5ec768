"""Scopes of well-known kinds, and the kinds that no placement places.

For kinds that are listed nowhere, the manifest's own metadata.namespace decides. Kubernetes' groups are
listed whole, as of 1.36, so that a kind which is not in them is mistyped or newer.
"""

import difflib
from typing import Final

from shared.groups import CLUSTER, KUEUE, PLACEMENT
from shared.kinds.dispatched import GROUPED
from shared.quantity import shown

_CLUSTER: Final = {
    "": {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
    "admissionregistration.k8s.io": {
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
    },
    "apiextensions.k8s.io": {"CustomResourceDefinition"},
    "apiregistration.k8s.io": {"APIService"},
    "certificates.k8s.io": {"CertificateSigningRequest", "ClusterTrustBundle"},
    CLUSTER: {"MemberCluster"},
    "run.ai": {"Karta"},
    "roadstead.dev": {"KindExtension"},
    "flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
    KUEUE: {
        "AdmissionCheck", "ClusterQueue", "Cohort", "MultiKueueCluster", "MultiKueueConfig",
        "ProvisioningRequestConfig", "ResourceFlavor", "Topology", "WorkloadPriorityClass",
    },
    "networking.k8s.io": {"IPAddress", "IngressClass", "ServiceCIDR"},
    "node.k8s.io": {"RuntimeClass"},
    PLACEMENT: {
        "ClusterResourceEnvelope", "ClusterResourceOverride", "ClusterResourcePlacement",
        "ClusterResourcePlacementDisruptionBudget", "ClusterResourcePlacementEviction",
        "ClusterStagedUpdateRun", "ClusterStagedUpdateStrategy", "ClusterApprovalRequest",
    },
    "rbac.authorization.k8s.io": {"ClusterRole", "ClusterRoleBinding"},
    "resource.k8s.io": {
        "DeviceClass", "DeviceTaintRule", "ResourcePoolStatusRequest", "ResourceSlice",
    },
    "scheduling.k8s.io": {"PriorityClass"},
    "storage.k8s.io": {
        "CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass",
    },
    "storagemigration.k8s.io": {"StorageVersionMigration"},
}  # fmt: skip
_NAMESPACED: Final = {
    "": {
        "ConfigMap", "Endpoints", "Event", "LimitRange", "PersistentVolumeClaim", "Pod",
        "PodTemplate", "ReplicationController", "ResourceQuota", "Secret", "Service",
        "ServiceAccount",
    },
    "apps": {"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
    "autoscaling": {"HorizontalPodAutoscaler"},
    "batch": {"CronJob", "Job"},
    "certificates.k8s.io": {"PodCertificateRequest"},
    "coordination.k8s.io": {"Lease", "LeaseCandidate"},
    "discovery.k8s.io": {"EndpointSlice"},
    "events.k8s.io": {"Event"},
    KUEUE: {"LocalQueue", "Workload"},
    "networking.k8s.io": {"Ingress", "NetworkPolicy"},
    PLACEMENT: {
        "ApprovalRequest", "ClusterResourcePlacementStatus", "ResourceEnvelope",
        "ResourceOverride", "ResourcePlacement", "ResourcePlacementDisruptionBudget",
        "ResourcePlacementEviction", "StagedUpdateRun", "StagedUpdateStrategy",
    },
    "policy": {"PodDisruptionBudget"},
    "rbac.authorization.k8s.io": {"Role", "RoleBinding"},
    "resource.k8s.io": {"ResourceClaim", "ResourceClaimTemplate"},
    "scheduling.k8s.io": {"PodGroup", "Workload"},
    "storage.k8s.io": {"CSIStorageCapacity"},
}  # fmt: skip

# No placement carries these, as in KubeFleet: what each cluster or a controller in it makes,
_OF_EACH_CLUSTER: Final = frozenset(
    {
        ("", "Endpoints"), ("", "Event"), ("", "Node"), ("", "Pod"),
        ("apps", "ControllerRevision"), ("discovery.k8s.io", "EndpointSlice"),
    }
)  # fmt: skip
# what the hub itself reads and a member has no use for,
_OF_THE_HUB: Final = frozenset(
    {
        (KUEUE, "MultiKueueCluster"),
        (KUEUE, "MultiKueueConfig"),
        (KUEUE, "Workload"),
        ("run.ai", "Karta"),
        ("roadstead.dev", "KindExtension"),
    }
)
# and groups of which that is so of every kind.
_NEVER_PLACED: Final = frozenset(
    {CLUSTER, PLACEMENT, "coordination.k8s.io", "events.k8s.io", "metrics.k8s.io"}
)
# Of those groups: what is placed is not these, but what is in them.
_ENVELOPES: Final = frozenset(
    {(PLACEMENT, "ClusterResourceEnvelope"), (PLACEMENT, "ResourceEnvelope")}
)
# Objects that every namespace of every cluster gets automatically.
_EVERYWHERE: Final = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
# Kubernetes' own groups, and every kind in them.
_KUBERNETES: Final = {
    group: frozenset(_CLUSTER.get(group, ())) | frozenset(_NAMESPACED.get(group, ()))
    for group in sorted(_CLUSTER.keys() | _NAMESPACED.keys())
    if group not in {CLUSTER, KUEUE, PLACEMENT, "roadstead.dev", "run.ai"}
}


def is_cluster_scoped(group: str, kind: str) -> bool:
    """True if the kind is known to live outside namespaces."""
    return kind in _CLUSTER.get(group, ())


def is_namespaced(group: str, kind: str) -> bool:
    """Whether the kind is known to live in a namespace."""
    return kind in _NAMESPACED.get(group, ()) or (group, kind) in GROUPED


def is_never_placed(group: str, kind: str) -> bool:
    """True if no placement carries objects of this kind, whatever it selects."""
    one = (group, kind)
    if one in _ENVELOPES:
        return False
    return group in _NEVER_PLACED or one in _OF_THE_HUB or one in _OF_EACH_CLUSTER


def is_enveloping(group: str, kind: str) -> bool:
    """True if members get the contents of an object of this kind, and not the object."""
    return (group, kind) in _ENVELOPES


def is_made_everywhere(kind: str, name: str) -> bool:
    """True if every namespace of every cluster gets this object automatically."""
    return (kind, name) in _EVERYWHERE


def unknown_kind(group: str, kind: str) -> str:
    """A sentence where a group of Kubernetes' own has no such kind, with the one meant; else ""."""
    if group not in _KUBERNETES or kind in _KUBERNETES[group]:
        return ""
    name = f"group {group}" if group else "the core group"
    kept = "it is kept for members that have it"
    return f"kind: {name} is not known to have {shown(kind)}, and {kept}{_meant(group, kind)}"


def _meant(group: str, kind: str) -> str:
    """The probable kind: the same word of another group, or the nearest of this one."""
    lower = kind[:80].lower()
    for other, kinds in _KUBERNETES.items():
        if other != group and kind in kinds:
            place = f"group {other}" if other else "apiVersion v1"
            return f"; did you mean {kind} of {place}?"
    known = {each.lower(): each for each in _KUBERNETES[group]}
    near = difflib.get_close_matches(lower, known, n=1, cutoff=0.6)
    return f"; did you mean {known[near[0]]}?" if near else ""
