"""Flavors under quota: which flavor each pod set gets, all pod sets or none (queueing 2.5).

Per pod set and resource group the first flavor, in the queue's order, whose quota suffices and which
some cluster carries that can still hold *all* pod sets so assigned: a flavor's node labels and its
tolerations narrow the nodes that may be used.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hub.domain import selectors
from hub.domain.plan import SEVERITY, Assignment, PodSetAssignment, Reason, Shortage
from hub.domain.quota import ClusterQueue, Flavor, FlavorResource, Ledger, ResourceGroup
from hub.domain.room import PODS, NodeAsk
from shared.resources import NodeTerm, PodSet

UNKNOWN_KEY: Final = 1 << 60  # no report is grouped by a key that agents were not yet told of

CanHold = Callable[[tuple[NodeAsk, ...]], bool]


@dataclass(frozen=True, slots=True)
class Unassigned:
    """No choice of flavors fits. `asks`: what was asked of nodes where only clusters were missing."""

    reason: Reason
    message: str
    shortages: tuple[Shortage, ...] = ()
    asks: tuple[NodeAsk, ...] | None = None


class _Miss(NamedTuple):
    """Why one flavor will not do for one pod set and group."""

    reason: Reason
    message: str
    shortages: tuple[Shortage, ...] = ()
    asks: tuple[NodeAsk, ...] | None = None


@dataclass(frozen=True, slots=True)
class Market:
    """What flavors are chosen from: the flavors that exist, and the revisions of node label keys."""

    flavors: Mapping[str, Flavor]
    key_revisions: Mapping[str, int]

    def ask(self, pod_set: PodSet, flavors: Sequence[Flavor] = ()) -> NodeAsk:
        """What a pod set under flavors asks of nodes."""
        labels = dict(pod_set.node_selector)
        for flavor in flavors:
            labels.update(flavor.labels)
        terms = pod_set.affinity_terms
        keys = [*labels, *(e.key for t in terms or () for e in t.expressions)]
        return NodeAsk(
            labels=tuple(sorted(labels.items())),
            terms=() if terms is None else (terms,),
            tolerations=(*pod_set.tolerations, *(t for f in flavors for t in f.tolerations)),
            revision=max((self.key_revisions.get(k, UNKNOWN_KEY) for k in keys), default=0),
        )


def assign(
    pod_sets: Sequence[PodSet],
    queue: ClusterQueue,
    market: Market,
    ledger: Ledger,
    can_hold: CanHold,
) -> Assignment | Unassigned:
    """Flavors for all pod sets, or the reason that weighs most.

    Of alternative flavors the least severe reason counts, across groups and pod sets the most severe.
    """
    draft = _Draft(pod_sets, queue, market, ledger, can_hold)
    for index in range(len(pod_sets)):
        draft.assign_pod_set(index)
    return draft.result()


class _Draft:
    """An assignment in the making: later pod sets see what earlier ones would charge."""

    def __init__(
        self,
        pod_sets: Sequence[PodSet],
        queue: ClusterQueue,
        market: Market,
        ledger: Ledger,
        can_hold: CanHold,
    ) -> None:
        self._pod_sets = pod_sets
        self._queue = queue
        self._market = market
        self._ledger = ledger
        self._can_hold = can_hold
        self._charge: dict[FlavorResource, int] = {}
        self._asks = [market.ask(p) for p in pod_sets]
        self._assigned: list[PodSetAssignment] = []
        self._misses: list[_Miss] = []

    def assign_pod_set(self, index: int) -> None:
        """Choose a flavor for each resource group that the pod set asks of."""
        pod_set = self._pod_sets[index]
        asked = {r: a for r, a in pod_set.total().items() if a > 0}
        if self._queue.group_of(PODS):
            asked[PODS] = max(pod_set.count, asked.get(PODS, 0))
        chosen: dict[str, Flavor] = {}  # by resource
        for resource in sorted(asked):
            group = self._queue.group_of(resource)
            if group is None:
                self._misses.append(self._uncovered(pod_set, resource))
            elif resource not in chosen:
                amounts = {r: a for r, a in asked.items() if r in group.covered}
                flavor = self._choose(index, group, amounts, _distinct(chosen.values()))
                chosen.update(dict.fromkeys(amounts, flavor or _NONE))
        flavors = _distinct(chosen.values())
        self._assigned.append(
            PodSetAssignment(
                name=pod_set.name,
                count=pod_set.count,
                flavors=tuple(sorted((r, f.name) for r, f in chosen.items())),
                usage=tuple(sorted(asked.items())),
                labels=tuple(sorted({k: v for f in flavors for k, v in f.labels}.items())),
                tolerations=tuple(t for f in flavors for t in f.tolerations),
            )
        )

    def result(self) -> Assignment | Unassigned:
        asks = tuple(self._asks)
        if not self._misses:
            if self._can_hold(asks):
                return Assignment(tuple(self._assigned), self._charge, asks)
            return Unassigned(Reason.NO_CLUSTER_FITS, "no cluster can hold it now", asks=asks)
        worst = max(self._misses, key=lambda m: SEVERITY[m.reason])
        return Unassigned(worst.reason, worst.message, worst.shortages, worst.asks)

    def _choose(
        self,
        index: int,
        group: ResourceGroup,
        amounts: Mapping[str, int],
        already: Sequence[Flavor],
    ) -> Flavor | None:
        misses = []
        for name in group.flavors:
            flavor = self._market.flavors.get(name)
            miss = self._try(index, flavor, name, amounts, already)
            if miss is None:
                assert flavor is not None
                for resource, amount in amounts.items():
                    of = FlavorResource(name, resource)
                    self._charge[of] = self._charge.get(of, 0) + amount
                self._asks[index] = self._market.ask(self._pod_sets[index], (*already, flavor))
                return flavor
            misses.append(miss)
        least = min(misses, key=lambda m: SEVERITY[m.reason], default=None)
        if least is None:
            self._misses.append(_Miss(Reason.NO_MATCHING_FLAVOR, "the queue has no flavor"))
            return None
        alike = [m for m in misses if m.reason is least.reason]
        self._misses.append(
            least._replace(
                message=_join(self._pod_sets[index].name, [m.message for m in alike]),
                shortages=tuple(s for m in misses for s in m.shortages),
            )
        )
        return None

    def _try(
        self,
        index: int,
        flavor: Flavor | None,
        name: str,
        amounts: Mapping[str, int],
        already: Sequence[Flavor],
    ) -> _Miss | None:
        """Why this flavor will not do, or None."""
        pod_set = self._pod_sets[index]
        if flavor is None:
            return _Miss(Reason.NO_MATCHING_FLAVOR, f"flavor {name} does not exist")
        mismatch = mismatch_of(pod_set, flavor)
        if mismatch:
            return _Miss(Reason.NO_MATCHING_FLAVOR, mismatch)
        short = self._quota_miss(name, amounts)
        if short is not None:
            return short
        asks = list(self._asks)
        asks[index] = self._market.ask(pod_set, (*already, flavor))
        if not self._can_hold(tuple(asks)):
            message = f"flavor {name}: no cluster can hold it now"
            return _Miss(Reason.NO_CLUSTER_FITS, message, asks=tuple(asks))
        return None

    def _quota_miss(self, flavor: str, amounts: Mapping[str, int]) -> _Miss | None:
        shortages: list[Shortage] = []
        exceeds = False
        for resource, amount in sorted(amounts.items()):
            of = FlavorResource(flavor, resource)
            limit = self._ledger.potential(self._queue.name, of)
            if limit is None:
                return _Miss(
                    Reason.NO_MATCHING_FLAVOR, f"flavor {flavor} has no quota for {resource}"
                )
            asked = self._charge.get(of, 0) + amount
            if asked > self._ledger.available(self._queue.name, of):
                exceeds |= asked > limit
                used = self._ledger.used(self._queue.name, of)
                shortages.append(Shortage(of, asked, used, limit))
        if not shortages:
            return None
        reason = Reason.EXCEEDS_MAX_QUOTA if exceeds else Reason.WAITING_FOR_QUOTA
        words = "more than the queue can ever have" if exceeds else "insufficient unused quota"
        said = "; ".join(str(s) for s in shortages)
        return _Miss(reason, f"{words}: {said}", tuple(shortages))

    def _uncovered(self, pod_set: PodSet, resource: str) -> _Miss:
        message = f"ClusterQueue {self._queue.name} has no quota for {resource}"
        return _Miss(Reason.NO_MATCHING_FLAVOR, _join(pod_set.name, [message]))


_NONE: Final = Flavor("")


def mismatch_of(pod_set: PodSet, flavor: Flavor) -> str:
    """Why a flavor's nodes are not for such pods; "" where they are.

    The pods' selector and required affinity are held against the flavor's labels, restricted to the
    flavor's own keys; a term that becomes empty matches everything (queueing 1.4).
    """
    taint = selectors.untolerated(flavor.taints, (*pod_set.tolerations, *flavor.tolerations))
    if taint is not None:
        return f"flavor {flavor.name} has taint {taint}, which the pods do not tolerate"
    labels = dict(flavor.labels)
    for key, value in pod_set.node_selector:
        if labels.get(key, value) != value:
            return f"flavor {flavor.name} has {key}={labels[key]}, the pods select {value}"
    terms = pod_set.affinity_terms
    if terms is not None and not any(_may_match(t, labels) for t in terms):
        return f"flavor {flavor.name} does not match the pods' required node affinity"
    return ""


def _may_match(term: NodeTerm, labels: Mapping[str, str]) -> bool:
    return all(selectors.holds(e, labels) for e in term.expressions if e.key in labels)


def _distinct(flavors: Iterable[Flavor]) -> tuple[Flavor, ...]:
    """Each flavor once, in order, without the placeholder of a failed choice."""
    seen: dict[str, Flavor] = {}
    for flavor in flavors:
        if flavor is not _NONE:
            seen.setdefault(flavor.name, flavor)
    return tuple(seen.values())


def _join(pod_set: str, messages: Sequence[str]) -> str:
    unique = list(dict.fromkeys(messages))
    return f"pod set {pod_set}: " + "; ".join(unique[:8])
