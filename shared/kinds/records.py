"""Kinds of records that the hub shows on its cluster: snapshots, bindings and works, by KubeFleet's names.

The hub alone writes them and nothing reads them but people, so that their content is kept as it is: no
model, no status apart (each is written by one request). What is in them: `hub.bridge.record_words`.
"""

from typing import Any, Final, NamedTuple

from shared.groups import PLACEMENT

VERSIONS: Final = ("v1", "v1beta1")
STORED: Final = "v1beta1"
API_VERSION: Final = f"{PLACEMENT}/{STORED}"
_OPEN: Final[dict[str, Any]] = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
}


class RecordKind(NamedTuple):
    """One kind of records."""

    kind: str
    plural: str
    namespaced: bool
    short_names: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]  # name, path

    @property
    def name(self) -> str:
        """Of its CustomResourceDefinition."""
        return f"{self.plural}.{PLACEMENT}"


def _condition(kind: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].status'


_POLICY: Final = (
    ("Type", ".spec.policy.placementType"),
    ("Latest", r".metadata.labels.kubernetes-fleet\.io/is-latest-snapshot"),
    ("Scheduled", _condition("Scheduled")),
)
_RESOURCES: Final = (
    ("Index", r".metadata.labels.kubernetes-fleet\.io/resource-index"),
    ("Latest", r".metadata.labels.kubernetes-fleet\.io/is-latest-snapshot"),
)
_BINDING: Final = (
    ("Cluster", ".spec.targetCluster"),
    ("State", ".spec.state"),
    ("Snapshot", ".spec.resourceSnapshotName"),
    ("WorkSynchronized", _condition("WorkSynchronized")),
    ("ResourcesApplied", _condition("Applied")),
    ("ResourceAvailable", _condition("Available")),
)
_WORK: Final = (
    ("Manifests", ".status.manifestCount"),
    ("Applied", _condition("Applied")),
    ("Available", _condition("Available")),
)
# Of a ClusterResourcePlacement, then of a ResourcePlacement.
POLICY_SNAPSHOTS: Final = (
    RecordKind(
        "ClusterSchedulingPolicySnapshot",
        "clusterschedulingpolicysnapshots",
        False,
        ("csps",),
        _POLICY,
    ),
    RecordKind("SchedulingPolicySnapshot", "schedulingpolicysnapshots", True, ("sps",), _POLICY),
)
RESOURCE_SNAPSHOTS: Final = (
    RecordKind("ClusterResourceSnapshot", "clusterresourcesnapshots", False, ("crs",), _RESOURCES),
    RecordKind("ResourceSnapshot", "resourcesnapshots", True, (), _RESOURCES),
)
BINDINGS: Final = (
    RecordKind("ClusterResourceBinding", "clusterresourcebindings", False, ("crb",), _BINDING),
    RecordKind("ResourceBinding", "resourcebindings", True, ("rb",), _BINDING),
)
WORK: Final = RecordKind("Work", "works", True, (), _WORK)
RECORDS: Final = (*POLICY_SNAPSHOTS, *RESOURCE_SNAPSHOTS, *BINDINGS, WORK)


def definition(kind: RecordKind) -> dict[str, Any]:
    """Its CustomResourceDefinition."""
    columns: list[dict[str, Any]] = [
        {"name": name, "type": "string", "jsonPath": path} for name, path in kind.columns
    ]
    columns.append({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"})
    schema = {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": dict(_OPEN),
            "status": dict(_OPEN),
        },
    }
    names: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
        "categories": ["fleet", "fleet-placement"],
    }
    if kind.short_names:
        names["shortNames"] = [*kind.short_names]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.name},
        "spec": {
            "group": PLACEMENT,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == STORED,
                    "schema": {"openAPIV3Schema": schema},
                    "additionalPrinterColumns": columns,
                }
                for version in VERSIONS
            ],
        },
    }
