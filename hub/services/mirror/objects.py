"""The bridge's queries and commands to the store: everything whose origin is the hub cluster.

The bridge knows Kubernetes and no SQL; here is its half of the intake, of deletion, and the facts from
which statuses are made.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hub.domain.fleet.clusters import Cluster
from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import TERMINAL, State, WithdrawTo
from hub.services.context.settings import Intake
from hub.services.index.fleet import read_member
from hub.services.jobs.bare import KIND
from hub.services.objects import delete
from hub.services.objects.apply import Applied, apply_documents
from hub.services.queues import terminating, usage
from hub.services.reading import member_status
from hub.services.reading.draft import Draft
from hub.services.works import cluster_loss
from hub.services.works.withdraw import withdraw_jobs
from hub.store import clusters, events, jobs, objects, on_members, workloads, works
from hub.store.records.history import StoredEvent
from hub.store.records.members import Member
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.dispatched import GROUPED
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

T = TypeVar("T")
_ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED})


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A hub Job's workload, and what its member last said of it."""

    row: Workload
    observed: Json | None  # agent_v1.JobStatus as JSON
    beside: str = ""  # what ran besides its present epoch, in words
    status: Json | None = None  # of another kind: its own, as its member says it


def led(tx: Transaction, term: int, fn: Callable[..., T], *args: Any) -> T:
    """Do `fn` as the leader of `term`. Raises StaleTerm."""
    tx.require_term(term)
    return fn(tx, *args)


def take(tx: Transaction, drafts: Sequence[Draft | Rejected], intake: Intake) -> list[Applied]:
    """Create and update what the hub cluster declares, by its uids."""
    return apply_documents(tx, drafts, intake)


def known_uids(tx: Transaction, uids: Sequence[str]) -> set[str]:
    """Those of these jobs that are in the store."""
    return set(workloads.get_many(tx, uids))


def uids_of_kind(tx: Transaction, group: str, kind: str) -> dict[str, tuple[str, str]]:
    """Objects of one kind that came from the hub cluster and are not being deleted: uid → where."""
    if (group, kind) == ("batch", "Job"):
        return on_members.live_of(tx, Origin.HUB_CLUSTER, kind)
    bare = {}
    if (group, kind) == (KUEUE, KIND) or (group, kind) in GROUPED:
        bare = on_members.live_of(tx, Origin.HUB_CLUSTER, kind)
    return bare | {
        row.uid: (row.namespace, row.name)
        for row in objects.list_kind(tx, group, kind)
        if row.origin == Origin.HUB_CLUSTER and row.deleted_at is None
    }


def namespaces_there(tx: Transaction) -> set[str]:
    """Uids on the hub cluster of the Namespaces that were read there."""
    rows = objects.list_kind(tx, "", "Namespace")
    return {row.hub_cluster_uid for row in rows if row.hub_cluster_uid}


def conclude_deletions(tx: Transaction, uids: Sequence[str]) -> set[str]:
    """Of Jobs that the hub cluster no longer has: those whose deletion was known, taken back further."""
    rows = workloads.get_many(tx, uids)
    known = [uid for uid, row in rows.items() if row.withdraw_to == WithdrawTo.DELETED]
    delete_jobs(tx, known)
    return set(known)


def delete_jobs(tx: Transaction, uids: Sequence[str]) -> set[str]:
    """Hub Jobs are being deleted: take them back; those of which nothing is left anywhere.

    A Job that had finished keeps its record, for it has not been undone; only its name is free. One that
    was handed over to REST stays REST's: nothing of it is left for kubectl to delete.
    """
    rows = workloads.get_many(tx, uids)
    asked = [
        uid
        for uid, row in rows.items()
        if row.live
        and row.origin == Origin.HUB_CLUSTER
        and (row.withdraw_to != WithdrawTo.DELETED or row.state in TERMINAL)
    ]
    withdraw_jobs(
        tx, asked, WithdrawTo.DELETED, "DeletedOnHubCluster", "it was deleted on the hub cluster"
    )
    ended = [uid for uid in asked if State(rows[uid].state) in _ENDED]
    workloads.change(tx, [{"uid": uid, "deleted_at": None} for uid in ended])
    if asked:
        rows = workloads.get_many(tx, uids)
    held = {work.uid for work in works.of_uids(tx, list(uids))}
    return {
        uid
        for uid in uids
        if (uid in rows and rows[uid].origin == Origin.REST)
        or (uid not in held and (uid not in rows or State(rows[uid].state) in TERMINAL))
    }


def delete_object(tx: Transaction, uid: str, drain: bool = False) -> bool:
    """An object of the hub cluster is being deleted; True once nothing of it is left.

    Raises Rejected where something still depends on it: its finalizer stays until that has ended. A
    ClusterQueue that is in use is marked first: from then on it admits nothing. `drain`: its stopPolicy
    is HoldAndDrain by now.
    """
    row = objects.get(tx, uid)
    if row is None or (row.api_group, row.kind) == ("", "Namespace"):
        row = objects.namespace_of(tx, uid)
    if row is None and workloads.get_many(tx, [uid]):
        delete_jobs(tx, [uid])  # a bare Workload
    if row is None:
        return not _held(tx, uid)
    queue = (row.api_group, row.kind) == terminating.KIND
    if queue and (row.deleted_at is None or drain) and jobs.charged_to(tx, row.name):
        if row.deleted_at is None:
            terminating.begin(tx, row)
        if drain:
            terminating.drain(tx, row)
        return False
    if row.deleted_at is None or queue:
        result = delete.delete_object(
            tx,
            row.api_group,
            row.kind,
            row.namespace,
            row.name,
            origin=Origin.HUB_CLUSTER,
            principal="hub-cluster",
        )
        return result["result"] == "deleted" and not _held(tx, uid)
    return False


def job_facts(tx: Transaction, uids: Iterable[str]) -> dict[str, JobFacts]:
    """What Jobs' statuses are made of."""
    wanted = list(uids)
    rows = workloads.get_many(tx, wanted)
    held = works.of_uids(tx, wanted)
    said = {
        (work.uid, work.cluster, work.epoch): (work.observed or {}).get("job") for work in held
    }
    beside = cluster_loss.beside(rows, held)
    own = {
        work.uid: status
        for work in held
        if work.uid in rows and (status := member_status.of(rows[work.uid], work))
    }
    return {
        uid: JobFacts(
            row, said.get((uid, row.cluster, row.epoch)), beside.get(uid, ""), own.get(uid)
        )
        for uid, row in rows.items()
    }


def object_facts(tx: Transaction, uids: Iterable[str]) -> dict[str, StoredObject]:
    """Rows of objects, with their statuses."""
    return objects.get_many(tx, uids)


def queue_statuses(tx: Transaction, uids: Iterable[str]) -> dict[str, StoredObject]:
    """Rows of queues and cohorts, with their statuses as of now."""
    rows = objects.get_many(tx, uids)
    return {row.uid: row for row in usage.with_statuses(tx, list(rows.values()))}


def cluster_facts(tx: Transaction) -> dict[str, tuple[Member, Cluster, dt.datetime | None]]:
    """Members: name → (its row, what it has, when it said so)."""
    capacities = clusters.get_capacities(tx)
    found: dict[str, tuple[Member, Cluster, dt.datetime | None]] = {}
    for member in clusters.list_all(tx):
        capacity, at = capacities.get(member.name, (None, None))
        found[member.name] = (member, read_member(member, capacity)[1], at)
    return found


def events_after(tx: Transaction, last: int, limit: int = 500) -> list[StoredEvent]:
    """Events in order after number `last`."""
    return events.list_after(tx, last, limit)


def last_event(tx: Transaction) -> int:
    """The number of the newest event; 0 if there are no events."""
    newest = events.list_events(tx, limit=1, newest_first=True)
    return newest[0].id if newest else 0


def _held(tx: Transaction, uid: str) -> bool:
    """Does any member still hold something of it?"""
    return bool(works.of_uids(tx, [uid]))
