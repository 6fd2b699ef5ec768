"""Effects of applying or deleting objects of some kinds: members, queues, bare Workloads."""

from hub.services.access import credentials
from hub.services.jobs.cron import turns as cron_jobs
from hub.services.kinds import kind_versions
from hub.services.kinds.definitions import is_definition
from hub.services.leftovers import left_objects
from hub.services.objects import left_behind
from hub.services.placements.staged.approvals import forget_requests
from hub.services.queues import conditions as queue_conditions
from hub.services.queues.refresh import concerns_queues, refresh_queues
from hub.services.works import accounted
from hub.store import clusters, objects, works
from hub.store.records.members import DeclaredColumns, Member
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds.cluster_v1 import GROUP as FLEET
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from shared.kinds.registry import parse
from shared.kinds.staged_v1 import RUN_KINDS


def applied(tx: Transaction, row: StoredObject) -> None:
    """After an object was created or changed."""
    if row.api_group == FLEET and row.kind == "MemberCluster":
        _declare_cluster(tx, row)
    elif row.api_group == KUEUE and row.kind == "Workload":
        _describe_workload(tx, row)


def deleted(tx: Transaction, row: StoredObject) -> None:
    """After an object was removed."""
    if row.api_group == FLEET and row.kind == "MemberCluster":
        credentials.forget_agent(tx, row.name)
        if (member := clusters.get(tx, row.name)) is not None:
            left_behind.note(tx, member)
        accounted.fence(tx, row.name)
        left_objects.forget(tx, row.name)
        clusters.remove(tx, row.name)
        works.remove(tx, [(row.name, uid) for uid in works.uids_of(tx, row.name)])
    elif row.api_group == PLACEMENT and row.kind in RUN_KINDS:
        forget_requests(tx, row)
    elif row.is_scheduled:
        cron_jobs.end_children(tx, row)
    elif row.api_group == KUEUE and concerns_queues(row.kind):
        refresh_queues(tx)
    elif is_definition(row.api_group, row.kind):
        kind_versions.refresh(tx)


def _declare_cluster(tx: Transaction, row: StoredObject) -> None:
    """A MemberCluster and its row go together: labels and taints are the object's."""
    spec = row.spec or {}
    declared: DeclaredColumns = {
        "object": row.uid,
        "labels": row.labels,
        "taints": spec.get("taints") or [],
        "pools": spec.get("pools"),
    }
    if clusters.get(tx, row.name) is not None:
        clusters.change(tx, row.name, **declared)
        return
    clusters.add(tx, Member(name=row.name, created_at=tx.now, **declared))


def _describe_workload(tx: Transaction, row: StoredObject) -> None:
    spec = row.spec or {}
    name = spec.get("queueName") or ""
    found = bool(name) and objects.find(tx, KUEUE, "LocalQueue", row.namespace, name)
    owned = bool((row.manifest.get("metadata") or {}).get("ownerReferences"))
    conditions = queue_conditions.held_workload_conditions(
        spec, queue_found=bool(found), owned=owned, hindrance=_hindrance(row)
    )
    status = queue_conditions.with_conditions(row.status, conditions, tx.now, row.generation)
    if status is not None:
        objects.set_statuses(tx, {row.uid: status})


def _hindrance(row: StoredObject) -> str:
    """The reason why a Workload can not be admitted in this form."""
    try:
        parsed = parse(row.manifest, strict=False, origin="hub-cluster", lenient_versions=True)
    except Rejected:
        return ""
    why = parsed.hindrance
    return "" if why is None else f"{why.field}: {why.message}"
