"""Small manifests in the shapes that Kueue's and KubeFleet's examples have, and what each is taken for.

`TAKEN`: by both doors; the key says the shape. `REFUSED`: by both, with the start of the reason at REST.
`STORED_BY_REST`: kinds that REST keeps with a warning, and that the hub cluster does not serve.
"""

from typing import Any, Final

from tests.api.serving import a_job

Document = dict[str, Any]
KUEUE: Final = "kueue.x-k8s.io/v1beta2"
OLD_KUEUE: Final = "kueue.x-k8s.io/v1beta1"
PLACEMENT: Final = "placement.kubernetes-fleet.io/v1beta1"
NAMESPACE: Final = {"group": "", "version": "v1", "kind": "Namespace", "name": "team-a"}


def an_object(api_version: str, kind: str, name: str, **content: Any) -> Document:
    """A cluster-scoped object; `content` is what stands beside its metadata."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **content}


def a_queue(name: str, *resources: str, api_version: str = KUEUE, **spec: Any) -> Document:
    """A ClusterQueue with a bare number as quota of each resource."""
    amounts = [{"name": each, "nominalQuota": 4} for each in resources]
    flavors = [{"name": "plain", "resources": amounts}]
    groups = [{"coveredResources": list(resources), "flavors": flavors}]
    spec = {"namespaceSelector": {}, "resourceGroups": groups, **spec}
    return an_object(api_version, "ClusterQueue", name, spec=spec)


def a_placement(name: str, *selectors: Document, **spec: Any) -> Document:
    """A ClusterResourcePlacement of a namespace, to all clusters, unless the caller says otherwise."""
    chosen = {"resourceSelectors": list(selectors) or [NAMESPACE]}
    return an_object(PLACEMENT, "ClusterResourcePlacement", name, spec={**chosen, **spec})


def job(name: str, *, generated: bool = False, by_annotation: bool = False) -> Document:
    """A suspended Job that names a queue by label or annotation."""
    made = a_job(name, suspend=True)
    metadata = made["metadata"]
    if generated:
        metadata["generateName"] = f"{metadata.pop('name')}-"
    part = "annotations" if by_annotation else "labels"
    metadata[part] = {"kueue.x-k8s.io/queue-name": "lq"}
    return made


def asking(name: str, **annotations: str) -> Document:
    """A Job whose pods ask Kueue for something, in the words of its annotations."""
    made = job(name)
    asked = {f"kueue.x-k8s.io/podset-{key.replace('_', '-')}": v for key, v in annotations.items()}
    made["spec"]["template"]["metadata"] = {"annotations": asked}
    return made


def with_claim(name: str) -> Document:
    """A Job whose container claims a device by a template, and requests nothing else."""
    made = job(name)
    pod = made["spec"]["template"]["spec"]
    pod["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    pod["containers"][0]["resources"] = {"claims": [{"name": "gpu"}]}
    return made


def preferring(*weights: int) -> Document:
    """A policy that weighs clusters by a label that some lack, and by a property."""
    without = {"matchExpressions": [{"key": "reserved", "operator": "DoesNotExist"}]}
    preferences: list[Document] = [
        {"weight": each, "preference": {"labelSelector": without}} for each in weights
    ]
    sorter = {"name": "example.com/cost", "sortOrder": "Descending"}
    preferences.append({"weight": 30, "preference": {"propertySorter": sorter}})
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": preferences}
    return {
        "placementType": "PickN",
        "numberOfClusters": 2,
        "affinity": {"clusterAffinity": preferred},
    }


_ROLLING: Final = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxUnavailable": "100%", "maxSurge": 1, "unavailablePeriodSeconds": 60},
}
_IDENTITY: Final = {
    "kind": "ServiceAccount",
    "name": "agent",
    "namespace": "fleet-system",
    "apiGroup": "",
}
TAKEN: Final[dict[str, Document]] = {
    "quota of a resource with an underscore": a_queue("credits", "cpu", "cpu_credits"),
    "quota of a resource with a dot": a_queue("memory", "cpu", "gpu.memory"),
    "a queue whose checks are a plain list": a_queue(
        "checked", "cpu", api_version=OLD_KUEUE, admissionChecks=["a-check"]
    ),
    "a queue whose checks are of one flavor": a_queue(
        "checked-flavor",
        "cpu",
        admissionChecksStrategy={"admissionChecks": [{"name": "a-check", "onFlavors": ["plain"]}]},
    ),
    "a queue that would migrate to better flavors": a_queue(
        "migrating",
        "cpu",
        concurrentAdmissionPolicy={"migration": {"mode": "TryPreferredFlavors"}},
    ),
    "a queue without quota": an_object(
        KUEUE, "ClusterQueue", "empty", spec={"namespaceSelector": {}}
    ),
    "a cohort in the older version's name": an_object(
        OLD_KUEUE, "ClusterQueue", "older", spec={"cohort": "all", "namespaceSelector": {}}
    ),
    "a flavor without a spec": an_object(KUEUE, "ResourceFlavor", "plain"),
    "an object with its status": {
        **a_queue("told", "cpu"),
        "status": {"pendingWorkloads": 3, "admittedWorkloads": 1},
    },
    "a priority class, which has no spec": an_object(
        KUEUE, "WorkloadPriorityClass", "high", value=1000, description="high"
    ),
    "a check of somebody else's parameters": an_object(
        KUEUE,
        "AdmissionCheck",
        "a-check",
        spec={
            "controllerName": "kueue.x-k8s.io/provisioning-request",
            "parameters": {
                "apiGroup": "kueue.x-k8s.io",
                "kind": "ProvisioningRequestConfig",
                "name": "c",
            },
        },
    ),
    "a Job whose name the server completes": job("run", generated=True),
    "a Job that names its queue by annotation": job("annotated", by_annotation=True),
    "a Job that claims a device": with_claim("claims"),
    "a Job that would like one rack": asking("one-rack", preferred_topology="example.com/rack"),
    "a member with an identity of the core group": an_object(
        "cluster.kubernetes-fleet.io/v1beta1", "MemberCluster", "m1", spec={"identity": _IDENTITY}
    ),
    "a placement of the namespace alone": a_placement(
        "alone", {**NAMESPACE, "selectionScope": "NamespaceOnly"}
    ),
    "a placement that reports into its namespace": a_placement(
        "reports", statusReportingScope="NamespaceAccessible"
    ),
    "a placement by negative weight": a_placement("weighed", policy=preferring(20, -20)),
    "a placement that rolls out in waves": a_placement(
        "rolls",
        policy={"placementType": "PickFixed", "clusterNames": ["m1"]},
        strategy=_ROLLING,
        revisionHistoryLimit=15,
    ),
    "a placement that is rolled out from outside": a_placement(
        "staged", strategy={"type": "External"}
    ),
    "a placement that owns together with others": a_placement(
        "together", strategy={"applyStrategy": {"allowCoOwnership": True}}
    ),
}
REFUSED: Final[dict[str, tuple[Document, str]]] = {
    "a flavor of a topology": (
        an_object(
            KUEUE,
            "ResourceFlavor",
            "racks",
            spec={"nodeLabels": {"pool": "a"}, "topologyName": "racks"},
        ),
        "UnsupportedValue: spec.topologyName",
    ),
    "a Job that asks for one rack": (
        asking("one-rack", required_topology="example.com/rack"),
        "UnsupportedValue: spec.template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]",
    ),
    "a Job that asks for slices of racks": (
        asking(
            "slices",
            slice_required_topology_constraints='[{"topology": "example.com/rack", "size": 2}]',
        ),
        "UnsupportedValue: spec.template.metadata.annotations[kueue.x-k8s.io/podset-slice-req",
    ),
    "node labels that are a list": (
        an_object(KUEUE, "ResourceFlavor", "listed", spec={"nodeLabels": [{"key": "a"}]}),
        "InvalidType: spec.nodeLabels",
    ),
    "a number of clusters that is not said": (
        a_placement("how-many", policy={"placementType": "PickN"}),
        "Required: spec.policy.numberOfClusters",
    ),
    "a member whose name is no label": (
        an_object(
            "cluster.kubernetes-fleet.io/v1beta1",
            "MemberCluster",
            "m" * 64,
            spec={"identity": _IDENTITY},
        ),
        "InvalidName: metadata.name",
    ),
    "a version that is served no more": (
        an_object("kueue.x-k8s.io/v1alpha1", "Cohort", "first"),
        "UnsupportedKind: Cohort is served as v1beta1 and v1beta2",
    ),
}
STORED_BY_REST: Final[dict[str, Document]] = {
    "a topology": an_object(
        KUEUE, "Topology", "racks", spec={"levels": [{"nodeLabel": "example.com/rack"}]}
    ),
    "a request for nodes with a status": {
        **an_object(
            KUEUE,
            "ProvisioningRequestConfig",
            "nodes",
            spec={"provisioningClassName": "check-capacity.autoscaling.x-k8s.io"},
        ),
        "status": {"conditions": [{"type": "Initialized", "status": "True"}]},
    },
}
