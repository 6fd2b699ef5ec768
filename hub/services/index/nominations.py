"""Claims: workloads that wait for those they displace, each with room of one cluster kept on named nodes.

Read from `workloads.nomination`. A claim stands while anybody who was told to go is still charged, and
for a while after, so that the cluster can report what became free. The leader writes into the row since
when all are gone; a leader that reads a row without that starts to count. A claim ends at once when the
cluster may not take the workload any more. The leader takes an ended claim out of the row, so that it does
not come back with the row or with the next leader; the list of its victims stays.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import orjson

from hub.domain.cycle.capacity_view import LiveFleet
from hub.domain.cycle.snapshot import Nomination
from hub.domain.fleet.free_capacity import Room
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.framework import Filter, first_rejection
from hub.domain.placement.plugins.consent import is_awaiting
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.workloads.demand import Constraints
from hub.services.index.charged import Charges
from hub.store.schedule import SchedulingRow

KEPT_AFTER: Final = dt.timedelta(minutes=5)
Kept = Mapping[str, frozenset[str]]  # by cluster: names of nodes with kept room
_ANYTHING: Final = Constraints()


def nodes_by_cluster(kept: Iterable[tuple[str, Iterable[str]]]) -> Kept:
    """All nodes that are named for each cluster."""
    found: dict[str, set[str]] = {}
    for cluster, nodes in kept:
        found.setdefault(cluster, set()).update(nodes)
    return {cluster: frozenset(nodes) for cluster, nodes in found.items() if nodes}


class _Claim:
    __slots__ = ("at", "constraints", "gone_at", "is_told", "nomination", "victims")

    def __init__(
        self,
        nomination: Nomination,
        victims: frozenset[str],
        gone_at: dt.datetime | None,
        constraints: Constraints,
        at: str = "",
    ) -> None:
        self.at = at  # when it was decided, as the row says: which claim it is
        self.nomination = nomination
        self.victims = victims
        self.gone_at = gone_at  # since when no leader has seen any of them there
        self.is_told = gone_at is not None  # is the moment in the row?
        self.constraints = (
            constraints  # of its workload; which clusters it avoids counts for nothing
        )


class Claims:
    """All claims by uid of the nominee."""

    def __init__(self, charges: Charges) -> None:
        self._charges = charges
        self._claims: dict[str, _Claim] = {}
        self._preempted: dict[str, frozenset[str]] = {}  # also of claims whose time is up
        self._ended: dict[str, str] = {}  # uid → `at`: ended, and the row still has it

    def __contains__(self, uid: object) -> bool:
        return uid in self._claims

    def __len__(self) -> int:
        return len(self._claims)

    def __iter__(self) -> Iterator[str]:
        return iter(self._claims)

    def read(self, row: SchedulingRow, constraints: Constraints = _ANYTHING) -> None:
        """What the row of a waiting workload says; it keeps as many pods as were decided on.

        Those that the workload asks for meanwhile may be more than there is room for.
        """
        told = orjson.loads(row.nomination) if row.nomination is not None else None
        if not told:
            self.drop(row.uid)
            return
        if "cluster" not in told:  # it has ended
            self.drop(row.uid)
            self._preempted[row.uid] = frozenset(told.get("preempted") or ())
            return
        decided = told.get("admission") or {}
        pods = self._charges.pods_of(row.shape, decided, as_decided=True)
        nomination = Nomination(told["cluster"], pods, nodes=tuple(told.get("nodes") or ()))
        gone = told.get("gone_at")
        gone_at = dt.datetime.fromisoformat(gone) if gone else None
        victims = frozenset(told["victims"])
        self._preempted[row.uid] = frozenset(told.get("preempted", victims))
        at = str(told.get("at") or "")
        if self._ended.get(row.uid) == at:  # by this leader, which has yet to write it
            return
        self._ended.pop(row.uid, None)
        constraints = replace(constraints, avoided=())
        self._claims[row.uid] = _Claim(nomination, victims, gone_at, constraints, at)

    def drop(self, uid: str) -> bool:
        """It waits no longer; True if room was kept for it."""
        self._preempted.pop(uid, None)
        self._ended.pop(uid, None)
        return self._claims.pop(uid, None) is not None

    def preempted(self) -> dict[str, frozenset[str]]:
        """Victims of each workload that waits, by its uid, until it is placed."""
        return dict(self._preempted)

    def present(self) -> dict[str, Nomination]:
        """All claims by uid, as they are."""
        return {
            uid: replace(claim.nomination, leaving=self._leaving(claim))
            for uid, claim in self._claims.items()
        }

    def nodes(self) -> Kept:
        """Nodes on which room is kept: by claims, and for works that were placed."""
        claimed = ((c.nomination.cluster, c.nomination.nodes) for c in self._claims.values())
        return nodes_by_cluster((*self._charges.members.kept_nodes().items(), *claimed))

    def room_beside(self, now: dt.datetime) -> Room:
        """The remainder for all others: the room, which is up to date, less the room kept for claims.

        For decisions beside cycles; it may be the very room of the members, so a copy of it is changed.
        """
        members = self._charges.members
        claims = {uid: claim for uid, claim in self.present().items() if claim.cluster}
        if not claims:
            return members.room
        room = members.room.copy()
        search = ClusterSearch(members.clusters, room, (), now)
        LiveFleet(members.room, room, search, claims)  # takes what they keep
        return room

    def _leaving(self, claim: _Claim) -> tuple[AdmittedWorkload, ...]:
        there = (self._charges.holder(victim) for victim in sorted(claim.victims))
        return tuple(holder for holder in there if holder is not None and holder.evicted)

    def _may_use(self, claim: _Claim, filters: Sequence[Filter], now: dt.datetime) -> bool:
        """May its cluster take its workload? A report of consent that is still to come refuses nothing."""
        name = claim.nomination.cluster
        if not name or not filters:
            return True
        cluster = self._charges.members.clusters.get(name)
        if cluster is None:
            return False
        rejection = first_rejection(filters, claim.constraints, cluster, now)
        return rejection is None or is_awaiting(rejection)

    def untold(self) -> dict[str, dt.datetime]:
        """Claims whose rows do not say yet since when all victims are gone."""
        return {
            uid: claim.gone_at
            for uid, claim in self._claims.items()
            if claim.gone_at is not None and not claim.is_told
        }

    def ended(self) -> dict[str, str]:
        """Claims that have ended and that their rows still have: when each was decided, by uid."""
        return dict(self._ended)

    def standing(self, now: dt.datetime, filters: Sequence[Filter] = ()) -> dict[str, Nomination]:
        """Claims that stand, by uid.

        Those whose time is up, or whose cluster `filters` reject, are forgotten.
        """
        found = {}
        for uid, claim in list(self._claims.items()):
            leaving = self._leaving(claim)
            if leaving:
                claim.gone_at, claim.is_told = None, False
            elif claim.gone_at is None:
                claim.gone_at = now
            is_over = claim.gone_at is not None and now - claim.gone_at > KEPT_AFTER
            if is_over or not self._may_use(claim, filters, now):
                self._ended[uid] = claim.at
                del self._claims[uid]
                continue
            found[uid] = replace(claim.nomination, leaving=leaving)
        return found
