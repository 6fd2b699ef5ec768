"""Admission fair sharing on a live hub: what each LocalQueue has consumed, and what it reserved since.

One row of `usage` per LocalQueue, brought up to date in one transaction per sample by the leader. What
was reserved since the last sample is known from the workloads' own rows: a hub that takes over loses
at most the penalties of those that came and went within one interval.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from hub.domain.instants import stamp
from hub.domain.queueing.lanes import Entry
from hub.domain.quota.declared import Usage
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.usage_history import Ranks, UsageHistory, request_of
from hub.domain.workloads.demand import Demand
from hub.domain.workloads.states import State
from hub.services.context.settings import Queueing
from hub.services.index.catalog import Routes
from hub.store import usage as ledger
from hub.store.transaction import Transaction
from hub.store.usage import Consumed
from shared import quantity
from shared.documents import Json

Held = Mapping[str, Mapping[str, AdmittedWorkload]]  # by queue, then uid
Sample = tuple[list[Consumed], list[tuple[str, str]]]  # rows to write, LocalQueues to forget

_Reservation = tuple[str, Usage, dt.datetime]  # LocalQueue, what, when

_NEVER: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def history_of(given: Queueing) -> UsageHistory | None:
    """Settings of the memory of usage; None where that is off. Raises ValueError for what makes no sense."""
    weights = {}
    for part in filter(None, map(str.strip, given.usage_resource_weights.split(","))):
        resource, _, weight = part.partition("=")
        try:
            weights[resource.strip()] = float(weight)
        except ValueError:
            fault = f"usage_resource_weights: {part!r} is not RESOURCE=NUMBER"
            raise ValueError(fault) from None
    if given.usage_sampling_s <= 0 or given.usage_half_life_s < 0:
        raise ValueError("usage_sampling_s must be above 0, usage_half_life_s not below")
    if given.admission_fair_sharing == "Off":
        return None
    return UsageHistory(given.usage_half_life_s, given.usage_sampling_s, weights)


class Consumption:
    """Ranks of the LocalQueues of ClusterQueues that order by usage. Without history it does nothing."""

    def __init__(self, history: UsageHistory | None, routes: Routes) -> None:
        self.history = history
        self._routes = routes
        self._ranks = Ranks(history or UsageHistory(), {}, {})
        self._by_usage: frozenset[str] = frozenset()  # ClusterQueues
        self._at: dict[str, dt.datetime] = {}  # by LocalQueue: of its last sample
        self._reserved: dict[str, _Reservation] = {}  # since then, by uid
        self._ended: list[_Reservation] = []  # of workloads that were evicted since

    def counts(self, queue: str) -> bool:
        """Is a ClusterQueue's order by usage?"""
        return queue in self._by_usage

    def rank_of(self, demand: Demand, entry: Entry) -> float:
        """Of a waiting workload's LocalQueue: the lower goes first; 0 where history does not count."""
        if demand.queue not in self._by_usage:
            return 0.0
        return self._ranks.values.get(f"{entry.namespace}/{entry.local_queue}", 0.0)

    def ranks(self) -> Ranks | None:
        """Ranks as they are now, for one cycle; None where no queue asks for them."""
        return self._ranks.copy() if self._by_usage else None

    def follow_rules(self) -> None:
        """Queues, their modes or weights changed."""
        if self.history is not None:
            policies = self._routes.queue_policies.items()
            self._by_usage = frozenset(name for name, policy in policies if policy.by_usage)
            self._ranks.weigh(self._weights())

    def _weights(self) -> dict[str, float]:
        return {
            f"{namespace}/{name}": local.weight
            for (namespace, name), local in self._routes.local.items()
            if self.counts(local.cluster_queue)
        }

    # --- what happens to reservations ---------------------------------------------------------

    def reserve(self, holder: AdmittedWorkload | None, at: dt.datetime | None) -> None:
        """A workload holds quota since an instant. Counted once, and not if a sample has seen it."""
        if holder is None or at is None or not self.counts(holder.queue):
            return
        local_queue = f"{holder.namespace}/{holder.local_queue}"
        if holder.uid not in self._reserved and at >= self._at.get(local_queue, _NEVER):
            self._reserved[holder.uid] = (local_queue, holder.usage, at)
            self._ranks.penalise(local_queue, holder.usage)

    def end(self, uid: str) -> None:
        """A workload waits again. What it reserved still counts: else who was preempted would go
        before whom it made room for.
        """
        found = self._reserved.pop(uid, None)
        if found is not None:
            self._ended.append(found)

    def finish(self, uid: str, state: str) -> None:
        """A workload is in this state now: one that was cancelled leaves no penalty."""
        if state == State.CANCELLED:
            self.forgive(uid)

    def forgive(self, uid: str) -> None:
        """A workload is deleted: what it reserved does not count."""
        found = self._reserved.pop(uid, None)
        if found is not None:
            self._ranks.forgive(*found[:2])

    # --- sampling -----------------------------------------------------------------------------

    def due(self, now: dt.datetime) -> bool:
        """Is it time for a sample?"""
        if self.history is None or not self._by_usage:
            return False
        last = max(self._at.values(), default=_NEVER)
        return (now - last).total_seconds() >= self.history.sampling

    def sample(self, held: Held, now: dt.datetime) -> Sample:
        """Consumption as of now, for every LocalQueue that there is; others are forgotten.

        Quota counts from its reservation on, also while checks are open, as in Kueue 0.20.
        """
        current: dict[str, dict[str, float]] = defaultdict(dict)
        known: dict[int, dict[str, float]] = {}  # by usage: equal workloads share one
        for queue, holders in held.items():
            if self.counts(queue):
                for holder in holders.values():
                    amounts = known.setdefault(id(holder.usage), {}) or request_of(holder.usage)
                    known[id(holder.usage)] = amounts
                    total = current[f"{holder.namespace}/{holder.local_queue}"]
                    for resource, amount in amounts.items():
                        total[resource] = total.get(resource, 0.0) + amount
        elapsed = {local_queue: (now - at).total_seconds() for local_queue, at in self._at.items()}
        sampled = self._ranks.sampled(current, elapsed)
        local_queues = self._weights()
        rows = [
            Consumed(*_split(local_queue), sampled.get(local_queue, {}), now)
            for local_queue in sorted(local_queues)
        ]
        return rows, [
            _split(local_queue) for local_queue in sorted(self._at.keys() - local_queues.keys())
        ]

    def read(self, rows: Iterable[Consumed]) -> None:
        """What the last sample says of every LocalQueue; penalties that it has seen are settled."""
        listed, before = list(rows), self._at
        self._at = {f"{r.namespace}/{r.queue}": r.at for r in listed}
        self._ranks.consume({f"{r.namespace}/{r.queue}": r.amounts for r in listed})

        def is_settled(reservation: _Reservation) -> bool:
            local_queue, _, at = reservation
            seen = before.get(local_queue) != self._at.get(local_queue, _NEVER) >= at
            return seen or _split(local_queue) not in self._routes.local

        settled = [r for r in (*self._reserved.values(), *self._ended) if is_settled(r)]
        self._reserved = {u: r for u, r in self._reserved.items() if not is_settled(r)}
        self._ended = [r for r in self._ended if not is_settled(r)]
        for local_queue, usage, _ in settled:
            self._ranks.forgive(local_queue, usage)


def store(tx: Transaction, sample: Sample, term: int) -> None:
    """Write a sample. Raises StaleTerm if another leads by now."""
    tx.require_term(term)
    rows, gone = sample
    ledger.drop(tx, gone)
    ledger.put(tx, rows)


def fair_sharing_of(tx: Transaction) -> dict[tuple[str, str], Json]:
    """`status.fairSharing.admissionFairSharingStatus` of each LocalQueue, by namespace and name.

    `consumedResources` are canonical quantities, `lastUpdate` the time of the sample.
    """
    return {
        (row.namespace, row.queue): {
            "consumedResources": {
                resource: _text(resource, amount)
                for resource, amount in sorted(row.amounts.items())
            },
            "lastUpdate": stamp(row.at),
        }
        for row in ledger.every(tx)
    }


def _text(resource: str, amount: float) -> str:
    exact = round(amount * 1000) if resource == "cpu" else round(amount)
    return quantity.canonical(resource, exact)


def _split(local_queue: str) -> tuple[str, str]:
    namespace, _, name = local_queue.partition("/")
    return namespace, name
