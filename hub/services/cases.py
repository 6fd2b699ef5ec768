"""A waiting workload's case: everything the engine needs to be asked about it, apart from the index.

Taken in the event loop in one go, so that it is one consistent picture; studied in a thread.
"""

import datetime as dt
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from hub.domain.bench import Bench, Stand
from hub.domain.flavors import Market
from hub.domain.forecast import Forecast, Runtimes, forecast
from hub.domain.nomination import Nominee
from hub.domain.placement import registry
from hub.domain.queueing import Lane
from hub.domain.quota import ClusterQueue
from hub.domain.remedy import Remedy
from hub.domain.snapshot import Profile, Snapshot
from hub.domain.standing import Contender
from hub.domain.whatif import by_flavor, remedies
from hub.services.limits import Limits
from hub.services.queueing_rules import rules_of
from hub.services.schedule_index import ScheduleIndex

STUDY_S: Final = 0.4  # for what would change it, and as long again for the forecast
MOST_WAITING: Final = 20_000  # workloads of the tree that a forecast plays with


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One workload on a snapshot that is its own. `whole`: all who wait in its tree are there."""

    uid: str
    snapshot: Snapshot
    who: Contender
    now: dt.datetime
    profile: Profile
    whole: bool

    def concerned(self) -> list[str]:
        """Uids of all whose runtime may matter: who holds quota of its tree, and who waits in it."""
        tree = [queue.name for queue, lanes in self.snapshot.queues if lanes is not _ASIDE]
        holding = (self.snapshot.holders.get(name, {}) for name in tree)
        waiting = (lane.entries for _, lanes in self.snapshot.queues for lane in lanes)
        return [
            *itertools.chain.from_iterable(holding),
            *(entry.uid for entries in waiting for entry in entries),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What the engine answered."""

    remedies: list[Remedy]
    flavors: list[tuple[str, Nominee]]
    fleet: list[Stand]
    forecast: Forecast
    complete: bool  # False: there was no time for every question


_ASIDE: Final[list[Lane]] = []  # lanes of queues outside the tree: they take no part


def case_of(index: ScheduleIndex, uid: str, limits: Limits, now: dt.datetime) -> Case | None:
    """The case of a workload in line; None if it is not."""
    lane, entry = index.waiting.find(uid), index.waiting.entry(uid)
    tree = index.ledger.tree
    if lane is None or entry is None or lane.demand.queue not in tree.queues:
        return None
    demand, routes = lane.demand, index.routes
    root = tree.queues[demand.queue].root()
    members = {root.name} if root.is_queue else {node.name for node in root.queues()}
    queues: list[tuple[ClusterQueue, list[Lane]]] = []
    left, whole = MOST_WAITING, True
    for name, queue in sorted(routes.queues.items()):
        lanes = _ASIDE
        if name in members:
            lanes = []
            for each in index.waiting.lanes(name):
                entries = list(each.first(left))
                left -= len(entries)
                whole &= len(entries) == len(each)
                lanes.append(Lane(each.demand, entries))
        queues.append((queue, lanes))
    snapshot = Snapshot(
        queues,
        index.ledger.copy(),
        Market(dict(routes.flavors), index.keys.since),
        dict(index.members.clusters),
        index.members.room.copy(),
        dict(routes.queue_policies),
        {name: dict(held) for name, held in index.holders.items()},
        index.claims.present(),
        dict(routes.namespaces),
        index.consumption.ranks(),
    )
    who = Contender(
        uid=uid, namespace=entry.namespace, name="", queue=demand.queue,
        pod_sets=demand.pod_sets, priority=demand.priority, queued_at=entry.queued_at,
        local_queue=entry.local_queue, demand=demand, epoch=entry.epoch,
    )  # fmt: skip
    profile = Profile(
        rules=rules_of(limits.queueing, now),
        filters=registry.filters(limits.scheduling.suspect_after_s),
    )
    return Case(uid, snapshot, who, now, profile, whole)


def study(case: Case, runtimes: Runtimes, monotonic: Callable[[], float]) -> Findings:
    """Ask the engine; takes at most about twice `STUDY_S`."""
    until = monotonic() + STUDY_S
    bench = Bench(
        case.snapshot, case.who, case.now, case.profile, may_go_on=lambda: monotonic() < until
    )
    found = remedies(bench, runtimes.ends)
    fleet = bench.fleet(bench.ask())
    flavors = list(by_flavor(bench)) if bench.may_ask else []
    complete = bench.may_ask
    if not case.whole:
        foreseen = Forecast(None, f"more than {MOST_WAITING} workloads wait in its queues")
        return Findings(found, flavors, fleet, foreseen, complete)
    end = monotonic() + STUDY_S
    profile = replace(case.profile, may_go_on=lambda _: monotonic() < end)
    picture = replace(
        case.snapshot, queues=[(q, lanes) for q, lanes in case.snapshot.queues if lanes]
    )
    foreseen = forecast(picture, case.uid, runtimes, case.now, profile, lambda: monotonic() < end)
    return Findings(found, flavors, fleet, foreseen, complete)
