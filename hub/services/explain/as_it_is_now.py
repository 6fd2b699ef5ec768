"""Waiting workloads as the index has them now: copied in the event loop, readable from any thread.

A cycle finds a reason and does not look again before something that may change it has happened; meanwhile
others come and go, and quota that does not suffice is used more or less. So the reason is shown with the
jobs ahead and the present figures of quota. Readers in threads get these copies: only the event
loop, which changes the index, reads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hub.domain.admission.shortages import shortage
from hub.domain.plan import Reason, Refusal
from hub.domain.preemption.search import Contest
from hub.domain.queueing.pending import Waiting, WaitingLane
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, QuotaState
from hub.domain.quota.tree import QuotaTree
from hub.services.index.held_back import HeldBack
from hub.services.index.index import ScheduleIndex
from hub.services.queues import quota_tree
from shared.documents import Json


@dataclass(frozen=True, slots=True)
class Position:
    """A place, from 1, in its ClusterQueue and among all that wait, and how many each has."""

    in_queue: int
    of_queue: int
    overall: int
    of_overall: int


@dataclass(frozen=True, slots=True)
class WaitingView:
    """One workload that waits.

    `held`: why it can not be considered at all; then nothing else is known of it. `demand`: the key of its
    class. `nominated`: it waits for those it preempts. `refusal`: why its class waits; None where no cycle
    has looked at it yet.
    """

    held: HeldBack | None = None
    queue: str = ""
    demand: str = ""
    position: Position | None = None
    nominated: bool = False
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True, eq=False)
class QuotaView:
    """The sources of quota of one waiting workload: its tree, and the holders of its quota.

    `contest`: None where quota is not what it lacks.
    """

    queue: str
    tree: QuotaTree
    contest: Contest | None


def waiting_view(index: ScheduleIndex | None, uid: str) -> WaitingView | None:
    """A workload as it waits now; None where it does not. In the event loop."""
    if index is None:
        return None
    held = index.held_back.get(uid)
    if held is not None:
        return WaitingView(held)
    lane = index.waiting.find(uid)
    if lane is None:
        return None
    queue = lane.demand.queue
    place = index.waiting.position(uid)
    return WaitingView(
        queue=queue,
        demand=lane.demand.key,
        position=None
        if place is None
        else Position(place[0], index.waiting.count(queue), place[1], len(index.waiting)),
        nominated=uid in index.claims,
        refusal=refusal_of(index, lane),
    )


def stopped_queue(index: ScheduleIndex, namespace: str, queue: str) -> Json:
    """Reason and message of a stopped queue; {} where the index knows of none. In the event loop.

    Of a pending job that the index has yet to read: its row gives the reason of its eviction.
    """
    route = index.routes.route(namespace, queue, placed=True)
    if route.reason != Reason.QUEUE_STOPPED:
        return {}  # an index that is not read yet knows no queue at all
    return {"reason": route.reason, "message": route.message}


def quota_view(index: ScheduleIndex | None, uid: str) -> QuotaView | None:
    """The quota of a workload that waits; None where it does not. In the event loop."""
    lane = None if index is None else index.waiting.find(uid)
    if index is None or lane is None:
        return None
    tree = index.ledger.copy().tree
    return QuotaView(lane.demand.queue, tree, _contest(index, lane, tree))


def _contest(index: ScheduleIndex, lane: WaitingLane, tree: QuotaTree) -> Contest | None:
    """The candidates of preemption for the head of a lane that lacks quota."""
    refusal, queue = lane.refusal, lane.demand.queue
    if refusal is None or not refusal.shortages or queue not in tree.queues:
        return None
    root = tree.queues[queue].root()
    held: Mapping[str, Mapping[str, AdmittedWorkload]] = {
        node.name: dict(index.holders.get(node.name, {}))
        for node in ([root] if root.is_queue else root.queues())
    }
    ranks = index.consumption.ranks()
    routes = index.routes
    quota_state = QuotaState(
        tree, dict(routes.queues), dict(routes.queue_policies),
        ranks=dict(ranks.values) if ranks else None, held=held, inactive=routes.idle_queues(),
    )  # fmt: skip
    entry = lane.first(1)[0]
    who = PendingWorkload(
        entry.uid, entry.namespace, "", queue, lane.demand.pod_sets,
        lane.demand.priority, entry.queued_at,
    )  # fmt: skip
    contested = frozenset(s.of for s in refusal.shortages)
    return Contest(quota_state, who, {}, contested, index.limits)


def refusal_of(index: ScheduleIndex, lane: WaitingLane) -> Refusal | None:
    """The last cycle's reason against a class; None where none has looked at it yet."""
    refusal = lane.refusal
    if refusal is None:
        return None
    if refusal.reason is Reason.BEHIND_HEAD:
        return _behind_who_is_ahead(refusal, index.waiting, lane)
    return with_figures(refusal, index.ledger.tree)


def _behind_who_is_ahead(refusal: Refusal, waiting: Waiting, lane: WaitingLane) -> Refusal:
    """The job that was ahead may no longer wait: then it is the present head, if that is of another class."""
    if refusal.head in waiting:
        return refusal
    head = waiting.head(refusal.queue)
    uid = "" if head is None or head is lane else head.first(1)[0].uid
    return replace(refusal, head=uid)


def with_figures(refusal: Refusal, tree: QuotaTree) -> Refusal:
    """The same refusal with the figures of `tree`, in its fields and in its sentence."""
    node = tree.queues.get(refusal.queue)
    if node is None or not refusal.shortages:
        return refusal
    message, shortages = refusal.message, []
    for before in refusal.shortages:
        now = shortage(tree, node, before.of, before.asked)
        message = message.replace(str(before), str(now))
        shortages.append(now)
    return replace(refusal, message=message, shortages=tuple(shortages))


def quota_now(index: ScheduleIndex | None, queue: str) -> list[Json]:
    """What a ClusterQueue has of all that it may use, as it is now; [] where it is not known."""
    tree = None if index is None else index.ledger.tree
    node = None if tree is None else tree.queues.get(queue)
    if tree is None or node is None:
        return []
    return [quota_tree.quota_view(tree, node, of) for of in node.quotas]
