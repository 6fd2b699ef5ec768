"""Quota as declared: flavors, resource groups, queues, and what an admission charges.

Names are those of Kueue's v1beta2. `tree`, which `ledger` keeps charged, answers how much a queue may
still take. Amounts are exact integers that saturate at 63 bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from hub.domain import selectors
from hub.domain.selectors import Taint
from shared import quantity
from shared.documents import JsonView
from shared.resources import Toleration
from shared.selectors import LabelSelector, read_selector

EVERYTHING: Final = LabelSelector()
DRAIN: Final = "HoldAndDrain"  # the stop policy under which admitted workloads leave


class FlavorResource(NamedTuple):
    """The unit of quota: one resource of one flavor."""

    flavor: str
    resource: str


Usage = Mapping[FlavorResource, int]


@dataclass(frozen=True, slots=True)
class Flavor:
    """A kind of node: the labels it has, the taints it bears, what its pods must tolerate."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""


@dataclass(frozen=True, slots=True)
class Quota:
    """Of one flavor and resource in one queue. None: no limit."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """Resources that take the same flavor, and the flavors in order of preference."""

    covered: tuple[str, ...]
    flavors: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClusterQueue:
    """A queue with quota. `selector` None admits no namespace; the empty one admits all."""

    name: str
    labels: Mapping[str, str]
    groups: tuple[ResourceGroup, ...]
    quotas: Mapping[FlavorResource, Quota]
    strict: bool = False  # StrictFIFO; else BestEffortFIFO
    cohort: str = ""
    selector: LabelSelector | None = EVERYTHING
    stop_policy: str = "None"  # None | Hold | DRAIN
    weight: str = "1"
    spec: JsonView | None = None  # as normalised: what later rules read from
    terminating: bool = False  # it is being deleted: it goes when what it has admitted has ended

    @property
    def stopped(self) -> bool:
        return self.stop_policy != "None"

    def group_of(self, resource: str) -> ResourceGroup | None:
        """The resource group that covers `resource`."""
        for group in self.groups:
            if resource in group.covered:
                return group
        return None


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A namespace's entrance to a ClusterQueue."""

    namespace: str
    name: str
    cluster_queue: str
    stop_policy: str = "None"
    weight: float = 1.0  # of admission fair sharing

    @property
    def stopped(self) -> bool:
        return self.stop_policy != "None"


def read_flavor(name: str, spec: JsonView | None) -> Flavor:
    """A ResourceFlavor from its normalised spec."""
    spec = spec or {}
    return Flavor(
        name=name,
        labels=tuple(sorted((spec.get("nodeLabels") or {}).items())),
        taints=selectors.read_taints(spec.get("nodeTaints")),
        tolerations=selectors.read_tolerations(spec.get("tolerations")),
        topology=spec.get("topologyName") or "",
    )


def read_cluster_queue(
    name: str,
    labels: Mapping[str, str],
    spec: JsonView | None,
    missing_selector: LabelSelector | None = EVERYTHING,
) -> ClusterQueue:
    """A ClusterQueue from its normalised (v1beta2) spec; raises `Rejected` on a bad quantity.

    `missing_selector` is what an absent namespaceSelector means: everything, by default.
    """
    spec = spec or {}
    groups, quotas = [], {}
    for group in spec.get("resourceGroups") or ():
        listed = group.get("flavors") or ()
        covered = tuple(group.get("coveredResources") or ())
        groups.append(ResourceGroup(covered, tuple(f["name"] for f in listed)))
        for flavor in listed:
            for resource in flavor.get("resources") or ():
                of = FlavorResource(flavor["name"], resource["name"])
                quotas[of] = _quota(resource)
    selector = read_selector(spec.get("namespaceSelector"))
    return ClusterQueue(
        name=name,
        labels=labels,
        groups=tuple(groups),
        quotas=quotas,
        strict=spec.get("queueingStrategy") == "StrictFIFO",
        cohort=spec.get("cohortName") or spec.get("cohort") or "",
        selector=missing_selector if selector is None else selector,
        stop_policy=spec.get("stopPolicy") or "None",
        weight=str((spec.get("fairSharing") or {}).get("weight") or "1"),
        spec=spec,
    )


def read_local_queue(namespace: str, name: str, spec: JsonView | None) -> LocalQueue:
    """A LocalQueue from its normalised spec."""
    spec = spec or {}
    weight = (spec.get("fairSharing") or {}).get("weight")
    return LocalQueue(
        namespace,
        name,
        spec.get("clusterQueue") or "",
        spec.get("stopPolicy") or "None",
        1.0 if weight is None else float(quantity.number(weight)),
    )


def read_usage(admission: JsonView | None) -> dict[FlavorResource, int]:
    """What an admission (`workloads.admission`) charges: over its pod sets, by flavor and resource."""
    charged: dict[FlavorResource, int] = {}
    for pod_set in (admission or {}).get("podSets") or ():
        flavors = pod_set.get("flavors") or {}
        for resource, amount in (pod_set.get("usage") or {}).items():
            if int(amount):  # a workload that holds nothing of a resource is no victim for it
                of = FlavorResource(flavors.get(resource, ""), resource)
                charged[of] = quantity.add(charged.get(of, 0), int(amount))
    return charged


def _quota(resource: JsonView) -> Quota:
    name = resource["name"]

    def amount(key: str) -> int | None:
        text = resource.get(key)
        return None if text is None else quantity.parse_limit(name, text, key)

    return Quota(amount("nominalQuota") or 0, amount("borrowingLimit"), amount("lendingLimit"))
