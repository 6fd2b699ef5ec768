"""Names of kinds as users type them: any case, plural or short; with their API group and scope.

For an unlisted kind it asks the hub which kinds it holds.
"""

from typing import NamedTuple

from roadstead.client import Client
from roadstead.errors import NotFound

KUEUE = "kueue.x-k8s.io"
_PLACEMENT = "placement.kubernetes-fleet.io"


class Kind(NamedTuple):
    """A kind; `namespaced` is None if unknown."""

    group: str
    name: str
    namespaced: bool | None = None


_KINDS: dict[Kind, tuple[str, ...]] = {
    Kind("batch", "Job", namespaced=True): ("jobs",),
    Kind("batch", "CronJob", namespaced=True): ("cronjobs", "cj"),
    Kind(KUEUE, "ClusterQueue", namespaced=False): ("clusterqueues", "cq"),
    Kind(KUEUE, "LocalQueue", namespaced=True): ("localqueues", "queue", "queues", "lq"),
    Kind(KUEUE, "Cohort", namespaced=False): ("cohorts", "co"),
    Kind(KUEUE, "ResourceFlavor", namespaced=False): (
        "resourceflavors",
        "flavor",
        "flavors",
        "rf",
    ),
    Kind(KUEUE, "AdmissionCheck", namespaced=False): ("admissionchecks", "ac"),
    Kind(KUEUE, "Workload", namespaced=True): ("workloads", "wl", "kwl"),
    Kind(KUEUE, "WorkloadPriorityClass", namespaced=False): ("workloadpriorityclasses", "wpc"),
    Kind(KUEUE, "MultiKueueCluster", namespaced=False): ("multikueueclusters", "mkc"),
    Kind(KUEUE, "MultiKueueConfig", namespaced=False): ("multikueueconfigs", "mkconf"),
    Kind(_PLACEMENT, "ClusterResourcePlacement", namespaced=False): (
        "clusterresourceplacements",
        "placement",
        "placements",
        "crp",
    ),
    Kind(_PLACEMENT, "ResourcePlacement", namespaced=True): ("resourceplacements", "rp"),
    Kind(_PLACEMENT, "ClusterResourceOverride", namespaced=False): (
        "clusterresourceoverrides",
        "cro",
    ),
    Kind(_PLACEMENT, "ResourceOverride", namespaced=True): ("resourceoverrides", "ro"),
    Kind(_PLACEMENT, "ClusterStagedUpdateStrategy", namespaced=False): (
        "clusterstagedupdatestrategies",
        "csus",
    ),
    Kind(_PLACEMENT, "StagedUpdateStrategy", namespaced=True): ("stagedupdatestrategies", "sus"),
    Kind(_PLACEMENT, "ClusterStagedUpdateRun", namespaced=False): (
        "clusterstagedupdateruns",
        "csur",
    ),
    Kind(_PLACEMENT, "StagedUpdateRun", namespaced=True): ("stagedupdateruns", "sur"),
    Kind(_PLACEMENT, "ClusterApprovalRequest", namespaced=False): (
        "clusterapprovalrequests",
        "careq",
    ),
    Kind(_PLACEMENT, "ApprovalRequest", namespaced=True): ("approvalrequests", "areq"),
    Kind(_PLACEMENT, "ClusterResourceEnvelope", namespaced=False): ("clusterresourceenvelopes",),
    Kind(_PLACEMENT, "ResourceEnvelope", namespaced=True): ("resourceenvelopes",),
    Kind(_PLACEMENT, "ClusterResourcePlacementStatus", namespaced=True): (
        "clusterresourceplacementstatuses",
        "crps",
    ),
    Kind(_PLACEMENT, "ClusterResourcePlacementEviction", namespaced=False): (
        "clusterresourceplacementevictions",
        "crpe",
    ),
    Kind(_PLACEMENT, "ResourcePlacementEviction", namespaced=True): (
        "resourceplacementevictions",
        "rpe",
    ),
    Kind(_PLACEMENT, "ClusterResourcePlacementDisruptionBudget", namespaced=False): (
        "clusterresourceplacementdisruptionbudgets",
        "crpdb",
    ),
    Kind(_PLACEMENT, "ResourcePlacementDisruptionBudget", namespaced=True): (
        "resourceplacementdisruptionbudgets",
        "rpdb",
    ),
    Kind("cluster.kubernetes-fleet.io", "MemberCluster", namespaced=False): (
        "memberclusters",
        "cluster",
        "clusters",
    ),
    Kind("core", "Namespace", namespaced=False): ("namespaces", "ns"),
    Kind("core", "ConfigMap", namespaced=True): ("configmaps", "cm"),
    Kind("core", "Secret", namespaced=True): ("secrets",),
    Kind("core", "Service", namespaced=True): ("services", "svc"),
    Kind("core", "ServiceAccount", namespaced=True): ("serviceaccounts", "sa"),
    Kind("apps", "Deployment", namespaced=True): ("deployments", "deploy"),
    Kind("scheduling.k8s.io", "PriorityClass", namespaced=False): ("priorityclasses", "pc"),
}
_BY_WORD = {word: kind for kind, words in _KINDS.items() for word in (kind.name.lower(), *words)}
_SCOPES = {(kind.group, kind.name): kind for kind in _KINDS}


def kind_of(hub: Client, word: str) -> Kind:
    """Resolve a typed kind: `clusterqueue`, `cq`, `Widget.example.com`. Raises NotFound."""
    name, _, group = word.partition(".")
    if not group and (listed := _BY_WORD.get(name.lower())):
        return listed
    if (work := _work_called(name.lower())) and group in {"", work.group}:
        return work
    held = [
        Kind(each.group or "core", each.kind)
        for each in hub.kinds()
        if each.is_called(name) and group in {"", each.group}
    ]
    if len(held) == 1:
        return described(*held[0][:2])
    if held:
        told = ", ".join(f"{kind.name}.{kind.group}" for kind in held)
        detail = f"{word} may be one of {told}: say which"
    else:
        detail = f"{word} is not a kind that the hub holds"
    raise NotFound(404, {"code": "NotFound", "detail": detail})


def is_other_work(kind: Kind) -> bool:
    """Whether objects of a kind other than Job may be jobs: the hub dispatches those that name a queue."""
    from shared.kinds.dispatched import GROUPED

    return kind[:2] in GROUPED


def _work_called(word: str) -> Kind | None:
    from shared.kinds.dispatched import GROUPED

    for group, name in sorted(GROUPED):
        if word in {name.lower(), f"{name.lower()}s"}:
            return Kind(group, name, namespaced=True)
    return None


def described(group: str, name: str) -> Kind:
    """A kind by its API group ("core" or empty for Kubernetes' own) and its name."""
    from shared.kinds.scopes import is_cluster_scoped, is_namespaced

    if listed := _SCOPES.get((group or "core", name)):
        return listed
    plain = "" if group == "core" else group
    if is_cluster_scoped(plain, name):
        return Kind(group or "core", name, namespaced=False)
    return Kind(group or "core", name, namespaced=is_namespaced(plain, name) or None)
