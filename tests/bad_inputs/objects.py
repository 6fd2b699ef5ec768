"""Bad objects as manifests, for every way in that takes manifests.

    from tests.bad_inputs.objects import CASES

A queue that is not there is refused by `submit` alone: what is applied waits for it. What
is about a running hub is played where there is one.
"""

from dataclasses import dataclass
from typing import Any

KUEUE = "kueue.x-k8s.io/v1beta2"
Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One manifest and the code it is refused with. `name`: of the object, and of the case in a test."""

    row: int
    what: str
    manifest: Json
    code: str

    @property
    def id(self) -> str:
        return f"{self.row} {self.what}"

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])


def a_queue(resource: str = "cpu", **given: Any) -> Json:
    """A ClusterQueue with one flavor and one resource; keys of the quota, or of the spec, by name."""
    quota: Json = {
        k: given.pop(k) for k in ("nominalQuota", "borrowingLimit", "lendingLimit") if k in given
    }
    flavor = {"name": "f", "resources": [{"name": resource, "nominalQuota": "10", **quota}]}
    group = {"coveredResources": [resource], "flavors": [flavor]}
    spec = {"namespaceSelector": {}, "cohortName": "all", "resourceGroups": [group], **given}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec}


def a_placement(**policy: Any) -> Json:
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p"},
        "spec": {
            "resourceSelectors": [
                {"group": "", "version": "v1", "kind": "Namespace", "name": "x"}
            ],
            "policy": policy,
        },
    }


def selecting(selector: Json) -> Json:
    inner = {"clusterSelectorTerms": [{"labelSelector": selector}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": inner}
    return a_placement(placementType="PickAll", affinity={"clusterAffinity": required})


def expression(operator: str, values: list[str]) -> Json:
    return selecting(
        {"matchExpressions": [{"key": "region", "operator": operator, "values": values}]}
    )


def both_named_and_selected() -> Json:
    placement = selecting({"matchLabels": {"region": "a"}})
    placement["spec"]["policy"] |= {"placementType": "PickFixed", "clusterNames": ["c1"]}
    return placement


def a_job(**annotations: str) -> Json:
    """A Job with annotations of ours; `_` for `-` in their names."""
    container = {"name": "main", "image": "busybox:1.36"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "namespace": "team-a",
            "annotations": {
                f"roadstead.dev/{name.replace('_', '-')}": text
                for name, text in annotations.items()
            },
        },
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


def queued(queue: str, namespace: str = "team-a") -> Json:
    job = a_job()
    job["metadata"] |= {
        "namespace": namespace,
        "labels": {"kueue.x-k8s.io/queue-name": queue},
    }
    return job


def a_member(name: str = "new", **labels: str) -> Json:
    return {
        "apiVersion": "cluster.kubernetes-fleet.io/v1",
        "kind": "MemberCluster",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
    }


def spread(skew: int) -> Json:
    return a_placement(
        placementType="PickN",
        numberOfClusters=1,
        topologySpreadConstraints=[{"topologyKey": "region", "maxSkew": skew}],
    )


def picking(number: int) -> Json:
    return a_placement(placementType="PickN", numberOfClusters=number)


def tolerating(effect: str) -> Json:
    toleration = {"key": "k", "operator": "Exists", "effect": effect}
    return a_placement(placementType="PickAll", tolerations=[toleration])


def a_loss(text: str) -> Json:
    return a_job(on_cluster_loss=text)


def _marked(**metadata: str) -> Json:
    placement = a_placement(placementType="PickAll")
    placement["metadata"] |= metadata
    return placement


_TERMS = {"matchExpressions": [{"key": "a", "operator": "Exists"}] * 10_000}
_ROWS: tuple[tuple[int, str, Json, str], ...] = (
    (48, "negative", a_queue(nominalQuota="-1"), "NegativeQuantity"),
    (48, "overflow", a_queue("memory", nominalQuota=str(2**63)), "QuantityTooLarge"),
    (48, "unreadable", a_queue(nominalQuota="many"), "InvalidQuantity"),
    (48, "no resource", a_queue("warp cores", nominalQuota="1"), "InvalidResourceName"),
    (
        48,
        "empty",
        a_queue(resourceGroups=[{"coveredResources": [], "flavors": []}]),
        "Required",
    ),
    (49, "borrowing", a_queue(borrowingLimit="-1"), "NegativeQuantity"),
    (49, "lending", a_queue(lendingLimit="11"), "OutOfRange"),
    (51, "negative", a_queue(fairSharing={"weight": "-1"}), "InvalidWeight"),
    (51, "no number", a_queue(fairSharing={"weight": "NaN"}), "InvalidWeight"),
    (51, "huge", a_queue(fairSharing={"weight": "1e308"}), "InvalidWeight"),
    (56, "in without values", expression("In", []), "InvalidSelector"),
    (56, "exists with values", expression("Exists", ["a"]), "InvalidSelector"),
    (56, "no operator", expression("Near", ["a"]), "UnsupportedValue"),
    (57, "terms", selecting(_TERMS), "TooManyTerms"),
    (57, "value", expression("In", [".*" * 400_000]), "InvalidLabel"),
    (58, "skew", spread(0), "OutOfRange"),
    (58, "negative", picking(-1), "OutOfRange"),
    (58, "huge", picking(10**9), "OutOfRange"),
    (59, "names and a selector", both_named_and_selected(), "InvalidCombination"),
    (61, "at once", a_loss("RescheduleAfter(0s)"), "InvalidAnnotation"),
    (61, "negative", a_loss("RescheduleAfter(-5m)"), "InvalidAnnotation"),
    (61, "years", a_loss("RescheduleAfter(99999h)"), "InvalidAnnotation"),
    (61, "soon", a_loss("RescheduleAfter(soon)"), "InvalidAnnotation"),
    (62, "effect", tolerating("Sometimes"), "UnsupportedValue"),
    (63, "capitals", a_member("Prod"), "InvalidName"),
    (64, "reserved", a_member(**{"roadstead.dev/region": "x"}), "ReservedLabel"),
    (65, "version", _marked(resourceVersion="1"), "ForbiddenField"),
    (66, "uid", _marked(uid="x"), "ForbiddenField"),
)
CASES = tuple(Case(*each) for each in _ROWS)
# Queue `theirs` is of another namespace than the jobs here.
THEIRS: Json = {
    "apiVersion": KUEUE,
    "kind": "LocalQueue",
    "metadata": {"name": "theirs", "namespace": "team-b"},
    "spec": {"clusterQueue": "q"},
}
# A quota that no pod can use is taken, as by Kueue, whose users map other names to it; the hub warns.
UNASKED: Json = a_queue("warp-cores", nominalQuota="1")
# What looks bad and is taken: weight 0, scaling to zero, and what nothing suits now.
TAKEN: tuple[tuple[str, Json], ...] = (
    ("48 unasked", UNASKED),
    ("51 zero", a_queue(fairSharing={"weight": "0"})),
    ("58 zero", picking(0)),
    ("55 nowhere", a_job(cluster_selector="region=nowhere")),
    ("60 absent", a_job(clusters="absent")),
    ("59 contradictory of none", a_job(clusters="absent", cluster_selector="region=nowhere")),
)
