"""Writing a member off: an administrator says that the cluster is destroyed, and types its name.

A cluster whose agent reported lately is not destroyed: the hub refuses it without a second confirmation.
That word is the evidence that nothing of its jobs runs any more;
nothing else gives jobs back from a cluster that does not answer. In one transaction its agent's
credential ends, its jobs wait again or end as was wished, and the name is free for another cluster.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Final

from hub.domain.workloads.states import State, Transition, WithdrawTo, beyond
from hub.services.access import credentials
from hub.services.index.fleet import state_of
from hub.services.leftovers import left_objects
from hub.services.members import forgotten
from hub.services.objects import left_behind
from hub.services.works import accounted, cluster_loss, restored
from hub.services.works.withdraw import withdraw_jobs
from hub.store import audit, clusters, on_members, workloads, works
from hub.store.records.members import Member
from hub.store.records.workloads import WorkloadMove
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

FENCED: Final = "ClusterFenced"
_HELD: Final = (
    State.PLACED,
    State.OFFERED,
    State.APPLIED,
    State.RUNNING,
    State.UNKNOWN,
    State.WITHDRAWING,
)
# What follows for a job that was on its way to one of these; any other waits again.
_AFTER: Final[Mapping[WithdrawTo, Transition]] = {
    WithdrawTo.CANCELLED: Transition.CANCEL,
    WithdrawTo.DELETED: Transition.CANCEL,
    WithdrawTo.FAILED: Transition.FAIL,
    WithdrawTo.DEACTIVATED: Transition.DEACTIVATE,
    WithdrawTo.HELD: Transition.HOLD,
}

_FOR_ITS_OWNER: Final = (
    "check whether it took effect, then release it (it starts elsewhere) or cancel it"
)


def fence_cluster(
    tx: Transaction,
    name: str,
    confirm: str,
    principal: str,
    suspect_after_s: float,
    *,
    though_it_answers: bool = False,
) -> Json:
    """Give back everything that a destroyed member held: {"name", "released": how many jobs}.

    Raises Rejected: NotFound; ClusterAlive where it answers, unless the caller knows that
    (`though_it_answers`); ConfirmationMismatch where `confirm` is not its name.
    """
    member = clusters.get(tx, name)
    if member is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no cluster {name[:64]}")
    if not though_it_answers:
        _refuse_alive(member, tx.now, suspect_after_s)
    if confirm != name:
        text = "send the cluster's name as `confirm`: its jobs will start elsewhere"
        raise Rejected(RejectCode.CONFIRMATION_MISMATCH, text, "confirm")
    credentials.forget_agent(tx, name)
    left_behind.forget(tx, member.cluster_uid)
    forgotten.destroyed(tx, name)
    left_objects.forget(tx, name)
    clusters.change(
        tx, name, cordoned=True, session="", cluster_uid="", joined_at=None, heartbeat_at=None
    )
    clusters.forget_capacity(tx, name)
    accounted.fence(tx, name)
    released = _release(tx, name, principal)
    works.remove(tx, [(name, uid) for uid in works.uids_of(tx, name)])
    audit.add(tx, principal, "fence", f"MemberCluster {name}")
    text = f"{principal} declared it destroyed: {len(released)} jobs were requeued"
    clusters.say(tx, member, FENCED, text, warning=True)
    return {"name": name, "released": len(released)}


def _refuse_alive(member: Member, now: dt.datetime, suspect_after_s: float) -> None:
    """Raise Rejected ClusterAlive for a cluster that is not known to be silent."""
    heard = member.heartbeat_at
    if heard is None or state_of(member, now, suspect_after_s) not in {"Ready", "Cordoned"}:
        return
    silent_s = max(0, round((now - heard).total_seconds()))
    text = (
        f"{member.name} answers: its agent reported {silent_s} s ago, and its jobs run. Cordon it and "
        "let them end; if you fence it all the same, each of them runs twice"
    )
    raise Rejected(RejectCode.CLUSTER_ALIVE, text, "thoughItAnswers")


def _release(tx: Transaction, name: str, principal: str) -> list[str]:
    """Every job that the cluster may have held, where it would be had its agent said Gone."""
    uids = [each.uid for each in on_members.jobs_on(tx, [name], _HELD)]
    why = f"{principal} declared {name} destroyed"
    withdraw_jobs(tx, uids, WithdrawTo.PENDING, FENCED, why)
    left = [row for row in workloads.get_many(tx, uids).values() if row.state == State.WITHDRAWING]
    doubtful = restored.doubtful(tx, name, uids)
    by_transition: dict[Transition, list[WorkloadMove]] = {}
    for row in left:
        move = WorkloadMove(uid=row.uid, epoch=row.epoch, reason=FENCED, message=why)
        after = _AFTER.get(row.withdraw_to) or cluster_loss.after_fence(row.annotations)
        if after is Transition.HOLD and row.withdraw_to == WithdrawTo.PENDING:
            move["message"] = f"{why}, and {cluster_loss.WAIT} was requested: {_FOR_ITS_OWNER}"
        if row.uid in doubtful:
            move["new_epoch"] = beyond(row.epoch, tx.now)
            if after in {Transition.REQUEUE, Transition.HOLD}:
                after = Transition.HOLD
                move["reason"], move["message"] = restored.REASON, restored.MESSAGE
        by_transition.setdefault(after, []).append(move)
    for transition, moves in by_transition.items():
        if transition is Transition.REQUEUE:
            restored.requeue(tx, moves)
        else:
            workloads.transition(tx, transition, moves)
    return uids
