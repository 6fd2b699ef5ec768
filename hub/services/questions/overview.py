"""The fleet at a glance: counts, drift, the change feed, the audit."""

from collections.abc import Sequence

from hub.domain.instants import stamp
from hub.services.context import identity, timeline
from hub.services.context.paging import PAGE_BYTES, Pager, within
from hub.services.context.settings import Settings
from hub.services.leftovers import left_objects
from hub.services.members import forgotten
from hub.services.members.liveness import joined_clusters
from hub.services.placements.manifests.render import envelope
from hub.services.questions import clusters
from hub.services.queues import unqueued
from hub.services.reading import unread_kinds
from hub.services.works import accounted
from hub.store import changes, objects, tallies, work_pages
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode

MOST_KEYS = 200  # of a page of the feed, but for its last revision


def overview(tx: Transaction, settings: Settings) -> Json:
    """Counts of jobs by state, clusters by state, queues, and the newest revision."""
    members = clusters.list_rooms(tx, settings)
    by_state: dict[str, int] = {}
    for member in members:
        by_state[member["state"]] = by_state.get(member["state"], 0) + 1
    return {
        "jobs": tallies.by_state(tx),
        "clusters": {"total": len(members), **by_state},
        "room": members,
        "queues": len(objects.list_kind(tx, KUEUE, "ClusterQueue")),
        "revision": changes.last_revision(tx),
        "conditions": _conditions(tx, settings),
        "hubId": identity.hub_id_of(tx),
    }


def _conditions(tx: Transaction, settings: Settings) -> list[Json]:
    """Facts for an administrator about the hub itself."""
    why = timeline.stopped(tx)
    back = {"type": timeline.CODE, "status": "True", "reason": timeline.CODE, "message": why}
    others = (forgotten.condition(tx), unqueued.condition(tx, settings.intake.unqueued_jobs))
    return [*([back] if why else []), *(each for each in others if each)]


def restored(tx: Transaction) -> Json:
    """True if the store rolled back, and the leftovers from before.

    `awaited`: members that have not reported since a backup was restored, until that is accepted.
    `owing`: those that have yet to report all their Jobs since then, accepted or not; `lacking`: which right
    some of them lack for that. `items`: Jobs;
    `objects`: what else members hold of this hub that its store has no work for.
    """
    since = timeline.restored_at(tx)
    awaited = []
    if since is not None:
        heard = joined_clusters(tx).items()
        awaited = sorted(name for name, at in heard if at is None or at <= since)
    owing = accounted.owing(tx)
    lacking = unread_kinds.by_member(tx) if owing else {}
    return {
        "stopped": timeline.stopped(tx),
        "awaited": awaited,
        "owing": owing,
        "lacking": {
            name: unread_kinds.lacking(lacking[name]) for name in owing if name in lacking
        },
        "items": forgotten.list_forgotten(tx),
        "objects": left_objects.list_left(tx),
    }


def list_drift(tx: Transaction, pager: Pager, token: str | None, limit: int) -> Json:
    """Drifted fields, object by object: {"items", "continue"}; `limit` counts objects."""
    position = pager.position(token)
    after = None if position is None else (position[0], position[1])
    sizes = work_pages.drifted_sizes(tx, after, limit + 1)
    taken, _ = within(sizes[:limit], PAGE_BYTES)
    more = taken < len(sizes)
    drifted = work_pages.list_drifted(tx, after, taken)
    return {
        "items": [
            {
                "cluster": work.cluster,
                "uid": work.uid,
                "kind": work.kind,
                "namespace": work.namespace,
                "name": work.name,
                "path": each.get("path"),
                "hub": each.get("hub"),
                "member": each.get("member"),
                "firstSeen": each.get("first_seen"),
                "lastSeen": stamp(work.observed_at),
                "memberGeneration": work.member_generation(),
                "envelope": envelope(work.options.envelope),
            }
            for work in drifted
            for each in work.drift
        ],
        "continue": pager.token([drifted[-1].cluster, drifted[-1].uid]) if more else "",
    }


def changes_since(tx: Transaction, revision: int, limit: int) -> tuple[Sequence[Json], bool]:
    """Rows of the change feed after `revision`, oldest first, revisions whole; and: is there more?

    A page is shorter where much was touched: whoever does not take it holds no more than that.

    Raises Rejected: Expired where `revision` is older than what is kept, or newer than the newest.
    """
    oldest, newest = changes.oldest_revision(tx), changes.last_revision(tx)
    if revision > newest or revision + 1 < oldest:
        raise Rejected(
            RejectCode.EXPIRED,
            f"revisions {oldest} to {newest} are kept: list again, then follow from the newest",
            "revision",
        )
    rows = changes.since(tx, revision, limit, MOST_KEYS)
    full = len(rows) == limit
    more = full or bool(rows and rows[-1][0] < newest)
    if full:  # the last revision may go on: it comes with the next page
        rows = [row for row in rows if row[0] != rows[-1][0]]
    return [
        {"revision": number, "kind": kind, "keys": keys, "at": stamp(at)}
        for number, kind, keys, at in rows
    ], more
