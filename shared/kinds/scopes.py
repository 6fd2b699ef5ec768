"""Which well-known kinds live in a namespace and which do not, and what no placement carries.

For kinds that are listed nowhere, the manifest's own metadata.namespace decides.
"""

from typing import Final

_CLUSTER: Final = {
    "": {"Namespace", "Node", "PersistentVolume"},
    "admissionregistration.k8s.io": {
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
    },
    "apiextensions.k8s.io": {"CustomResourceDefinition"},
    "apiregistration.k8s.io": {"APIService"},
    "certificates.k8s.io": {"CertificateSigningRequest"},
    "cluster.kubernetes-fleet.io": {"MemberCluster"},
    "flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
    "kueue.x-k8s.io": {
        "AdmissionCheck", "ClusterQueue", "Cohort", "MultiKueueCluster", "MultiKueueConfig",
        "ProvisioningRequestConfig", "ResourceFlavor", "Topology", "WorkloadPriorityClass",
    },
    "networking.k8s.io": {"IngressClass"},
    "node.k8s.io": {"RuntimeClass"},
    "placement.kubernetes-fleet.io": {
        "ClusterResourceEnvelope", "ClusterResourceOverride", "ClusterResourcePlacement",
        "ClusterResourcePlacementDisruptionBudget", "ClusterResourcePlacementEviction",
        "ClusterStagedUpdateRun", "ClusterStagedUpdateStrategy",
    },
    "rbac.authorization.k8s.io": {"ClusterRole", "ClusterRoleBinding"},
    "resource.k8s.io": {"DeviceClass", "ResourceSlice"},
    "scheduling.k8s.io": {"PriorityClass"},
    "storage.k8s.io": {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"},
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
    "coordination.k8s.io": {"Lease"},
    "discovery.k8s.io": {"EndpointSlice"},
    "kueue.x-k8s.io": {"LocalQueue", "Workload"},
    "networking.k8s.io": {"Ingress", "NetworkPolicy"},
    "placement.kubernetes-fleet.io": {"ResourcePlacement", "ResourceOverride", "ResourceEnvelope"},
    "policy": {"PodDisruptionBudget"},
    "rbac.authorization.k8s.io": {"Role", "RoleBinding"},
}  # fmt: skip


def is_cluster_scoped(group: str, kind: str) -> bool:
    """Whether the kind is known to live outside namespaces."""
    return kind in _CLUSTER.get(group, ())


def is_namespaced(group: str, kind: str) -> bool:
    """Whether the kind is known to live in a namespace."""
    return kind in _NAMESPACED.get(group, ())
