"""A member leaves and is emptied: everything placed there is withdrawn, then it is removed.

Until that is done its MemberCluster is being deleted: it gets no new work, and placements leave it out,
those that name it too. Who says nothing for long is forgotten as it is; what it holds is remembered.
"""

import datetime as dt
from typing import Final

from hub.domain.rollout.disruption import EvictionVerdict
from hub.services.leftovers import left_objects
from hub.services.objects import effects, evictions
from hub.services.objects.evictions import Evictable
from hub.services.placements.bindings import FOR_A_JOB
from hub.services.works import accounted
from hub.store import clusters, jobs, objects, placements, works
from hub.store.records.members import Member
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.groups import CLUSTER

KIND: Final = "MemberCluster"
CLEAN: Final = "Delete"  # propagationPolicy of spec.deleteOptions; Abandon is the default
FORCED_AFTER: Final = dt.timedelta(minutes=15)  # of silence, as in KubeFleet
_ANYWAY: Final = EvictionVerdict(True, True, "")


def cleans_up(row: StoredObject, asked: str) -> bool:
    """True if a member must be emptied before it is removed; `asked` "": what its spec says."""
    if row.api_group != CLUSTER or row.kind != KIND:
        return False
    options = (row.spec or {}).get("deleteOptions") or {}
    return (asked or options.get("propagationPolicy")) == CLEAN


def begin(tx: Transaction, row: StoredObject, principal: str) -> None:
    """Take back what placements have there, whatever their budgets say; nothing comes there any more."""
    if row.deleted_at is not None:
        return
    objects.change(tx, row.uid, deleted_at=tx.now)
    clusters.change(tx, row.name, cordoned=True)
    bound = [b for b in placements.bound_to(tx, row.name) if b.policy_snapshot != FOR_A_JOB]
    rows = objects.get_many(tx, [each.placement for each in bound])
    for mine in bound:
        if (placement := rows.get(mine.placement)) is not None:
            found = Evictable(_ANYWAY, placement, mine)
            evictions.take_out(tx, found, f"which leaves, as {principal} asks", jobs=False)
    tx.say(row, "MemberClusterLeaving", f"{principal} removes it: its objects are withdrawn")


def are_some_leaving(tx: Transaction) -> bool:
    """Is any member being emptied?"""
    return bool(clusters.leaving(tx))


def finish(tx: Transaction, term: int) -> int:
    """Forget those that are empty, or silent for too long; how many."""
    tx.require_term(term)
    done = 0
    for name in clusters.leaving(tx):
        member = clusters.get(tx, name)
        row = objects.find(tx, CLUSTER, KIND, "", name)
        if row is None or (member is not None and not _may_go(tx, member)):
            continue
        objects.remove(tx, row.uid)
        effects.deleted(tx, row)
        tx.say(row, "Deleted", "it has left")
        done += 1
    return done


def _may_go(tx: Transaction, member: Member) -> bool:
    """No Job may run there, and nothing is left there, or no agent will ever report it."""
    if jobs.count_by_cluster(tx).get(member.name):
        return False
    if accounted.owed_by_member(tx, member.name) or left_objects.count_undone(tx, member.name):
        return False
    heard = member.heartbeat_at
    if heard is None or tx.now - heard > FORCED_AFTER:
        return True
    held = works.of_uids(tx, works.uids_of(tx, member.name))
    return not any(each.cluster == member.name and each.epoch == 0 for each in held)
