"""Why a class waits, with who is ahead of it and the figures of quota as they are when it is asked.

A cycle finds the reason and does not look again before something that may change it has happened;
meanwhile others come and go, and quota that does not suffice is used more or less.
"""

from dataclasses import replace

from hub.domain.admission.flavor_assigner import shortage
from hub.domain.plan import Reason, Refusal
from hub.domain.queueing.pending import Waiting, WaitingLane
from hub.domain.quota.tree import QuotaTree
from hub.services.index.index import ScheduleIndex


def refusal_of(index: ScheduleIndex, lane: WaitingLane) -> Refusal | None:
    """What the last cycle refused a class for; None where none has looked at it yet."""
    refusal = lane.refusal
    if refusal is None:
        return None
    if refusal.reason is Reason.BEHIND_HEAD:
        return _behind_who_is_ahead(refusal, index.waiting, lane)
    return with_figures(refusal, index.ledger.tree)


def _behind_who_is_ahead(refusal: Refusal, waiting: Waiting, lane: WaitingLane) -> Refusal:
    """Whoever was ahead may wait no longer: then it is the present head, if that is of another class."""
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
