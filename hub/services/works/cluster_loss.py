"""Jobs of a lost cluster, handled as their annotation `roadstead.dev/on-cluster-loss` asks.

Nothing is started elsewhere while the cluster may still run it, save where the job itself allows that:
`RescheduleAfter(d)`. Its epoch is then superseded: it waits again and is placed anew, and the cluster that
is lost keeps the order to withdraw what it may hold. The rules and their proofs:
docs/explain/exactly-once.md, rules 18 and 19.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from hub.domain.instants import stamp
from hub.domain.workloads.states import ON_CLUSTER, State, Transition
from hub.services.works import restored
from hub.services.works.avoiding import SET_ASIDE, set_aside
from hub.services.works.evict import evict
from hub.store import clusters, on_members, works
from hub.store.records.workloads import LostJob, Workload, WorkloadMove
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared import labels as keys
from shared.documents import Json
from shared.kinds.user_annotations import loss_policy

LOSS: Final = f"{keys.PREFIX}on-cluster-loss"
LOST: Final = "ClusterLost"
WAIT: Final = "Wait"
FENCED: Final = "RescheduleWhenFenced"
AFTER: Final = "RescheduleAfter"
MOST_AT_ONCE: Final = 1000  # jobs that one transaction moves


class LossPolicy(NamedTuple):
    """What a job asks for: one of the names above, `text` as it was written; `after_s` of RescheduleAfter."""

    name: str
    after_s: int | None
    text: str


_BOUND: Final = (
    "an earlier epoch may still run in {where}: until that has answered or is written off, the job starts "
    "nowhere else"
)
_UNSAID: Final = LossPolicy(FENCED, None, "")


def policy_of(annotations: Mapping[str, str] | None) -> LossPolicy:
    """The policy of a job; one that says nothing waits, and goes elsewhere when its cluster is fenced."""
    text = (annotations or {}).get(LOSS, "")
    found = loss_policy(text) if text else None
    return _UNSAID if found is None else LossPolicy(*found, text)


def due(
    tx: Transaction, silent: Mapping[str, dt.datetime]
) -> tuple[list[LostJob], dt.datetime | None]:
    """Jobs of lost clusters that are to start elsewhere now, and when the next one is; None: none will.

    `silent`: since when each is counted as silent. One statement, whatever the number of jobs. A job of
    which an earlier epoch is still unaccounted for in another cluster waits: never a third.
    """
    found: list[LostJob] = []
    soonest: dt.datetime | None = None
    for row in on_members.lost_jobs(tx, silent):
        after_s = policy_of(row.annotations).after_s
        if after_s is None:
            continue
        at = silent[row.cluster] + dt.timedelta(seconds=after_s)
        if at <= tx.now:
            found.append(row)
        elif soonest is None or at < soonest:
            soonest = at
    return found[:MOST_AT_ONCE], tx.now if len(found) > MOST_AT_ONCE else soonest


def move_lost(tx: Transaction, silent: Mapping[str, dt.datetime], term: int) -> int:
    """Have jobs wait again that allow it by now; how many. Raises StaleTerm.

    Their works stay where they are, as orders to withdraw: whatever is told of these epochs from now on
    moves nothing. What is doubtful since a restore goes nowhere by itself.
    """
    tx.require_term(term)
    alike: dict[tuple[str, str], list[LostJob]] = {}
    for row in due(tx, silent)[0]:
        alike.setdefault((row.cluster, policy_of(row.annotations).text), []).append(row)
    moved = 0
    for (cluster, text), rows in alike.items():
        doubtful = restored.doubtful(tx, cluster, [row.uid for row in rows])
        moved += _supersede(
            tx, cluster, text, [row for row in rows if row.uid not in doubtful], silent[cluster]
        )
    return moved


def _supersede(
    tx: Transaction, cluster: str, text: str, rows: Sequence[LostJob], since: dt.datetime
) -> int:
    why = (
        f"{cluster} has not been heard since {_seconds(since)}: as {text} allows, the job starts elsewhere, "
        f"and {cluster} is to withdraw what it still runs of it"
    )
    aside = {
        row.uid: {"set_aside": set_aside(row.set_aside, cluster, tx.now, SET_ASIDE)}
        for row in rows
    }
    evict(tx, [row.uid for row in rows], LOST, why, also=aside)  # type: ignore[arg-type]  # of rows
    again = [WorkloadMove(uid=row.uid, epoch=row.epoch, reason=LOST, message=why) for row in rows]
    return len(restored.requeue(tx, again))


def after_fence(annotations: Mapping[str, str] | None) -> Transition:
    """What a fence makes of a job that nobody wished anything of: it waits again, or for a person."""
    held = policy_of(annotations).name == WAIT
    return Transition.HOLD if held else Transition.REQUEUE


def words(annotations: Mapping[str, str] | None, cluster: str, since: dt.datetime | None) -> str:
    """What can become of a job while its cluster is silent."""
    policy = policy_of(annotations)
    fence = f"roadstead clusters fence {cluster} --destroyed"
    if policy.after_s is not None:
        at = f"not before {_seconds(since + _span(policy))}" if since else f"after {policy.text}"
        return f"it starts elsewhere {at} ({policy.text}), or when the cluster is written off"
    if policy.name == WAIT:
        return f"if the cluster is written off ({fence}), the job is held for its owner ({WAIT})"
    return f"it starts elsewhere when the cluster is written off ({fence})"


def _span(policy: LossPolicy) -> dt.timedelta:
    return dt.timedelta(seconds=policy.after_s or 0)


def _seconds(instant: dt.datetime) -> str:
    return stamp(instant.replace(microsecond=0)) or ""


# --- what people are shown -----------------------------------------------------------------------


def view(tx: Transaction, row: Workload) -> Json:
    """{"clusterLoss", "earlierEpochs"} of one job: what its cluster's silence means, what may run besides."""
    held = works.of_uids(tx, [row.uid]) if row.epoch else []
    elsewhere = [work for work in held if is_superseded(row, work)]
    return {
        "clusterLoss": _loss(tx, row, elsewhere) if row.state == State.UNKNOWN else None,
        "earlierEpochs": [_earlier(tx, work) for work in elsewhere],
    }


def is_superseded(row: Workload, work: Work) -> bool:
    """Whether a work is of an epoch that was left behind in a lost cluster."""
    if work.epoch == 0 or work.action != "Withdraw":
        return False
    return work.epoch != row.epoch or (work.cluster != row.cluster and row.state not in ON_CLUSTER)


def _loss(tx: Transaction, row: Workload, elsewhere: Sequence[Work]) -> Json:
    policy = policy_of(row.annotations)
    member = clusters.get(tx, row.cluster)
    heard = None if member is None else member.heartbeat_at
    choices = [words(row.annotations, row.cluster, heard)]
    moves = policy.after_s is not None and heard is not None
    if elsewhere:
        moves = False
        where = ", ".join(sorted({work.cluster for work in elsewhere}))
        choices = [_BOUND.format(where=where)]
    choices.append("roadstead jobs cancel ends it once its cluster answers or is written off")
    if policy.after_s is None:
        choices.append(f"annotation {LOSS}: RescheduleAfter(d) has it start elsewhere after d")
    return {
        "cluster": row.cluster,
        "policy": policy.text or FENCED,
        "heardAt": stamp(heard),
        "movesNotBefore": stamp(heard + _span(policy)) if moves and heard else None,
        "choices": choices,
    }


def _earlier(tx: Transaction, work: Work) -> Json:
    member = clusters.get(tx, work.cluster)
    observed = work.observed or {}
    return {
        "cluster": work.cluster,
        "epoch": work.epoch,
        "overlapped": bool(observed.get("overlap")),
        "active": int((observed.get("job") or {}).get("active") or 0),
        "said": work.phase,
        "observedAt": stamp(work.observed_at),
        "clusterHeardAt": stamp(None if member is None else member.heartbeat_at),
    }


def beside(rows: Mapping[str, Workload], held: Sequence[Work]) -> dict[str, str]:
    """By uid of a job, what is known to have run besides its present epoch, in words."""
    told: dict[str, str] = {}
    for work in held:
        row = rows.get(work.uid)
        if row is not None and (work.observed or {}).get("overlap") and is_superseded(row, work):
            told[row.uid] = (
                f"epoch {work.epoch} in {work.cluster} ran beside epoch {row.epoch}, as {LOSS} allows; "
                f"{work.cluster} is to withdraw it"
            )
    return told
