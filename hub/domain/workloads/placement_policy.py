"""A placement's policy: how many clusters, which ones may, and which are better.

Read once from the normalised v1 shape of `spec.policy`; hashable, so that equal policies share their
filtering and scoring.
"""

from dataclasses import dataclass

from hub.domain import selectors
from hub.domain.selectors import PropertyExpression
from shared.documents import JsonView
from shared.resources import Toleration
from shared.selectors import LabelSelector, read_selector


@dataclass(frozen=True, slots=True)
class Required:
    """One term of required cluster affinity: labels AND properties; terms are ORed."""

    selector: LabelSelector | None = None
    properties: tuple[PropertyExpression, ...] = ()


@dataclass(frozen=True, slots=True)
class Preferred:
    """One preference: where the selector matches, the weight, scaled by the sorter if there is one."""

    weight: int
    selector: LabelSelector | None = None
    sorter: str = ""  # property name; "" = no sorter
    ascending: bool = False  # smaller is better


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint over clusters' labels, as KubeFleet's."""

    key: str
    max_skew: int = 1
    required: bool = True  # DoNotSchedule; else ScheduleAnyway


@dataclass(frozen=True, slots=True)
class Policy:
    """PickAll: every cluster that may. PickN: the best `count`. PickFixed: those named."""

    type: str = "PickAll"
    count: int | None = None
    cluster_names: tuple[str, ...] = ()
    required: tuple[Required, ...] = ()
    preferred: tuple[Preferred, ...] = ()
    spread: tuple[Spread, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    enduring: tuple[Required, ...] = ()  # terms that have to hold as long as something is there


def read_policy(spec: JsonView | None) -> Policy:
    """The policy of a normalised placement; absent means PickAll. Raises `Rejected` on bad quantities."""
    spec = spec or {}
    affinity = (spec.get("affinity") or {}).get("clusterAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    enduring = affinity.get("requiredDuringSchedulingRequiredDuringExecution") or {}
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return Policy(
        type=spec.get("placementType") or "PickAll",
        count=spec.get("numberOfClusters"),
        cluster_names=tuple(spec.get("clusterNames") or ()),
        required=tuple(_required(t) for t in required.get("clusterSelectorTerms") or ()),
        preferred=tuple(_preferred(t) for t in preferred),
        spread=tuple(_spread(c) for c in spec.get("topologySpreadConstraints") or ()),
        tolerations=selectors.read_tolerations(spec.get("tolerations")),
        enduring=tuple(_required(t) for t in enduring.get("clusterSelectorTerms") or ()),
    )


def properties_of(policy: Policy) -> frozenset[str]:
    """The properties of clusters that a policy asks for."""
    wanted = {e.name for t in (*policy.required, *policy.enduring) for e in t.properties}
    return frozenset(wanted | {p.sorter for p in policy.preferred if p.sorter})


def _required(term: JsonView) -> Required:
    return Required(
        read_selector(term.get("labelSelector")),
        selectors.read_properties(term.get("propertySelector")),
    )


def _preferred(term: JsonView) -> Preferred:
    preference = term.get("preference") or {}
    sorter = preference.get("propertySorter") or {}
    return Preferred(
        weight=int(term.get("weight") or 0),
        selector=read_selector(preference.get("labelSelector")),
        sorter=sorter.get("name") or "",
        ascending=sorter.get("sortOrder") == "Ascending",
    )


def _spread(constraint: JsonView) -> Spread:
    return Spread(
        key=constraint.get("topologyKey") or "",
        max_skew=int(constraint.get("maxSkew") or 1),
        required=constraint.get("whenUnsatisfiable") != "ScheduleAnyway",
    )
