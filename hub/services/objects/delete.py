"""Deleting objects of any kind but Jobs."""

from collections.abc import Sequence

from hub.domain.rollout.removal import ObjectFate
from hub.domain.workloads.origin import Origin, place_of
from hub.services.context import rendering
from hub.services.jobs import bare_patch, held
from hub.services.jobs.bare import KIND
from hub.services.jobs.cron import turns as cron_jobs
from hub.services.kinds import kind_versions
from hub.services.kinds.definitions import is_definition
from hub.services.leftovers import left_objects
from hub.services.objects import effects, leave
from hub.services.objects.hand_over import refuse_meanwhile
from hub.services.questions.objects import find_shown
from hub.services.queues import terminating
from hub.services.removals import before
from hub.services.works import accounted
from hub.store import audit, jobs, objects, on_members, workloads
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.cluster_v1 import GROUP as FLEET
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.placement_status import STATUS_COPY
from shared.kinds.placement_v1 import GROUP as PLACEMENT, PLACEMENT_KINDS
from shared.reject_codes import RejectCode

# Their effects in members are withdrawn first; the placements' service removes them then.


def delete_object(
    tx: Transaction,
    group: str,
    kind: str,
    namespace: str,
    name: str,
    *,
    origin: str,
    principal: str,
    expected: str = "",
    drain: bool = False,
    policy: str = "",
    dry_run: bool = False,
    as_jobs: bool = False,
) -> Json:
    """Delete one object; {"result": "deleted" | "deleting", "members": what that does there, read before}.

    `drain`: a ClusterQueue goes when what it has admitted has left. `dry_run`: only say what follows
    ("result": "wouldDelete", with "message" that counts the Jobs of a CronJob, or "ownedElsewhere" with
    "message" that says where to delete the object).
    `as_jobs`: the caller may delete jobs alone, and so a CronJob only whose schedule the hub keeps.

    A placement is only marked: it goes when what it caused is gone; so does a member that is to be emptied
    first (`policy`: Delete or Abandon; "" as its spec says). Raises Rejected: NotFound,
    OwnedElsewhere, PreconditionFailed (another uid), NamespaceNotEmpty, ClusterNotEmpty, QueueNotEmpty,
    KindInUse.
    """
    row = _find_deletable(tx, (group, kind, namespace, name), principal, as_jobs=as_jobs)
    drains = drain and (group, kind) == terminating.KIND
    elsewhere = _refuse_kept(row, origin, expected, dry_run=dry_run)
    if not drains:
        _refuse_if_used(tx, row)
    # The bridge reports no effects of a deletion in members: it reads nothing for that.
    asks = origin == Origin.REST
    members = before.told(_before(tx, row, policy, drains=drains)) if asks else []
    if dry_run:
        result = "ownedElsewhere" if elsewhere else "wouldDelete"
        said = elsewhere or (cron_jobs.deleted_with(tx, row) if row.is_scheduled else "")
        return {"uid": row.uid, "result": result, "message": said, "members": members}
    audit.add(tx, principal, "delete", _path(row), f"origin {origin}")
    if drains and _drain(tx, row):
        return {"uid": row.uid, "result": "deleting", "members": members}
    if group == PLACEMENT and kind in PLACEMENT_KINDS:
        if row.deleted_at is None:
            objects.change(tx, row.uid, deleted_at=tx.now)
        return {"uid": row.uid, "result": "deleting", "members": members}
    if leave.cleans_up(row, policy):
        leave.begin(tx, row, principal)
        return {"uid": row.uid, "result": "deleting", "members": members}
    objects.remove(tx, row.uid)
    effects.deleted(tx, row)
    tx.say(row, "Deleted", f"deleted by {principal}")
    return {"uid": row.uid, "result": "deleted", "members": members}


def delete_workload(
    tx: Transaction, namespace: str, name: str, principal: str, expected: str
) -> Json:
    """Delete a bare Workload, a held one too; the job as it is now. Raises Rejected as the two do."""
    row = held.find_held(tx, namespace, name)
    if row is None or workloads.live_by_name(tx, [(namespace, name)], KIND):
        return bare_patch.delete_workload(tx, namespace, name, principal, expected)
    delete_object(
        tx,
        row.api_group,
        row.kind,
        namespace,
        name,
        origin=Origin.REST,
        principal=principal,
        expected=expected,
    )
    return rendering.whole_job(held.as_cancelled(row, tx.now, principal), row.manifest, None)


def _refuse_kept(row: StoredObject, origin: str, expected: str, *, dry_run: bool) -> str:
    """Raise Rejected: PreconditionFailed (another uid), OwnedElsewhere.

    A dry run is not refused because the object came from elsewhere: the answer says where to delete it.
    """
    if expected and expected != row.uid:
        raise Rejected(
            RejectCode.PRECONDITION_FAILED, f"the object has uid {row.uid}", "preconditions.uid"
        )
    if (row.api_group, row.kind) == (PLACEMENT, STATUS_COPY):
        text = f"{row.kind} {row.name} is managed by the hub: it goes when its placement no longer needs it"
        raise Rejected(RejectCode.OWNED_ELSEWHERE, text)
    if row.origin not in {origin, Origin.ANY, Origin.HUB}:
        text = f"{row.kind} {row.name} came from {row.origin}: delete it {place_of(row.origin)}"
        if terminating.is_terminating(row):
            text = f"{row.kind} {row.name} came from {row.origin} and is being deleted: {_how_to_drain(row)}"
        elif dry_run and row.origin == Origin.HUB_CLUSTER:
            text = f"{text}: {_command(row)}"
        if not dry_run:
            raise Rejected(RejectCode.OWNED_ELSEWHERE, text)
        return text
    if origin == Origin.REST:
        refuse_meanwhile(row)
    return ""


def _command(row: StoredObject) -> str:
    """The command that deletes an object on the hub cluster."""
    where = f" -n {row.namespace}" if row.namespace else ""
    return f"kubectl delete {row.kind.lower()} {row.name}{where}"


def _find_deletable(
    tx: Transaction, key: tuple[str, str, str, str], principal: str, *, as_jobs: bool = False
) -> StoredObject:
    """The object of this group, kind, namespace and name, if the caller may delete it.

    Raises Rejected: NotFound, Forbidden.
    """
    group, kind, namespace, name = key
    if (group, kind) == (KUEUE, KIND):
        workload = held.find_held(tx, namespace, name)
        if workload is not None and held.is_shown(tx, workload):
            if refusal := held.refusal_of(tx, workload):
                raise refusal
            return workload
    scheduled = objects.find(tx, group, kind, namespace, name)
    if scheduled is not None and scheduled.is_scheduled and cron_jobs.is_shown(tx, scheduled):
        if refusal := cron_jobs.refusal_of(tx, scheduled):
            raise refusal
        return scheduled
    row = find_shown(tx, group, kind, namespace, name)
    if as_jobs and (group, kind) == ("batch", "CronJob"):
        text = f"{principal} may not delete a CronJob that a placement places: a cluster administrator may"
        raise Rejected(RejectCode.FORBIDDEN, text)
    if not tx.scope.allows(namespace):
        text = (
            f"{principal} may not delete a {kind[:64]} in namespace {namespace[:64]}: "
            "it takes the role batch-administrator (roadstead whoami)"
        )
        raise Rejected(RejectCode.FORBIDDEN, text)
    return row


def _before(
    tx: Transaction, row: StoredObject, policy: str, *, drains: bool
) -> Sequence[ObjectFate]:
    """Effects of the deletion in members."""
    if drains:
        return before.of_jobs(tx, jobs.charged_to(tx, row.name))
    if row.is_scheduled:
        return before.of_jobs(tx, cron_jobs.active(row))
    return before.before_deletion(tx, row, cleans=leave.cleans_up(row, policy))


def _drain(tx: Transaction, row: StoredObject) -> bool:
    """Take back what a ClusterQueue has admitted; True if it is Terminating until that is done."""
    terminating.drain(tx, row)
    if not jobs.charged_to(tx, row.name):
        return False
    if row.deleted_at is None:
        terminating.begin(tx, row)
    return True


def _refuse_if_used(tx: Transaction, row: StoredObject) -> None:
    """Raise where something still depends on the object."""
    name = row.name
    match (row.api_group, row.kind):
        case ("", "Namespace"):
            left = [each for each in objects.list_namespace(tx, name, 2) if not _provided(each)]
            if left or jobs.count_in_namespace(tx, name):
                raise Rejected(
                    RejectCode.NAMESPACE_NOT_EMPTY, f"namespace {name} still holds objects or jobs"
                )
        case (group, "MemberCluster") if group == FLEET:
            held = jobs.count_by_cluster(tx).get(name, 0) + on_members.left_behind(tx, name)
            if held:
                raise Rejected(
                    RejectCode.CLUSTER_NOT_EMPTY,
                    f"cluster {name} may still run {held} jobs: cordon it and let them end",
                )
            if owed := accounted.owed_by_member(tx, name):
                raise Rejected(
                    RejectCode.CLUSTER_NOT_EMPTY,
                    f"cluster {name} {owed}: settle that first (roadstead restored), or, if it is "
                    f"destroyed, roadstead clusters fence {name} --destroyed",
                )
            if undone := left_objects.count_undone(tx, name):
                raise Rejected(
                    RejectCode.CLUSTER_NOT_EMPTY,
                    f"cluster {name} has yet to remove or abandon {undone} objects, as was decided: let its "
                    f"agent do that (roadstead restored), or, if it is destroyed, "
                    f"roadstead clusters fence {name} --destroyed",
                )
        case kind if kind == terminating.KIND:
            charged = jobs.charged_to(tx, name)
            if charged:
                raise Rejected(
                    RejectCode.QUEUE_NOT_EMPTY,
                    f"{len(charged)} jobs are charged to ClusterQueue {name}: let them end, or "
                    f"{_how_to_drain(row)}",
                )
        case (group, kind) if is_definition(group, kind) and row.origin == Origin.REST:
            kind_versions.refuse_if_used(tx, row)  # kubectl has deleted it already
        case _:
            return


def _how_to_drain(row: StoredObject) -> str:
    if row.deleted_at is None:
        return "delete it with drain=true"
    return f"drain it: roadstead queues stop --drain {row.name}, or stopPolicy HoldAndDrain"


def _provided(row: StoredObject) -> bool:
    return bool(row.origin == Origin.HUB)


def _path(row: StoredObject) -> str:
    return "/".join(each for each in (row.kind, row.namespace, row.name) if each)
