"""Claims: workloads that wait for those they displace, each with the room of one cluster kept for it.

Read from `workloads.nomination`. A claim stands while anybody who was told to go is still charged, and
for a while after, so that the cluster can report what became free.
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

KEPT_AFTER: Final = dt.timedelta(minutes=5)


class _Claim:
    __slots__ = ("nomination", "seen", "victims")

    def __init__(self, nomination: Nomination, victims: frozenset[str], seen: dt.datetime) -> None:
        self.nomination = nomination
        self.victims = victims
        self.seen = seen  # when one of them was last known to be there


class Claims:
    """All claims by uid of the nominee."""

    def __init__(self, charges: Charges) -> None:
        self._charges = charges
        self._claims: dict[str, _Claim] = {}

    def __contains__(self, uid: object) -> bool:
        return uid in self._claims

    def __len__(self) -> int:
        return len(self._claims)

    def __iter__(self) -> Iterator[str]:
        return iter(self._claims)

    def read(self, row: SchedulingRow) -> None:
        """What the row of a waiting workload says."""
        if row.nomination is None:
            self._claims.pop(row.uid, None)
            return
        told = orjson.loads(row.nomination)
        if not told:
            self._claims.pop(row.uid, None)
            return
        pods = self._charges.pods_of(row.shape, told.get("admission") or {})
        if len(pods) == 1 and not (told.get("admission") or {}).get("reduced"):
            pods = ((*pods[0][:2], row.parallelism),)
        nomination = Nomination(told["cluster"], pods)
        seen = dt.datetime.fromisoformat(told["at"])
        self._claims[row.uid] = _Claim(nomination, frozenset(told["victims"]), seen)

    def drop(self, uid: str) -> bool:
        """It waits no longer; True if room was kept for it."""
        return self._claims.pop(uid, None) is not None

    def present(self) -> dict[str, Nomination]:
        """All claims by uid, as they are."""
        return {
            uid: replace(claim.nomination, leaving=self._leaving(claim))
            for uid, claim in self._claims.items()
        }

    def _leaving(self, claim: _Claim) -> tuple[AdmittedWorkload, ...]:
        there = (self._charges.holder(victim) for victim in sorted(claim.victims))
        return tuple(holder for holder in there if holder is not None and holder.evicted)

    def standing(self, now: dt.datetime) -> dict[str, Nomination]:
        """Claims that stand, by uid; those whose time is up are forgotten."""
        found = {}
        for uid, claim in list(self._claims.items()):
            leaving = self._leaving(claim)
            if leaving:
                claim.seen = now
            elif now - claim.seen > KEPT_AFTER:
                del self._claims[uid]
                continue
            found[uid] = replace(claim.nomination, leaving=leaving)
        return found
