"""CronJobs that agents left in members, which the controllers there run: until that is proven to be over.

The hub takes no CronJob with a queue where a member may run one of its name. That concerns the identities
that the member reports. Of a member that reports more of them than are kept, it concerns the namespaces that
it is used in, and no other. A fence or the removal of the member ends both (`left_objects.forget`).
The rule: docs/explain/exactly-once.md#runs-of-cronjobs.
"""

from collections.abc import Collection
from typing import NamedTuple

from hub.services.leftovers.left_objects import (
    CRON_JOBS_BEYOND,
    PREFIX,
    LeftRow,
    all_kept,
    is_cron_job,
    is_unproven,
    keep,
)
from hub.store import clusters, settings, works
from hub.store.transaction import Transaction
from shared.wire.agent_v1 import SyncRequest
from shared.wire.left_objects import CRON_JOB


class LeftCronJob(NamedTuple):
    """One that a member reported, by the uid of its object there."""

    cluster: str
    object_uid: str


def left_at(
    tx: Transaction, places: Collection[tuple[str, str]]
) -> dict[tuple[str, str], list[LeftCronJob]]:
    """Those that members have reported of these namespaces and names, however long ago; by member.

    Without those about which an administrator decided: the work of that decision is in their place.
    """
    found: dict[tuple[str, str], list[LeftCronJob]] = {}
    for cluster, rows in sorted(all_kept(tx).items()):
        for object_uid, row in rows.items():
            place = row["namespace"], row["name"]
            if place in places and is_unproven(row):
                found.setdefault(place, []).append(LeftCronJob(cluster, object_uid))
    return found


def members_beyond(tx: Transaction, namespaces: Collection[str]) -> dict[str, list[str]]:
    """By namespace, the members used there that reported more CronJobs than are kept, and are not proven
    not to hold those.
    """
    found = settings.beginning_with(tx, CRON_JOBS_BEYOND)
    names = [name.removeprefix(CRON_JOBS_BEYOND) for name in found]
    return works.clusters_used(tx, namespaces, names) if names else {}


def unproven(tx: Transaction) -> dict[str, set[str]]:
    """Uids of works, by member: CronJobs to be proven absent; and "" of one that reported too many."""
    found = {
        cluster: {row["uid"] for row in rows.values() if is_unproven(row)}
        for cluster, rows in all_kept(tx).items()
    }
    for name in settings.beginning_with(tx, CRON_JOBS_BEYOND):
        found.setdefault(name.removeprefix(CRON_JOBS_BEYOND), set()).add("")
    return found


def is_about(names: Collection[str]) -> bool:
    """True if a change of these settings changes what `unproven` reads."""
    return any(name.startswith((PREFIX, CRON_JOBS_BEYOND)) for name in names)


def is_proof(request: SyncRequest, left: Collection[str], reported: Collection[str]) -> bool:
    """True if a complete report lacks one of these, and what it lacks is no CronJob of its member: the
    session has read them all.
    """
    unread = request.kinds_unread
    has_read = unread is not None and CRON_JOB not in unread and not request.observed.more
    return has_read and any(uid not in reported for uid in left)


def prove(
    tx: Transaction,
    cluster: str,
    session: str,
    seq: int,
    reported: Collection[str],
    incarnation: str,
    cron_jobs: Collection[str],
) -> None:
    """A session that has read all CronJobs reports these uids and no more: forget the others.

    `cron_jobs`: those of the uids that are left CronJobs. Nothing is proven where a later session or request
    was stored meanwhile, nor by a session of an earlier `incarnation` than the store's.
    """
    member = clusters.get(tx, cluster)
    if member is None or settings.get(tx, "incarnation") != incarnation:
        return
    if member.session != session or member.session_seq > seq:
        return
    rows: dict[str, LeftRow] = settings.get(tx, PREFIX + cluster) or {}
    kept = {
        object_uid: row
        for object_uid, row in rows.items()
        if row["uid"] in reported or not is_unproven(row)
    }
    if rows:
        keep(tx, cluster, rows, kept)
    if settings.get(tx, CRON_JOBS_BEYOND + cluster) is not None:
        listed = {row["uid"] for row in kept.values() if is_cron_job(row)}
        if not set(cron_jobs) - listed - set(works.uids_of(tx, cluster)):
            settings.remove(tx, CRON_JOBS_BEYOND + cluster)
