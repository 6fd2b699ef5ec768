"""What would let a waiting workload in, where it is not that somebody else goes: more quota, a fleet
that has more or keeps less from it, fewer pods. Each tried on a `Trial`, as `remedies` says.
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


def quota(trial: Trial, found: Nominee) -> Iterator[Remedy]:
    """How much more nominal quota its ClusterQueue would need."""

    def raised(quota: Quota, more: int) -> Quota:
        return replace(quota, nominal=quota.nominal + more)

    yield from _more(trial, found, RemedyKind.QUOTA, raised)


def borrowing(trial: Trial, found: Nominee) -> Iterator[Remedy]:
    """How much higher its borrowing limit would have to be."""

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
        if search.mode is Mode.FIT or (search.mode is Mode.NO_FIT and search.asks is not None):
            rest = "" if search.mode is Mode.FIT else search.message
            return Remedy(kind, tuple(sorted(added.items())), rest=rest)
        if not _short(search, queue, flavors):
            flavors += [s.of.flavor for s in search.shortages][:1]
    return None


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


def _nodes(trial: Trial, asks: Sequence[NodeAsk]) -> Iterator[Remedy]:
    """How many nodes, each with what one pod asks free, the nearest cluster would need."""
    nearest = trial.none.nearest if trial.none else None
    if nearest is None:
        return
    pairs = zip(trial.who.pod_sets, asks, strict=True)
    pod_set, ask = next((p, a) for p, a in pairs if p.name == nearest.pod_set)
    cluster = trial.snapshot.clusters[nearest.cluster]
    labels = _labels_for(cluster, ask)
    number = trial.least(
        pod_set.count,
        lambda n: trial.fits(
            Variation(clusters={cluster.name: _with_nodes(cluster, pod_set, labels, n)})
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
