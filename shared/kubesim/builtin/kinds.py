"""The built-in resources as one table, with the names, short names and categories of Kubernetes."""

from shared.kubesim.apimachinery.registry import Registry, Resource, ScalePaths

_REPLICAS = ScalePaths("spec.replicas", "status.replicas", "status.selector")
_ALL = ("all",)
_API = ("api-extensions",)


def _row(
    group_version: str,
    plural: str,
    kind: str,
    flags: str = "n",
    short: str = "",
    categories: tuple[str, ...] = (),
    scale: ScalePaths | None = None,
) -> Resource:
    """`flags`: n = namespaced, s = has a status subresource, g = the server counts generations."""
    group, _, version = group_version.rpartition("/")
    return Resource(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        singular=kind.lower(),
        namespaced="n" in flags,
        short_names=tuple(short.split()),
        has_status="s" in flags,
        categories=categories,
        has_generation="g" in flags,
        scale=scale,
    )


BUILT_IN: tuple[Resource, ...] = (
    _row("v1", "namespaces", "Namespace", "s", "ns"),
    _row("v1", "nodes", "Node", "s", "no"),
    _row("v1", "pods", "Pod", "nsg", "po", _ALL),
    _row("v1", "configmaps", "ConfigMap", "n", "cm"),
    _row("v1", "secrets", "Secret", "n"),
    _row("v1", "serviceaccounts", "ServiceAccount", "n", "sa"),
    _row("v1", "services", "Service", "ns", "svc", _ALL),
    _row("v1", "endpoints", "Endpoints", "n", "ep"),
    _row("v1", "events", "Event", "n", "ev"),
    _row("v1", "persistentvolumeclaims", "PersistentVolumeClaim", "ns", "pvc"),
    _row("v1", "persistentvolumes", "PersistentVolume", "s", "pv"),
    _row("v1", "limitranges", "LimitRange", "n", "limits"),
    _row("v1", "resourcequotas", "ResourceQuota", "ns", "quota"),
    _row("v1", "replicationcontrollers", "ReplicationController", "nsg", "rc", _ALL, _REPLICAS),
    _row("v1", "podtemplates", "PodTemplate", "ng"),
    _row("batch/v1", "jobs", "Job", "nsg", "", _ALL),
    _row("batch/v1", "cronjobs", "CronJob", "nsg", "cj", _ALL),
    _row("apps/v1", "deployments", "Deployment", "nsg", "deploy", _ALL, _REPLICAS),
    _row("apps/v1", "replicasets", "ReplicaSet", "nsg", "rs", _ALL, _REPLICAS),
    _row("apps/v1", "statefulsets", "StatefulSet", "nsg", "sts", _ALL, _REPLICAS),
    _row("apps/v1", "daemonsets", "DaemonSet", "nsg", "ds", _ALL),
    _row("apps/v1", "controllerrevisions", "ControllerRevision", "n"),
    _row("events.k8s.io/v1", "events", "Event", "n", "ev"),
    _row("coordination.k8s.io/v1", "leases", "Lease", "n"),
    _row("rbac.authorization.k8s.io/v1", "roles", "Role", "n"),
    _row("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", "n"),
    _row("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", ""),
    _row("rbac.authorization.k8s.io/v1", "clusterrolebindings", "ClusterRoleBinding", ""),
    _row("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", "nsg", "pdb"),
    _row("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", "g", "pc"),
    _row("storage.k8s.io/v1", "storageclasses", "StorageClass", "", "sc"),
    _row("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", "ng", "netpol"),
    _row("networking.k8s.io/v1", "ingresses", "Ingress", "nsg", "ing"),
    _row("networking.k8s.io/v1", "ingressclasses", "IngressClass", "g"),
    _row(
        "admissionregistration.k8s.io/v1",
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
        "g",
        "",
        _API,
    ),
    _row(
        "admissionregistration.k8s.io/v1",
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
        "g",
        "",
        _API,
    ),
    _row(
        "admissionregistration.k8s.io/v1",
        "mutatingadmissionpolicies",
        "MutatingAdmissionPolicy",
        "g",
        "",
        _API,
    ),
    _row(
        "admissionregistration.k8s.io/v1",
        "mutatingadmissionpolicybindings",
        "MutatingAdmissionPolicyBinding",
        "g",
        "",
        _API,
    ),
    _row(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        "sg",
        "",
        _API,
    ),
    _row(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        "g",
        "",
        _API,
    ),
    _row(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "sg",
        "crd crds",
        _API,
    ),
)


def built_in_registry() -> Registry:
    """A registry with everything that a fresh cluster serves."""
    return Registry(BUILT_IN)
