"""Remedies for a waiting workload other than preemption: more quota, a fleet with more room or fewer
constraints, fewer pods. Each tried on a `Trial`, as `remedies` says.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from hub.domain.admission import partial_admission
from hub.domain.admission.flavor_assigner import Mode, Search
from hub.domain.admission.nomination import Nominee
from hub.domain.fleet.clusters import Cluster, Pool
from hub.domain.fleet.node_layout import PODS, NodeAsk
from hub.domain.quota.declared import ClusterQueue, FlavorResource, Quota
from hub.domain.whatif.remedy import Remedy, RemedyKind
from hub.domain.whatif.trial import Trial, Variation
from hub.domain.workloads.demand import Constraints
from shared.resources import PodSet

_ROUNDS: Final = 6  # of raising quota until nothing of it is short
_FLAVORS: Final = 3  # flavors of which more is tried
_CORDONED: Final = 3  # cordoned clusters looked at
_NEW_NODE: Final = "new"
_NO_ROOM: Final = "Fits"  # the rule of clusters that may take it, and have no room


def quota(trial: Trial, found: Nominee) -> Iterator[Remedy]:
    """The missing nominal quota of its ClusterQueue."""

    def raised(quota: Quota, more: int) -> Quota:
        return replace(quota, nominal=quota.nominal + more)

    yield from _more(trial, found, RemedyKind.QUOTA, raised)


def borrowing(trial: Trial, found: Nominee) -> Iterator[Remedy]:
    """The missing borrowing limit of its ClusterQueue."""

    def raised(quota: Quota, more: int) -> Quota:
        limit = quota.borrowing_limit
        return quota if limit is None else replace(quota, borrowing_limit=limit + more)

    short = {s.of for s in found.search.shortages}
    quotas = trial.queue.quotas
    if any(of in quotas and quotas[of].borrowing_limit is not None for of in short):
        yield from _more(trial, found, RemedyKind.BORROWING_LIMIT, raised)


def _more(
    trial: Trial, found: Nominee, kind: RemedyKind, raised: Callable[[Quota, int], Quota]
) -> Iterator[Remedy]:
    """More of one flavor, for each with which that will do; other groups' are raised with it if need be."""
    flavors = dict.fromkeys(s.of.flavor for s in found.search.shortages)
    tried = (_raise(trial, found, kind, raised, flavor) for flavor in [*flavors][:_FLAVORS])
    yield from dict.fromkeys(remedy for remedy in tried if remedy is not None)


def _raise(
    trial: Trial,
    found: Nominee,
    kind: RemedyKind,
    raised: Callable[[Quota, int], Quota],
    flavor: str,
) -> Remedy | None:
    """Raise what is short by what is missing until it fits, or only clusters are missing.

    Of `flavor` first. Once that suffices another group may still be short: a search names one at a time.
    """
    added: dict[FlavorResource, int] = {}
    queue, search = trial.queue, found.search
    flavors = [flavor]
    for _ in range(_ROUNDS):
        short = _short(search, queue, flavors)
        if not short or not trial.may_ask:
            return None
        quotas = dict(queue.quotas)
        for of, missing in short.items():
            quotas[of] = raised(quotas[of], missing)
            added[of] = added.get(of, 0) + missing
        if quotas == queue.quotas:
            return None
        queue = replace(queue, quotas=quotas)
        search = trial.ask(Variation(queue=queue)).search
        if search.mode is Mode.FIT:
            return Remedy(kind, tuple(sorted(added.items())))
        if search.mode is Mode.NO_FIT and search.asks is not None:
            return _with_more_nodes(trial, queue, search, kind, added)
        if not _short(search, queue, flavors):
            flavors += [s.of.flavor for s in search.shortages][:1]
    return None


def _with_more_nodes(
    trial: Trial,
    queue: ClusterQueue,
    search: Search,
    kind: RemedyKind,
    added: Mapping[FlavorResource, int],
) -> Remedy:
    """More quota where clusters are missing even then: with nodes, if nominal quota and nodes will do."""
    amounts = tuple(sorted(added.items()))
    if kind is RemedyKind.QUOTA and search.asks is not None:
        for nodes in _nodes(trial, search.asks, queue):
            return replace(nodes, amounts=amounts)
    return Remedy(kind, amounts, rest=search.message)


def _short(
    search: Search, queue: ClusterQueue, flavors: Sequence[str]
) -> dict[FlavorResource, int]:
    """What is missing of these flavors; what a pod set lacks includes what those before it do."""
    short: dict[FlavorResource, int] = {}
    for each in search.shortages:
        if each.of in queue.quotas and each.missing > 0 and each.of.flavor in flavors:
            short[each.of] = max(short.get(each.of, 0), each.missing)
    return short


# --- the fleet is another -------------------------------------------------------------------------


def fleet(trial: Trial, found: Nominee) -> Iterator[Remedy]:
    """Nodes, cordons and constraints, where only clusters are missing."""
    if found.search.asks is None or not trial.snapshot.clusters:
        return
    yield from _cordons(trial)
    yield from _unconstrained(trial)
    yield from _nodes(trial, found.search.asks)


def _cordons(trial: Trial) -> Iterator[Remedy]:
    cordoned = [c for _, c in sorted(trial.snapshot.clusters.items()) if c.cordoned]
    for cluster in cordoned[:_CORDONED]:
        if trial.may_ask and trial.fits(
            Variation(clusters={cluster.name: replace(cluster, cordoned=False)})
        ):
            yield Remedy(RemedyKind.UNCORDON, cluster=cluster.name)


def _unconstrained(trial: Trial) -> Iterator[Remedy]:
    demand = trial.who.demand
    assert demand is not None
    given = demand.constraints
    others: list[tuple[RemedyKind, Constraints]] = []
    if given.clusters is not None or given.selector is not None:
        others.append((RemedyKind.CONSTRAINTS, replace(given, clusters=None, selector=None)))
    if given.set_aside:
        others.append((RemedyKind.SET_ASIDE, replace(given, set_aside=())))
    for kind, constraints in others:
        if trial.may_ask and trial.fits(Variation(constraints=constraints)):
            yield Remedy(
                kind, cluster=given.set_aside[0][0] if kind is RemedyKind.SET_ASIDE else ""
            )


def _nodes(
    trial: Trial, asks: Sequence[NodeAsk], queue: ClusterQueue | None = None
) -> Iterator[Remedy]:
    """How many nodes, each with what one pod asks free, the nearest cluster would need.

    `queue`: its own, with other limits.
    """
    place = _nearest(trial)
    if place is None:
        return
    pairs = zip(trial.who.pod_sets, asks, strict=True)
    pod_set, ask = next((p, a) for p, a in pairs if p.name == place[1])
    cluster = trial.snapshot.clusters[place[0]]
    labels = _labels_for(cluster, ask)
    number = trial.least(
        pod_set.count,
        lambda n: trial.fits(
            Variation(
                clusters={cluster.name: _with_nodes(cluster, pod_set, labels, n)}, queue=queue
            )
        ),
    )
    if number is not None:
        pod = tuple(sorted((r, a) for r, a in pod_set.requests.items() if a))
        shown = tuple(sorted(ask.labels))
        yield Remedy(
            RemedyKind.NODES,
            number=number,
            cluster=cluster.name,
            labels=shown,
            pod=pod,
        )


def _nearest(trial: Trial) -> tuple[str, str] | None:
    """The nearest cluster, and the pod set that does not fit there.

    If no cluster has a node for such pods: any cluster that may take them.
    """
    none = trial.none
    if none is None:
        return None
    if none.nearest is not None:
        return none.nearest.cluster, none.nearest.pod_set
    without = [v.cluster for v in none.verdicts if v.rejection.rule == _NO_ROOM]
    return (min(without), trial.who.pod_sets[0].name) if without else None


def _labels_for(cluster: Cluster, ask: NodeAsk) -> dict[str, str]:
    """Labels of nodes that such pods may use: of a pool that has them, else what they select."""
    for pool in cluster.pools:
        if ask.admits(pool):
            return dict(pool.labels)
    return dict(ask.labels)


def _with_nodes(
    cluster: Cluster, pod_set: PodSet, labels: Mapping[str, str], number: int
) -> Cluster:
    amounts = {r: a for r, a in pod_set.requests.items() if a} | {PODS: 1}
    resources = tuple(sorted(amounts))
    free = np.array([[amounts[r] for r in resources]] * number, dtype=np.int64)
    names = tuple(f"{_NEW_NODE}-{n}" for n in range(number))
    pool = Pool(labels, (), resources, names, free.copy(), free)
    more = {r: cluster.free.get(r, 0) + a * number for r, a in amounts.items()}
    return replace(cluster, pools=(*cluster.pools, pool), free={**cluster.free, **more})


# --- it asks for less -----------------------------------------------------------------------------


def fewer_pods(trial: Trial) -> Iterator[Remedy]:
    """The most pods of a single pod set that would be admitted at once."""
    pod_sets = trial.who.pod_sets
    if len(pod_sets) != 1 or pod_sets[0].count < 2:
        return
    (whole,) = pod_sets

    def admissible(counts: tuple[int, ...]) -> int | None:
        if not trial.may_ask:
            return None
        fewer = replace(whole, count=counts[0], min_count=None)
        return counts[0] if trial.fits(Variation(pod_sets=(fewer,))) else None

    number = partial_admission.largest((replace(whole, min_count=1),), admissible)
    if number is not None and number < whole.count:
        yield Remedy(RemedyKind.FEWER_PODS, number=number)
