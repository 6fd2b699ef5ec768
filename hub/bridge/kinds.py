"""Kinds of the hub cluster that are mirrored, their order, and those with our finalizer."""

from dataclasses import dataclass
from typing import Final

from shared import labels
from shared.documents import Json
from shared.groups import CLUSTER, KUEUE, PLACEMENT
from shared.kinds.eviction_v1 import BUDGETS, EVICTIONS
from shared.kinds.metadata import controllers_of
from shared.kinds.staged_v1 import REQUEST_KINDS, RUN_KINDS, STRATEGY_KINDS


@dataclass(frozen=True, slots=True)
class Mirrored:
    """One kind. `versions`: those we can read, the first that is served is used.

    `finalized`: carries our finalizer, so that a deletion waits until what it caused is taken back.
    """

    group: str
    kind: str
    versions: tuple[str, ...]
    finalized: bool = False
    order: int = 5  # of intake: what others refer to comes first

    def api_version(self, version: str) -> str:
        return f"{self.group}/{version}" if self.group else version


JOB: Final = Mirrored("batch", "Job", ("v1",), finalized=True, order=8)
NAMESPACE: Final = Mirrored("", "Namespace", ("v1",), order=0)
_KUEUE_VERSIONS = ("v1beta1", "v1beta2")
_FLEET_VERSIONS = ("v1beta1", "v1")
WORKLOAD: Final = Mirrored(KUEUE, "Workload", _KUEUE_VERSIONS, order=6)
ALWAYS: Final = (
    NAMESPACE,
    Mirrored(KUEUE, "ResourceFlavor", _KUEUE_VERSIONS, finalized=True, order=1),
    Mirrored(KUEUE, "WorkloadPriorityClass", _KUEUE_VERSIONS, order=1),
    Mirrored(KUEUE, "MultiKueueCluster", _KUEUE_VERSIONS, order=1),
    Mirrored(KUEUE, "MultiKueueConfig", _KUEUE_VERSIONS, order=1),
    Mirrored(KUEUE, "AdmissionCheck", _KUEUE_VERSIONS, order=1),
    Mirrored(KUEUE, "Cohort", _KUEUE_VERSIONS, finalized=True, order=1),
    Mirrored(KUEUE, "ClusterQueue", _KUEUE_VERSIONS, finalized=True, order=2),
    Mirrored(KUEUE, "LocalQueue", _KUEUE_VERSIONS, finalized=True, order=3),
    WORKLOAD,
    Mirrored(CLUSTER, "MemberCluster", _FLEET_VERSIONS, finalized=True, order=1),
    JOB,
    Mirrored(PLACEMENT, "ClusterResourceOverride", _FLEET_VERSIONS, order=1),
    Mirrored(PLACEMENT, "ResourceOverride", _FLEET_VERSIONS, order=1),
    *(
        Mirrored(PLACEMENT, kind, _FLEET_VERSIONS, order=order)
        for kinds, order in ((STRATEGY_KINDS, 1), (RUN_KINDS, 11), (REQUEST_KINDS, 12))
        for kind in kinds
    ),
    Mirrored(PLACEMENT, "ClusterResourceEnvelope", _FLEET_VERSIONS, order=1),
    Mirrored(PLACEMENT, "ResourceEnvelope", _FLEET_VERSIONS, order=1),
    Mirrored(PLACEMENT, "ClusterResourcePlacementStatus", _FLEET_VERSIONS, order=1),
    *(Mirrored(PLACEMENT, kind, _FLEET_VERSIONS, order=1) for kind in BUDGETS),
    Mirrored(PLACEMENT, "ClusterResourcePlacement", _FLEET_VERSIONS, finalized=True, order=9),
    Mirrored(PLACEMENT, "ResourcePlacement", _FLEET_VERSIONS, finalized=True, order=9),
    *(Mirrored(PLACEMENT, kind, _FLEET_VERSIONS, order=10) for kind in EVICTIONS),
)
STATIC: Final = frozenset((each.group, each.kind) for each in ALWAYS)
# Namespaces of the hub cluster's own machinery.
SYSTEM_NAMESPACES: Final = frozenset({"kube-system", "kube-public", "kube-node-lease"})
WORKS_NAMESPACE: Final = (
    "fleet-member-"  # … and those that the bridge makes, of each member's Works
)
# Shown on the hub cluster where they came by REST, besides Jobs; Namespaces are made where one is lacking.
SHOWN: Final = tuple(each for each in ALWAYS if each not in (NAMESPACE, WORKLOAD, JOB))


def mirror_of(obj: Json) -> str:
    """The uid of the hub's row that this object of the hub cluster shows; "" of every other object.

    Label and annotation come along when somebody copies an object: that the hub has written them stands
    in the managed fields, which are the API server's.
    """
    metadata = obj["metadata"]
    if labels.ORIGIN not in (metadata.get("labels") or {}):
        return ""
    uid = (metadata.get("annotations") or {}).get(labels.MIRROR_OF)
    return str(uid) if uid and has_written(metadata, labels.MIRROR_OF) else ""


def has_written(metadata: Json, annotation: str) -> bool:
    """Is it the bridge that wrote this annotation, by the managed fields?"""
    for entry in metadata.get("managedFields") or ():
        if entry.get("manager") == labels.BRIDGE_FIELD_MANAGER and not entry.get("subresource"):
            fields = (entry.get("fieldsV1") or {}).get("f:metadata") or {}
            if f"f:{annotation}" in (fields.get("f:annotations") or {}):
                return True
    return False


def is_marked(job: Json) -> bool:
    """Does the hub cluster's own Job controller leave this Job alone, for it is ours?"""
    manager = (job.get("spec") or {}).get("managedBy")
    return manager in (labels.JOB_CONTROLLER, labels.MULTIKUEUE_CONTROLLER)


def runs_here(job: Json) -> bool:
    """Does that controller start its pods?"""
    spec = job.get("spec") or {}
    return not spec.get("managedBy") and not spec.get("suspend")


def has_our_jobs(namespace: Json) -> bool:
    """Are all Jobs of this Namespace ours, whether they name a queue or not?"""
    return (namespace["metadata"].get("labels") or {}).get(labels.MANAGED_NAMESPACE) == "true"


def is_managed(job: Json, *, known: bool, among_ours: bool = False) -> bool:
    """Is a hub Job ours? By managedBy; a suspended older one by its queue-name label or annotation.

    `among_ours`: in its namespace all are. Once taken (`known`) it stays ours. The Job controller starts
    what has no managedBy and is not suspended: such a Job runs on the hub cluster itself and is none of
    our business.
    """
    spec = job.get("spec") or {}
    manager = spec.get("managedBy")
    if is_marked(job):
        return True
    if manager or not spec.get("suspend"):
        return known and manager is None
    metadata = job["metadata"]
    if controllers_of(metadata):
        return False
    return among_ours or any(
        (metadata.get(part) or {}).get(labels.QUEUE_NAME) for part in ("labels", "annotations")
    )
