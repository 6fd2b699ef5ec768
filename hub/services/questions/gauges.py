"""Gauges for Prometheus, computed at each scrape: queues, under Kueue's names, and placements with the
objects that they gave to clusters.

From the store come quota and what is taken of it, from the index who is parked. Unlimited is +Inf, an
amount of cpu in cores, of anything else in base units, as Kueue exports them.
"""

import datetime as dt
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hub.domain.instants import to_micros
from hub.domain.plan import Plan
from hub.domain.queueing.pending import InLine
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.tree import UNLIMITED
from hub.services.index.index import ScheduleIndex
from hub.services.index.reservations import Settlement
from hub.services.questions.rollouts import RUN_STATES, run_state
from hub.services.queues import usage
from hub.services.queues.usage import Counted
from hub.services.works import counters
from hub.store import objects, placements, settled as stored_settled, work_pages
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from hub.store.work_pages import PlacedFigures
from shared.conditions import is_true
from shared.documents import JsonView
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

_OF: Final = ("cluster_queue", "flavor", "resource")
_MICROSECONDS: Final = 1_000_000
MOST_RUNS: Final = 100  # staged update runs that are counted, the newest
MOST_BEHIND: Final = 10_000


@dataclass(frozen=True, slots=True)
class Gauge:
    """One family of samples."""

    name: str
    help: str
    labels: tuple[str, ...]
    samples: list[tuple[tuple[str, ...], float]] = field(default_factory=list)


def waiting(index: ScheduleIndex | None) -> Mapping[str, InLine]:
    """Per ClusterQueue how many are in line and how many are parked; costs what there are queues."""
    if index is None:
        return {}
    found = index.waiting.in_line()
    for local_queue, number in index.held_back.by_local_queue().items():
        local = index.routes.local.get(local_queue)
        if local is not None:
            active, parked = found.get(local.cluster_queue, (0, 0))
            found[local.cluster_queue] = InLine(active, parked + number)
    return found


def gauges(tx: Transaction, lines: Mapping[str, InLine]) -> Sequence[Gauge]:
    """All gauges of ClusterQueues and cohorts; `lines` is the answer of `waiting`."""
    rows = objects.list_kind(tx, KUEUE, "ClusterQueue")
    return made_of(rows, usage.count(tx), lines)


def made_of(
    rows: Sequence[StoredObject], counted: Counted, lines: Mapping[str, InLine]
) -> Sequence[Gauge]:
    """The same of rows that were read."""
    return [
        _pending([row.name for row in rows], lines, counted),
        *_counts([row.name for row in rows], counted),
        *_quotas(counted),
        Gauge(
            "roadstead_cluster_queue_status",
            "1 for the status that the queue has",
            ("cluster_queue", "status"),
            [
                ((row.name, status), float(holds))
                for row in rows
                for status, holds in _status(row.status)
            ],
        ),
        Gauge(
            "roadstead_cohort_weighted_share",
            "Usage of a cohort beyond its own quota, in thousandths",
            ("cohort",),
            [((name,), counted.cohort_share(name)) for name in sorted(counted.tree.cohorts)],
        ),
    ]


def of_placements(tx: Transaction) -> Sequence[Gauge]:
    """Placements, staged update runs, and what stands of them in each cluster."""
    runs: Counter[str] = Counter(run_state(row) for row in placements.list_runs(tx, MOST_RUNS))
    behind = len(placements.behind_newest(tx, MOST_BEHIND))
    return made_of_placements(
        placements.uids(tx),
        stored_settled.unsettled(tx),
        behind,
        runs,
        work_pages.placed_figures(tx),
    )


def made_of_placements(
    uids: Collection[str],
    unsettled: Mapping[str, int],
    behind: int,
    runs: Mapping[str, int],
    placed: Sequence[PlacedFigures],
) -> Sequence[Gauge]:
    """The same of rows that were read."""
    states: Counter[str] = Counter(_state_of(unsettled.get(uid)) for uid in uids)
    drifted: Counter[str] = Counter()
    unavailable: Counter[str] = Counter()
    for each in placed:
        drifted[each.cluster] += each.drifted
        unavailable[each.cluster] += each.unavailable
    of_cluster = ("cluster",)
    return [
        Gauge(
            "roadstead_placements",
            "Placements by state: settled, unsettled or unscheduled",
            ("state",),
            [((state,), states[state]) for state in ("Settled", "Unsettled", "Unscheduled")],
        ),
        Gauge(
            "roadstead_placements_behind",
            "Placements whose newest version some chosen cluster has not received",
            (),
            [((), behind)],
        ),
        Gauge(
            "roadstead_update_runs",
            "The newest staged update runs by state",
            ("state",),
            [((state,), runs.get(state, 0)) for state in RUN_STATES],
        ),
        Gauge(
            "roadstead_placed_objects",
            "Objects that placements gave to a cluster, by the phase that its agent reported",
            ("cluster", "phase"),
            [((each.cluster, each.phase or "Unreported"), each.objects) for each in placed],
        ),
        Gauge(
            "roadstead_unavailable_objects",
            "Those of them that are not available",
            of_cluster,
            [((name,), number) for name, number in sorted(unavailable.items())],
        ),
        Gauge(
            "roadstead_drifted_objects",
            "Those of them with fields that differ from what the hub wants",
            of_cluster,
            [((name,), number) for name, number in sorted(drifted.items())],
        ),
    ]


def _state_of(unsettled: int | None) -> str:
    """Of a placement, by the number of its chosen clusters in which not all is there; None: it chose none."""
    if unsettled is None:
        return "Unscheduled"
    return "Unsettled" if unsettled else "Settled"


def decided(plan: Plan, placed: Collection[str], index: ScheduleIndex, now: dt.datetime) -> None:
    """Count what a plan did that was committed for the workloads `placed`."""
    at = to_micros(now)
    reserved: dict[str, list[float]] = defaultdict(list)
    admitted: dict[str, list[float]] = defaultdict(list)
    for placement in plan.placements:
        entry = index.waiting.entry(placement.uid)
        if entry is not None:
            waited_s = max(0, at - entry.queued_at) / _MICROSECONDS
            reserved[placement.queue].append(waited_s)
            if placement.uid in placed:
                admitted[placement.queue].append(waited_s)
    counters.reserved(reserved)
    counters.admitted(admitted)
    for eviction in plan.evictions:
        lane = index.waiting.find(eviction.by)
        if lane is not None:
            counters.preempted(lane.demand.queue, eviction.cause)


def settled(settlement: Settlement, placed: Collection[str], now: dt.datetime) -> None:
    """Count those of which all admission checks were ready."""
    admitted: dict[str, list[float]] = defaultdict(list)
    for row, _ in settlement.ready:
        if row.uid in placed:
            waited_s = max(0.0, (now - row.queued_at).total_seconds())
            admitted[row.cluster_queue].append(waited_s)
    counters.admitted(admitted)


def _pending(names: Sequence[str], lines: Mapping[str, InLine], counted: Counted) -> Gauge:
    gauge = Gauge(
        "roadstead_pending_workloads",
        "Workloads that wait: active ones are considered, inadmissible ones parked until something changes",
        ("cluster_queue", "status"),
    )
    for name in names:
        active, parked = lines.get(name, (counted.queue(name).pending if not lines else 0, 0))
        gauge.samples.append(((name, "active"), active))
        gauge.samples.append(((name, "inadmissible"), parked))
    return gauge


def _counts(names: Sequence[str], counted: Counted) -> list[Gauge]:
    queue = ("cluster_queue",)
    return [
        Gauge(
            "roadstead_reserving_active_workloads",
            "Workloads that hold quota",
            queue,
            [((name,), counted.queue(name).reserving) for name in names],
        ),
        Gauge(
            "roadstead_admitted_active_workloads",
            "Workloads that hold quota and are admitted",
            queue,
            [((name,), counted.queue(name).admitted) for name in names],
        ),
        Gauge(
            "roadstead_cluster_queue_weighted_share",
            "Usage of a queue beyond its own quota, in thousandths",
            queue,
            [((name,), counted.share(name)) for name in names],
        ),
    ]


def _quotas(counted: Counted) -> list[Gauge]:
    """Quota, its limits, and what is taken of it, per queue, flavor and resource."""
    told = {
        "nominal_quota": "Nominal quota",
        "borrowing_limit": "The most that may be borrowed",
        "lending_limit": "The most that may be lent",
        "resource_reservation": "What is reserved",
        "resource_usage": "Amounts reserved by admitted workloads",
    }
    made = {
        name: Gauge(f"roadstead_cluster_queue_{name}", text, _OF) for name, text in told.items()
    }
    for queue, node in sorted(counted.tree.queues.items()):
        figures = counted.queue(queue)
        for of, quota in node.quotas.items():
            values = {
                "nominal_quota": quota.nominal,
                "borrowing_limit": quota.borrowing_limit,
                "lending_limit": quota.lending_limit,
                "resource_reservation": figures.reservation.get(of, 0),
                "resource_usage": figures.usage.get(of, 0),
            }
            for name, amount in values.items():
                labels = (queue, of.flavor, of.resource)
                made[name].samples.append((labels, _number(of, amount)))
    return list(made.values())


def _number(of: FlavorResource, amount: int | None) -> float:
    if amount is None or amount >= UNLIMITED:
        return math.inf
    return amount / 1000 if of.resource == "cpu" else float(amount)


def _status(stored: JsonView | None) -> list[tuple[str, bool]]:
    active = is_true((stored or {}).get("conditions"), "Active")
    return [("active", active), ("pending", not active)]
