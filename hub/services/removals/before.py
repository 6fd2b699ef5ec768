"""Lists the effects of a removal in each member from the agents' reports; changes nothing.

Every list of this kind is made by `hub.domain.rollout.removal.fates_of`; `hub.api.inside` asks agents what is
inside the namespaces of it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from hub.domain.rollout.removal import Fate, MemberObject, ObjectFate, counts_of, fates_of
from hub.domain.workloads.states import TERMINAL
from hub.services.placements.abandon import HELD, abandons
from hub.services.placements.bindings import FOR_A_JOB
from hub.services.reading import envelopes
from hub.store import objects, placements, workloads, works
from hub.store.records.objects import StoredObject
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView
from shared.groups import CLUSTER, PLACEMENT
from shared.kinds.placement_v1 import PLACEMENT_KINDS
from shared.wire.streams_v1 import MOST_INSIDE, NamespaceTold

MOST_SHOWN: Final = 100  # objects of one member
_COUNTS: Final = {
    Fate.DELETED: "deleted",
    Fate.DELETED_IF_EMPTY: "deletedIfEmpty",
    Fate.RELEASED: "released",
    Fate.WITHDRAWN: "withdrawn",
    Fate.LEFT: "left",
    Fate.NOT_REPORTED: "notReported",
}


def before_deletion(tx: Transaction, row: StoredObject, *, cleans: bool) -> list[ObjectFate]:
    """List the effects of deleting an object. `cleans`: a MemberCluster is emptied first."""
    if row.api_group == PLACEMENT and row.kind in PLACEMENT_KINDS:
        return of_placement(tx, row)
    if (row.api_group, row.kind) == (CLUSTER, "MemberCluster"):
        return _of_member(tx, row, cleans=cleans)
    held = works.of_uids(tx, [row.uid])
    if envelopes.is_envelope(row):
        held += [
            work
            for work in works.of_placements(tx, [each.uid for each in placements.list_all(tx)])
            if work.options.envelope == envelopes.named(row)
        ]
    return _fates(tx, [_held(work) for work in held if work.epoch == 0])


def of_placement(tx: Transaction, row: StoredObject) -> list[ObjectFate]:
    """List the effects of deleting a placement."""
    spec = row.spec or {}
    held = works.of_placement(tx, row.uid)
    going = [_held(work, spec) for work in held if work.epoch == 0]
    return _fates(tx, going + _live_jobs(tx, [work for work in held if work.epoch]))


def of_change(
    tx: Transaction,
    row: StoredObject,
    spec: JsonView,
    chosen: Collection[str],
    wanted: Collection[tuple[str, str, str, str]],
    *,
    keeps_jobs: bool,
) -> list[ObjectFate]:
    """List what a placement withdraws if it gives `wanted` (group, kind, namespace, name) to `chosen`.

    A Job stays in its cluster while the placement selects it, and `keeps_jobs`: gives each Job one cluster.
    """
    held = works.of_placement(tx, row.uid)
    going = [
        _held(work, spec)
        for work in held
        if work.epoch == 0 and not (work.cluster in chosen and _identity(work) in wanted)
    ]
    lost = [work for work in held if work.epoch and not (keeps_jobs and _identity(work) in wanted)]
    return _fates(tx, going + _live_jobs(tx, lost))


def of_drain(
    tx: Transaction,
    name: str,
    there: Iterable[Work],
    jobs: Collection[str],
    leaving: Sequence[StoredObject],
) -> list[ObjectFate]:
    """List the effects if these jobs (uids) and all objects of these placements leave a member.

    `there`: what placements have in it.
    """
    specs = {row.uid: row.spec or {} for row in leaving}
    going = [_held(work, specs[work.placed_by]) for work in there if work.placed_by in specs]
    going += [_held(w) for w in works.of_uids(tx, sorted(jobs)) if w.cluster == name and w.epoch]
    return _fates(tx, going)


def of_eviction(
    tx: Transaction, row: StoredObject, cluster: str, jobs: Collection[str], *, objects_too: bool
) -> list[ObjectFate]:
    """List the effects if a placement loses one cluster: these jobs (uids), and its objects there."""
    held = works.of_placement(tx, row.uid) if objects_too else []
    mine = [work for work in held if work.cluster == cluster and work.epoch == 0]
    going = [_held(work, row.spec or {}) for work in mine]
    running = [w for w in works.of_uids(tx, sorted(jobs)) if w.cluster == cluster and w.epoch]
    return _fates(tx, going + _live_jobs(tx, running))


def of_jobs(tx: Transaction, uids: Collection[str]) -> list[ObjectFate]:
    """List the Jobs in members that are withdrawn with these jobs (uids)."""
    return fates_of(_live_jobs(tx, [w for w in works.of_uids(tx, sorted(uids)) if w.epoch]), ())


def counts_of_placement(held: Iterable[Work], spec: JsonView) -> dict[Fate, int]:
    """Count the objects of a placement by fate. Other contents of a Namespace do not count."""
    return counts_of(fates_of([_held(work, spec) for work in held if work.epoch == 0], ()))


def told(outcomes: Iterable[ObjectFate]) -> list[Json]:
    """Per member: counts by fate, and the first objects, each with its fate and why."""
    by_cluster: dict[str, list[ObjectFate]] = {}
    for each in outcomes:
        by_cluster.setdefault(each.of.cluster, []).append(each)
    return [
        {
            "cluster": name,
            **{_COUNTS[fate]: number for fate, number in counts_of(found).items()},
            "objects": [_told(each) for each in found[:MOST_SHOWN]],
        }
        for name, found in sorted(by_cluster.items())
    ]


def with_contents(member: Json, each: Json, found: NamespaceTold) -> None:
    """Fill in what the agent found in a Namespace, in the row of one member as `told` made it.

    The removal's own objects are gone by then; what others have in it keeps the Namespace, as does what
    the agent may not list.
    """
    held, unread = found.others, found.unread
    if not (held or unread):
        waits = (
            f", and the hub's {found.ours} objects and jobs in it are gone" if found.ours else ""
        )
        each["message"] = (
            f"no objects of others are in it now: deleted if that is still so then{waits}"
        )
        return
    each.update(inside=list(found.named), insideCount=held, fate=Fate.LEFT)
    each["message"] = (
        f"it stays: it holds {held} objects that are not of this hub"
        if held
        else f"it stays: the agent cannot tell what is inside: {unread}"
    )
    member[_COUNTS[Fate.DELETED_IF_EMPTY]] -= 1
    member[_COUNTS[Fate.LEFT]] += 1


def not_asked(each: Json, most: int) -> None:
    """Say of a Namespace that its agent was not asked: one list asks about `most` of them."""
    each["message"] = (
        f"deleted if nothing else is in it: its agent was not asked, as one list asks about {most} namespaces"
    )


def _told(each: ObjectFate) -> Json:
    return {
        "apiVersion": each.of.api_version,
        "kind": each.of.kind,
        "namespace": each.of.namespace,
        "name": each.of.name,
        "fate": each.fate,
        "message": each.why,
        "inside": list(each.inside[:MOST_INSIDE]),
        "insideCount": len(each.inside),
    }


def _of_member(tx: Transaction, row: StoredObject, *, cleans: bool) -> list[ObjectFate]:
    """List the effects of deleting a MemberCluster: objects stay, or leave first (`cleans`)."""
    there = works.placed_in(tx, row.name)
    if not cleans:
        return fates_of((), [_held(work) for work in there])
    bound = [b for b in placements.bound_to(tx, row.name) if b.policy_snapshot != FOR_A_JOB]
    rows = objects.get_many(tx, [each.placement for each in bound])
    return of_drain(tx, row.name, there, (), list(rows.values()))


def _fates(tx: Transaction, going: Sequence[MemberObject]) -> list[ObjectFate]:
    """Those with what stays in the Namespaces among them."""
    spaces = {(each.cluster, each.name) for each in going if each.kind == "Namespace"}
    gone = {(each.cluster, each.uid) for each in going}
    within = works.in_namespaces(tx, spaces) if spaces else []
    others = [work for work in within if (work.cluster, work.uid) not in gone]
    staying = [_held(work) for work in others if work.epoch == 0]
    return fates_of(going, staying + _live_jobs(tx, [work for work in others if work.epoch]))


def _live_jobs(tx: Transaction, held: Sequence[Work]) -> list[MemberObject]:
    """Those Jobs that have not ended."""
    rows = workloads.get_many(tx, [work.uid for work in held]) if held else {}
    return [
        _held(work)
        for work in held
        if (row := rows.get(work.uid)) is not None and row.state not in TERMINAL
    ]


def _held(work: Work, spec: JsonView | None = None) -> MemberObject:
    """`spec`: of its placement; without it, what the work was placed with counts."""
    left = work.options.abandon if spec is None else abandons(spec)
    return MemberObject(
        cluster=work.cluster,
        uid=work.uid,
        api_version=work.api_version,
        kind=work.kind,
        namespace=work.namespace,
        name=work.name,
        is_job=work.epoch > 0,
        action=work.action,
        phase=work.phase,
        reason=work.reason,
        message=work.message,
        created=(work.observed or {}).get("created"),
        abandon=left if work.action in HELD else work.action == "Keep",
    )


def _identity(work: Work) -> tuple[str, str, str, str]:
    group = work.api_version.rpartition("/")[0]
    return group, work.kind, work.namespace, work.name
