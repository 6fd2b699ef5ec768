"""A waiting workload's case: everything the engine needs to study it, detached from the index.

Taken in the event loop in one go, so that it is one consistent picture; studied in a thread.
"""

import datetime as dt
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.admission.nomination import Nominee
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.placement import registry
from hub.domain.placement.cluster_search import Survey
from hub.domain.placement.never_fits import why_never
from hub.domain.queueing.lanes import Lane
from hub.domain.queueing.pending import WaitingLane
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.holders import PendingWorkload
from hub.domain.whatif.forecast import TOO_MUCH, Forecast, Runtimes, forecast
from hub.domain.whatif.remedies import by_flavor, remedies
from hub.domain.whatif.remedy import Remedy
from hub.domain.whatif.trial import Stand, Trial
from hub.services.context.rules import rules_of
from hub.services.context.settings import Settings
from hub.services.index.index import ScheduleIndex

STUDY_S: Final = 0.3  # for what would change it, and as long again for the forecast
# Workloads in a forecast: of its own lane all before it, of others the first.
BEFORE_IT: Final = 1000
MOST_WAITING: Final = 3000
MOST_HOLDING: Final = 4000  # whose runtimes are looked up


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One workload on a snapshot that is its own, with those of its tree who wait before it.

    `short`: demands of which more wait than are there. `too_far`: it is not among them itself.
    """

    uid: str
    snapshot: Snapshot
    who: PendingWorkload
    now: dt.datetime
    profile: Profile
    short: frozenset[str]
    too_far: bool

    def concerned(self) -> list[str]:
        """Uids of all whose runtime may matter: who holds quota of its tree, and who waits in it."""
        tree = [queue.name for queue, lanes in self.snapshot.queues if lanes is not _ASIDE]
        tree.sort(key=lambda name: name != self.who.queue)
        holding = itertools.chain.from_iterable(self.snapshot.holders.get(n, {}) for n in tree)
        waiting = (lane.entries for _, lanes in self.snapshot.queues for lane in lanes)
        return [
            *itertools.islice(holding, MOST_HOLDING),
            *(entry.uid for entries in waiting for entry in entries),
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The engine's answer."""

    remedies: list[Remedy]
    flavors: list[tuple[str, Nominee]]
    fleet: list[Stand]
    forecast: Forecast
    complete: bool  # False: there was no time for every question
    survey: Survey | None = None  # of every cluster, quota aside; None if not requested
    never: str = ""  # why no member could ever hold it, quota aside


_ASIDE: Final[list[Lane]] = []  # lanes of queues outside the tree: they take no part


def case_of(index: ScheduleIndex, uid: str, settings: Settings, now: dt.datetime) -> Case | None:
    """The case of a workload in line; None if it is not."""
    lane, entry = index.waiting.find(uid), index.waiting.entry(uid)
    tree = index.ledger.tree
    if lane is None or entry is None or lane.demand.queue not in tree.queues:
        return None
    demand = lane.demand
    root = tree.queues[demand.queue].root()
    members = {root.name} if root.is_queue else {node.name for node in root.queues()}
    lanes = sum(1 for name in members for _ in index.waiting.lanes(name))
    line = _Line(lane, lane.rank(entry) + 1, lanes)
    queues: list[tuple[ClusterQueue, list[Lane]]] = [
        (queue, line.of(index.waiting.lanes(name)) if name in members else _ASIDE)
        for name, queue in sorted(
            index.routes.queues.items(), key=lambda each: each[0] != demand.queue
        )
    ]
    snapshot = snapshot_of(index, queues, now)
    who = PendingWorkload(
        uid=uid, namespace=entry.namespace, name="", queue=demand.queue,
        pod_sets=demand.pod_sets, priority=demand.priority, queued_at=entry.queued_at,
        local_queue=entry.local_queue, demand=demand, epoch=entry.epoch,
    )  # fmt: skip
    short = frozenset(line.short)
    return Case(uid, snapshot, who, now, profile_of(settings, now), short, line.too_far)


def snapshot_of(
    index: ScheduleIndex, queues: list[tuple[ClusterQueue, list[Lane]]], now: dt.datetime
) -> Snapshot:
    """The index as it is now, with these lines of who waits."""
    routes = index.routes
    return Snapshot(
        queues,
        index.ledger.copy(),
        FlavorCatalog(dict(routes.flavors), index.keys.since),
        dict(index.members.clusters),
        index.members.lend_room(),
        dict(routes.queue_policies),
        index.lend_holders(),
        index.claims.present(),
        dict(routes.namespaces),
        index.consumption.ranks(),
        index.routes.idle_queues(),
        index.starts(now),
        index.claims.preempted(),
    )


def profile_of(settings: Settings, now: dt.datetime) -> Profile:
    """The rules of the query."""
    return Profile(
        rules=rules_of(settings.queueing, now),
        filters=registry.filters(settings.scheduling.suspect_after_s),
    )


class _Line:
    """Those who wait, as far as a forecast plays with them; its own lane up to itself."""

    def __init__(self, own: WaitingLane, up_to: int, lanes: int) -> None:
        self._own = own
        self._up_to = up_to
        self._of_a_lane = (MOST_WAITING - min(up_to, BEFORE_IT)) // lanes
        self.too_far = up_to > BEFORE_IT or not self._of_a_lane
        self.short: set[str] = set()

    def of(self, lanes: Iterable[WaitingLane]) -> list[Lane]:
        """The first of each lane of one queue."""
        found: list[Lane] = []
        if self.too_far:
            return found
        for lane in lanes:
            limit = self._up_to if lane is self._own else self._of_a_lane
            found.append(Lane(lane.demand, list(lane.first(limit))))
            if limit < len(lane) and lane is not self._own:
                self.short.add(lane.demand.key)
        return found


def study(
    case: Case, runtimes: Runtimes, monotonic: Callable[[], float], *, surveyed: bool = False
) -> Findings:
    """Ask the engine; takes at most about twice `STUDY_S`. `surveyed`: how every cluster stands, too."""
    until = monotonic() + STUDY_S
    trial = Trial(
        case.snapshot, case.who, case.now, case.profile, may_go_on=lambda: monotonic() < until
    )
    found = remedies(trial, runtimes.ends)
    as_it_is = trial.ask()
    fleet = trial.fleet(as_it_is)
    demand = case.who.demand
    wanted = surveyed and demand is not None and not demand.quota_only
    survey = trial.survey(as_it_is) if wanted else None
    flavors = list(by_flavor(trial)) if trial.may_ask else []
    complete = trial.may_ask
    never = _why_never(case)
    if case.too_far:
        foreseen = Forecast(None, TOO_MUCH)
        return Findings(found, flavors, fleet, foreseen, complete, survey, never)
    end = monotonic() + STUDY_S
    profile = replace(case.profile, may_go_on=lambda _: monotonic() < end)
    picture = replace(
        case.snapshot, queues=[(q, lanes) for q, lanes in case.snapshot.queues if lanes]
    )
    foreseen = forecast(
        picture, case.uid, runtimes, case.now, profile, lambda: monotonic() < end, case.short
    )
    return Findings(found, flavors, fleet, foreseen, complete, survey, never)


def _why_never(case: Case) -> str:
    """Also of one that waits for quota: what it waits for would not start it."""
    demand, layout = case.who.demand, case.snapshot.room.layout
    if demand is None or demand.quota_only:
        return ""
    clusters = {n: c for n, c in case.snapshot.clusters.items() if n in layout.position}
    ask = case.snapshot.catalog.ask_widely
    asks = [ask(p)._replace(growing=layout.sites is not None) for p in demand.pod_sets]
    return why_never(demand.pod_sets, asks, demand.constraints, clusters, layout)
