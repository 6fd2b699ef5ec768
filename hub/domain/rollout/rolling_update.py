"""Clusters of a placement that get its newest version now, by KubeFleet's RollingUpdate. Pure.

    least available = target - maxUnavailable          percents are of the target, rounded up
    may be lost     = ready - leaving - least available
    may be added    = target + maxSurge - given something

One difference: what is known not to be available has nothing to lose. It is changed or taken back whatever
the budget says, so that a version which never becomes available is replaced by the next one; KubeFleet
does so only where the API server refused it.
"""

import datetime as dt
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from shared.documents import JsonView

_QUARTER: Final = "25%"  # of both, and below the period: KubeFleet's defaults
_PERIOD_S: Final = 60


@dataclass(frozen=True, slots=True)
class RollingUpdate:
    """`rollingUpdate` of a strategy: numbers of clusters, or percents of them (`"25%"`).

    `period`: an object whose kind does not report availability counts as ready this long after its apply.
    """

    max_unavailable: int | str = _QUARTER
    max_surge: int | str = _QUARTER
    period: dt.timedelta = dt.timedelta(seconds=_PERIOD_S)

    @classmethod
    def read(cls, strategy: JsonView) -> Self:
        """Of a normalised `spec.strategy`."""
        told = strategy.get("rollingUpdate") or {}
        period_s = told.get("unavailablePeriodSeconds")
        return cls(
            max_unavailable=told.get("maxUnavailable", _QUARTER),
            max_surge=told.get("maxSurge", _QUARTER),
            period=dt.timedelta(seconds=_PERIOD_S if period_s is None else period_s),
        )


@dataclass(frozen=True, slots=True)
class Holding:
    """One cluster of a placement as it stands.

    `wanted`: it is chosen; `given`: something was given to it; `current`: what it would be given now;
    `ready`: all of that is there and available; `untold`: all is there, for less than the period, and some
    kind does not tell; `failed`: some of it could not be applied; `leaving`: all its objects are being
    withdrawn;
    `closed`: the member's people take nothing new.
    """

    cluster: str
    wanted: bool = True
    given: bool = True
    current: bool = True
    ready: bool = True
    untold: bool = False
    failed: bool = False
    leaving: bool = False
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The allowed steps, by cluster, and the held ones. `why`: what it waits for, in words."""

    begin: tuple[str, ...] = ()
    update: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    why: str = ""


def share(of: int | str, target: int) -> int:
    """A number of clusters, or a percent of `target`, rounded up."""
    if isinstance(of, int) or not of.endswith("%"):
        return int(of)
    return math.ceil(int(of.removesuffix("%")) * target / 100)


def next_step(holdings: Iterable[Holding], target: int, budget: RollingUpdate) -> Step:
    """The clusters that begin, change and end now. `target`: how many the policy wants.

    Earlier ones go first; of those that have something to lose, what is taken back before what changes.
    A wanted cluster that is closed keeps what it has and is given nothing. It counts neither as wanted nor as
    unavailable.
    """
    listed = list(holdings)
    every = [each for each in listed if not (each.wanted and each.closed)]
    target = max(0, target - (len(listed) - len(every)))
    ready = [each for each in every if each.given and each.ready]
    leaving = sum(each.leaving for each in ready)
    least = target - share(budget.max_unavailable, target)
    may_lose = max(0, len(ready) - leaving - least)
    given = sum(each.given and not each.failed for each in every)
    may_add = max(0, target + share(budget.max_surge, target) - given)

    staying = [each for each in every if each.given and not each.leaving]
    remove, kept = _spend([each for each in staying if not each.wanted], may_lose)
    may_lose -= sum(each.ready or each.untold for each in remove)
    update, waiting = _spend(
        [each for each in staying if each.wanted and not each.current], may_lose
    )
    coming = [each for each in every if each.wanted and not each.given]
    held = [*kept, *waiting, *coming[may_add:]]
    return Step(
        begin=_names(coming[:may_add]),
        update=_names(update),
        remove=_names(remove),
        held=_names(held),
        why=_why(every, remove, [*update, *coming[:may_add]], target, budget) if held else "",
    )


def _spend(candidates: Sequence[Holding], budget: int) -> tuple[list[Holding], list[Holding]]:
    """Those that may go, and the others: what is known not to be available costs nothing."""
    gone: list[Holding] = []
    kept: list[Holding] = []
    for each in candidates:
        costs = each.ready or each.untold
        if costs and not budget:
            kept.append(each)
            continue
        budget -= costs
        gone.append(each)
    return gone, kept


def _names(holdings: Iterable[Holding]) -> tuple[str, ...]:
    return tuple(each.cluster for each in holdings)


def _why(
    given: Sequence[Holding],
    removed: Sequence[Holding],
    begun: Sequence[Holding],
    target: int,
    budget: RollingUpdate,
) -> str:
    """What those that are held wait for: who is to become available, else who lets go of what it has."""
    going = [each.cluster for each in given if each.given and (each.leaving or each in removed)]
    unready = [e.cluster for e in given if e.given and not e.ready and e.cluster not in going]
    unready += [each.cluster for each in begun if each.cluster not in unready]
    of = f"maxUnavailable {budget.max_unavailable}, maxSurge {budget.max_surge} of {target}"
    if unready:
        return f"{_few(unready)} must become available first ({of})"
    if going:
        return f"{_few(going)} must release it first ({of})"
    if not share(budget.max_unavailable, target):
        return f"no cluster may become unavailable ({of}): raise maxUnavailable"
    return f"others come first ({of})"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
