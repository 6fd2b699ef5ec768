"""Claims: workloads that wait for those they displace, each with the room of one cluster kept for it.

Read from `workloads.nomination`. A claim stands while anybody who was told to go is still charged, and
for a while after, so that the cluster can report what became free. It ends at once when the cluster reports
that the workload's namespace does not accept the hub.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import orjson

from hub.domain.cycle.snapshot import Nomination
from hub.domain.quota.holders import AdmittedWorkload
from hub.services.index.charged import Charges
from hub.store.schedule import SchedulingRow
from shared.consent import CLOSED

KEPT_AFTER: Final = dt.timedelta(minutes=5)


class _Claim:
    __slots__ = ("namespace", "nomination", "seen", "victims")

    def __init__(
        self, nomination: Nomination, victims: frozenset[str], seen: dt.datetime, namespace: str
    ) -> None:
        self.nomination = nomination
        self.victims = victims
        self.seen = seen  # when one of them was last known to be there
        self.namespace = namespace  # of a Job; others need no consent


class Claims:
    """All claims by uid of the nominee."""

    def __init__(self, charges: Charges) -> None:
        self._charges = charges
        self._claims: dict[str, _Claim] = {}
        self._preempted: dict[str, frozenset[str]] = {}  # also of claims whose time is up

    def __contains__(self, uid: object) -> bool:
        return uid in self._claims

    def __len__(self) -> int:
        return len(self._claims)

    def __iter__(self) -> Iterator[str]:
        return iter(self._claims)

    def read(self, row: SchedulingRow) -> None:
        """What the row of a waiting workload says."""
        told = orjson.loads(row.nomination) if row.nomination is not None else None
        if not told:
            self.drop(row.uid)
            return
        pods = self._charges.pods_of(row.shape, told.get("admission") or {})
        if len(pods) == 1 and not (told.get("admission") or {}).get("reduced"):
            pods = ((*pods[0][:2], row.parallelism),)
        nomination = Nomination(told["cluster"], pods)
        seen = dt.datetime.fromisoformat(told["at"])
        namespace = row.namespace if row.kind == "Job" else ""
        victims = frozenset(told["victims"])
        self._preempted[row.uid] = frozenset(told.get("preempted", victims))
        self._claims[row.uid] = _Claim(nomination, victims, seen, namespace)

    def drop(self, uid: str) -> bool:
        """It waits no longer; True if room was kept for it."""
        self._preempted.pop(uid, None)
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

    def _leaving(self, claim: _Claim) -> tuple[AdmittedWorkload, ...]:
        there = (self._charges.holder(victim) for victim in sorted(claim.victims))
        return tuple(holder for holder in there if holder is not None and holder.evicted)

    def _is_refused(self, claim: _Claim) -> bool:
        """A report that is still to come refuses nothing."""
        cluster = self._charges.members.clusters.get(claim.nomination.cluster)
        states = cluster.consent if cluster is not None else None
        return states is not None and states.get(claim.namespace) in CLOSED

    def standing(self, now: dt.datetime) -> dict[str, Nomination]:
        """Claims that stand, by uid; those whose time is up, or that are refused, are forgotten."""
        found = {}
        for uid, claim in list(self._claims.items()):
            leaving = self._leaving(claim)
            if self._is_refused(claim):
                del self._claims[uid]
                continue
            if leaving:
                claim.seen = now
            elif now - claim.seen > KEPT_AFTER:
                del self._claims[uid]
                continue
            found[uid] = replace(claim.nomination, leaving=leaving)
        return found
