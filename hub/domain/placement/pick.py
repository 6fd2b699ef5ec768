"""Clusters for an object that is not a Job: all, the best N, or those named, with scores and reasons.

Picks are sticky: labels, taints and health never unseat a cluster (except by terms that hold during
execution too), and scores are frozen at the pick, as in KubeFleet. Clusters bound under an
older policy compete again, with a bonus.
"""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, Room
from hub.domain.placement import because, registry
from hub.domain.placement.framework import Filter, first_rejection
from hub.domain.placement.plugins.affinity import satisfies
from hub.domain.placement.plugins.consent import NamespacesAccepted
from hub.domain.placement.plugins.eligibility import Eligible, Standing
from hub.domain.placement.plugins.naming import Named
from hub.domain.placement.scoring.preferences import Ranking
from hub.domain.placement.spread import Spreading
from hub.domain.workloads.demand import Constraints
from hub.domain.workloads.placement_policy import Policy

SCHEDULED: Final = "Scheduled"
NOT_SCHEDULED: Final = "ScheduleFailed"
MOST_NAMED: Final = 3  # clusters in a message


class Scores(NamedTuple):
    """KubeFleet's two numbers of a decision."""

    affinity: int = 0
    topology: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """One cluster: picked or not, its scores, and why, in words that name the cluster."""

    cluster: str
    selected: bool
    affinity_score: int
    topology_score: int
    reason: str
    message: str
    leaves: bool = False  # it is there until who replaces it is available
    cause: str = ""  # reason of the filter that rejected it


@dataclass(frozen=True, slots=True)
class Decisions:
    """All known clusters: those picked first, by name; then the others, best first.

    `fulfilled`: as many as the policy wants were found. `wanted` None: however many may. `order`: all
    names, best first: as they were picked; who competed, by topology score, affinity score and name, the
    larger first; who may not. `awaited`: clusters whose reports a pick waits for, at most until `again_at`.
    """

    decisions: tuple[Decision, ...]
    wanted: int | None
    fulfilled: bool
    message: str
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    again_at: dt.datetime | None = None

    @property
    def selected(self) -> tuple[str, ...]:
        """Clusters that are to hold the objects, also until others do."""
        return tuple(d.cluster for d in self.decisions if d.selected)

    @property
    def picked(self) -> tuple[str, ...]:
        """Those among them that are to stay."""
        return tuple(d.cluster for d in self.decisions if d.selected and not d.leaves)


def pick(
    policy: Policy,
    clusters: Collection[Cluster],
    now: dt.datetime,
    *,
    chosen: Mapping[str, Scores] | None = None,
    obsolete: Collection[str] = (),
    unbound: Collection[str] = (),
    kind: str = "",
    filters: Sequence[Filter] = registry.FILTERS,
    compatible: bool = False,
) -> Decisions:
    """Decide for every known cluster.

    `chosen`: clusters already bound under this very policy, with the scores of their pick; `obsolete`:
    bound under an older one; `unbound`: those chosen that were given nothing yet, which go first where fewer
    are wanted. `kind` (apiVersion/Kind) leaves out clusters that do not serve it.
    `compatible`: values of sorters as KubeFleet takes them: of all clusters, also of those that may not be
    picked, and of what they report, whatever the hub has promised.
    """
    picker = _Picker(
        policy, clusters, now, dict(chosen or {}), obsolete, unbound, kind, filters, compatible
    )
    match policy.type:
        case "PickFixed":
            return picker.pick_fixed()
        case "PickN":
            return picker.pick_n(policy.count or 0)
        case _:
            return picker.pick_all()


class _Picker:
    """One decision in the making."""

    def __init__(
        self,
        policy: Policy,
        clusters: Collection[Cluster],
        now: dt.datetime,
        chosen: dict[str, Scores],
        obsolete: Collection[str],
        unbound: Collection[str],
        kind: str,
        filters: Sequence[Filter],
        compatible: bool,
    ) -> None:
        self._policy = policy
        self._compatible = compatible
        self._clusters = {c.name: replace(c, reserved={}) if compatible else c for c in clusters}
        self._now = now
        self._obsolete = frozenset(obsolete)
        self._unbound = frozenset(unbound)
        self._constraints = Constraints(
            kind=kind, is_job=False, policy=policy, tolerations=policy.tolerations
        )
        self._filters = filters
        self._kept = {n: s for n, s in chosen.items() if self._stays(n)}
        self._rejections: dict[str, str] = {}
        self._causes: dict[str, str] = {}  # reasons of the filters that rejected clusters
        self._awaited: dict[str, dt.datetime] = {}  # reports that are due, by cluster
        self._open = [c for c in self._clusters.values() if self._may(c)]
        self._affinity: dict[str, int] = {}
        self._topology: dict[str, int] = {}  # of who competed last, and was not picked
        self._order: list[str] = []  # of picks
        self._notes: tuple[str, ...] = ()
        self._unknown: list[str] = []  # names that no cluster of the fleet has
        self._settled = ""  # why no cluster competes

    def _stays(self, name: str) -> bool:
        """Picked clusters stay while they are in the fleet and satisfy the permanent terms."""
        cluster = self._clusters.get(name)
        return cluster is not None and satisfies(self._policy.enduring, cluster)

    def _may(self, cluster: Cluster) -> bool:
        """Does a cluster that is not chosen yet pass the filters?"""
        if cluster.name in self._kept:
            return False
        return self._passes(self._filters, cluster)

    def _passes(self, filters: Sequence[Filter], cluster: Cluster) -> bool:
        rejection = first_rejection(filters, self._constraints, cluster, self._now)
        if rejection is None:
            return True
        self._rejections[cluster.name] = rejection.message
        self._causes[cluster.name] = rejection.reason
        if rejection.hold_until is not None and rejection.hold_until > self._now:
            self._awaited[cluster.name] = rejection.hold_until
        return False

    def pick_all(self) -> Decisions:
        """Every cluster that passes; all scores are 0."""
        picked = dict.fromkeys((*self._kept, *(c.name for c in self._open)), Scores())
        return self._decide(picked, None, fulfilled=True)

    def pick_fixed(self) -> Decisions:
        """The named clusters; only eligibility and consent count, not taints or affinity."""
        counted = Eligible | Standing | Named | NamespacesAccepted
        plain = [f for f in self._filters if isinstance(f, counted)]
        self._rejections.clear()
        self._causes.clear()
        self._awaited.clear()
        picked: dict[str, Scores] = {}
        for name, cluster in self._clusters.items():
            stays = name in self._kept and name in self._policy.cluster_names
            if stays or self._passes(plain, cluster):
                picked[name] = Scores()
        named = set(self._policy.cluster_names)
        self._unknown = sorted(named - self._clusters.keys())
        return self._decide(picked, len(named), fulfilled=len(picked) == len(named))

    def pick_n(self, wanted: int) -> Decisions:
        """The best `wanted`: kept ones first; too many kept ones go, the lowest score first."""
        by_score = sorted(self._kept.items(), key=self._worth, reverse=True)
        picked = dict(by_score[:wanted])
        if len(picked) == wanted:
            self._settled = f"{wanted} are picked already" if wanted else "no cluster is wanted"
        self._order = list(picked)
        for name, _ in by_score[wanted:]:
            self._rejections[name] = "more clusters were picked than are wanted now"
        self._rank()
        if self._awaited and len(picked) < wanted and not self._obsolete:
            self._settled = f"waits a moment for the report of {_few(self._awaited)}"
            self._open = []
        fleet, repairs = self._clusters.values(), not self._compatible
        spreading = Spreading(self._policy.spread, fleet, picked, repairs=repairs)
        while len(picked) < wanted and (best := self._best(picked, spreading)) is not None:
            name, scores = best
            picked[name] = scores
            self._order.append(name)
            spreading.add(self._clusters[name])
        return self._decide(picked, wanted, fulfilled=len(picked) == wanted)

    def _worth(self, kept: tuple[str, Scores]) -> tuple[bool, int, int, str]:
        """By what those who are chosen stay where fewer are wanted: the largest do."""
        name, scores = kept
        return name not in self._unbound, scores.topology, scores.affinity, name

    def _rank(self) -> None:
        layout = Layout(list(self._clusters.values()))
        room = Room.of(layout, self._clusters)
        for at, name in enumerate(layout.names):
            for resource, amount in self._clusters[name].reserved.items():
                if resource in layout.row:
                    room.left[layout.row[resource], at] -= np.int64(amount)
        among = None if self._compatible else {c.name for c in self._open}
        ranking = Ranking(self._policy.preferred, self._clusters, room, among)
        self._affinity = dict(zip(layout.names, ranking.scores.tolist(), strict=True))
        self._notes = ranking.notes

    def _best(
        self, picked: Mapping[str, Scores], spreading: Spreading
    ) -> tuple[str, Scores] | None:
        """The next cluster: topology, affinity, already bound, larger name."""
        ranked = []
        self._topology = {}
        for cluster in self._open:
            if cluster.name in picked:
                continue
            spread = spreading.score(cluster)
            if spread.refused:
                self._rejections[cluster.name] = spread.refused
                continue
            self._rejections.pop(cluster.name, None)
            scores = Scores(self._affinity[cluster.name], spread.score)
            self._topology[cluster.name] = spread.score
            bonus = cluster.name in self._obsolete
            ranked.append((spread.score, scores.affinity, bonus, cluster.name, scores))
        if not ranked:
            return None
        *_, name, scores = max(ranked)
        return name, scores

    def _decide(
        self, picked: Mapping[str, Scores], wanted: int | None, *, fulfilled: bool
    ) -> Decisions:
        yes = [_picked(name, picked[name]) for name in sorted(picked)]
        no = [self._not_picked(name, picked) for name in self._clusters if name not in picked]
        no += [_not_there(name) for name in self._unknown]
        no.sort(key=lambda d: d.cluster, reverse=True)
        no.sort(
            key=lambda d: (d.cluster in self._rejections, -d.topology_score, -d.affinity_score)
        )
        asked = "every matching cluster" if wanted is None else f"{wanted} cluster(s)"
        found = "found all clusters needed" if fulfilled else "could not find all clusters needed"
        message = f"scheduler {found}: {len(yes)} found, {asked} wanted"
        order = (*self._in_order(picked), *(d.cluster for d in no))
        waits = {} if wanted is not None and fulfilled else self._awaited
        if waits:
            message = f"{message}; waits a moment for the report of {_few(waits)}"
        awaited, again_at = tuple(sorted(waits)), min(waits.values(), default=None)
        return Decisions(
            (*yes, *no), wanted, fulfilled, message, self._notes, order, awaited, again_at
        )

    def _in_order(self, picked: Collection[str]) -> list[str]:
        """As they were picked; where nothing was scored the larger name first."""
        return self._order or sorted(picked, reverse=True)

    def _not_picked(self, name: str, picked: Mapping[str, Scores]) -> Decision:
        affinity, topology = self._affinity.get(name, 0), self._topology.get(name, 0)
        why = self._rejections.get(name)
        if why is None:
            words = (
                self._settled
                or self._tied(name, Scores(affinity, topology), picked)
                or "its score is not high enough"
            )
            why = f"{words} (affinity score: {affinity}, topology spread score: {topology})"
        else:
            affinity = topology = 0
        message = f'Cluster "{name}" was not picked: {why}'
        cause = self._causes.get(name, "") if name in self._rejections else ""
        return Decision(name, False, affinity, topology, NOT_SCHEDULED, message, cause=cause)

    def _tied(self, name: str, scores: Scores, picked: Mapping[str, Scores]) -> str:
        """The reason that excluded a cluster that scored like the last picked one; "" if none."""
        rivals = [n for n, s in picked.items() if s == scores and n not in self._kept]
        if not rivals:
            return ""
        last = min(rivals)
        bound = last in self._obsolete and name not in self._obsolete
        by = "what is placed there already" if bound else because.by_name()
        return because.tie(scores.affinity, last, by)


def _few(names: Collection[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(sorted(names)[:MOST_NAMED]) + more


def _not_there(name: str) -> Decision:
    message = f'Cluster "{name}" was not picked: it is not in the fleet: add it, or name another'
    return Decision(name, False, 0, 0, NOT_SCHEDULED, message)


def _picked(name: str, scores: Scores) -> Decision:
    message = (
        f'Successfully scheduled resources for placement in "{name}" '
        f"(affinity score: {scores.affinity}, topology spread score: {scores.topology}): "
        "picked by scheduling policy"
    )
    return Decision(name, True, scores.affinity, scores.topology, SCHEDULED, message)
