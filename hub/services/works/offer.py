"""Offering works to an agent: marked in the store before the manifest leaves the hub (invariant R-03).

What an epoch is offered with (suspended or not, for which queue, under which apply strategy) is
decided at its first offering and stands in `works.options` from then on: the choice never flips.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State, Transition
from hub.domain.workloads.work_form import WorkForm
from hub.services.consent import namespaces
from hub.services.context import timeline
from hub.services.works import compose
from hub.store import clusters, objects, workloads, works
from hub.store.records.members import Speaking
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import WorkloadMove
from hub.store.records.works import Composable, Desired, OptionedWork
from hub.store.transaction import Transaction
from shared import labels as keys
from shared.documents import Json, JsonView
from shared.failpoints import failpoint
from shared.wire.agent_v1 import told_hash
from shared.wire.versions import APPLY_RULES, COMPARES, KINDS, NAMESPACE_IDS, NEWEST, OBJECT_UIDS

_MISSING: Final = "the hub no longer has its manifest"


@dataclass(frozen=True, slots=True)
class Ask:
    """One cluster's request for the manifests of `uids`."""

    cluster: str
    uids: tuple[str, ...]
    session: str  # that asks
    queue_managers: frozenset[str]  # "namespace/name" of LocalQueues that a queue manager serves


@dataclass(frozen=True, slots=True)
class PreparedOffer:
    """A work that may be sent: its row as it now stands in the store, with what it is composed from."""

    row: Composable
    options: ApplyOptions
    hash: str
    namespace_id: str = ""  # of the hub's namespace; "" for cluster-scoped

    @property
    def desired(self) -> Desired:
        """The row as the index of desired sets keeps it."""
        row = self.row
        return Desired(
            row.cluster, row.uid, row.epoch, row.generation, row.action, self.hash, True
        )


def offer(tx: Transaction, asks: Sequence[Ask]) -> list[list[PreparedOffer]]:
    """Settle and mark offered what is asked for; left out is what may not or no longer be sent.

    Nothing is offered to a session that no longer speaks for its cluster: the request of an agent whose
    cluster was forgotten or written off hangs on, and the name may be another cluster's by now.
    """
    failpoint("H08")
    if timeline.stopped(tx):  # another hub of this store may have found out just now
        return [[] for _ in asks]
    live = clusters.sessions(tx, {ask.cluster for ask in asks})
    found = [
        works.composable(tx, ask.cluster, ask.uids if _may_ask(live, ask) else ()) for ask in asks
    ]
    placements = _placements(tx, found)
    ids = namespaces.ids_of(tx, {row.namespace for rows in found for row in rows} - {""})
    prepared: list[list[PreparedOffer]] = []
    changed: list[OptionedWork] = []
    offered: list[WorkloadMove] = []
    for ask, rows in zip(asks, found, strict=True):
        ready: list[PreparedOffer] = []
        for row in rows:
            one = _prepare(tx, row, ask, placements)
            if one is None:
                continue
            one = replace(one, namespace_id=ids.get(row.namespace, ""))
            ready.append(one)
            if row.action == "Apply" and not row.offered and row.state:
                offered.append({"uid": row.uid, "epoch": row.epoch})
            if not row.offered or one.hash != row.hash or one.options != row.options:
                changed.append(
                    {
                        "cluster": row.cluster,
                        "uid": row.uid,
                        "options": one.options,
                        "hash": one.hash,
                    }
                )
        prepared.append(ready)
    works.offer(tx, changed)
    workloads.transition(tx, Transition.OFFER, offered)
    return prepared


def _may_ask(live: Mapping[str, Speaking], ask: Ask) -> bool:
    speaking = live.get(ask.cluster)
    return speaking is not None and speaking.session == ask.session


def work_of(
    one: PreparedOffer, hub_id: str, incarnation: str, session: str, protocol: int = NEWEST
) -> Json:
    """The wire form of a prepared work (`agent_v1.Work`), composed if it is to be applied.

    `session`: that gets it. Where it is the one that the epoch was first offered to, no other agent
    can have started anything of it. `protocol`: that is spoken in it.
    """
    row, options = one.row, one.options
    work = without_manifest(one, session)
    work |= _since_protocol_7(row, options, protocol)
    if row.action == "Compare" and protocol < COMPARES:
        work["action"] = "Keep"  # which has such an agent write nothing
        return work
    if row.action not in {"Apply", "Compare"}:
        return work
    if protocol >= NAMESPACE_IDS:
        work["namespace_id"] = one.namespace_id
    stamp = compose.Stamp(
        hub_id=hub_id,
        incarnation=incarnation,
        uid=row.uid,
        epoch=row.epoch,
        generation=row.generation,
        hash=one.hash,
        placed_by=options.placed_by or "",
    )
    if row.form is not None and protocol < KINDS:
        return work  # its agent was another one when it was placed: this one says that it can not
    if row.job_manifest is not None:
        work |= _of_job(row, orjson.loads(row.job_manifest), options, stamp)
    else:
        work["manifest"] = compose.compose_object(_thing(row)[0] or {}, stamp)
        # It may have been edited in another version of its kind since it was placed.
        work["api_version"] = work["manifest"].get("apiVersion") or row.api_version
        work["when_to_take_over"] = options.when_to_take_over or "IfNoDiff"
        if protocol >= APPLY_RULES:
            work["force"] = options.force
            work["co_ownership"] = options.co_ownership
            work["compare_all"] = options.compare_all
            if options.report_status:
                work["report_status"] = True
            work["restore"] = bool(options.restore) and (
                options.restore.rpartition(":")[0] == row.content
            )
    work["when_to_apply"] = options.when_to_apply or "Always"
    work["placed_by"] = stamp.placed_by
    annotations = row.annotations
    if options.envelope:
        annotations = work["manifest"]["metadata"]["annotations"]
    work["ignore_drift"] = ignored_paths(annotations)
    return work


def _since_protocol_7(row: Composable, options: ApplyOptions, protocol: int) -> Json:
    """What agents of protocol 7 are told besides: how the kind is held, which one object is meant."""
    work: Json = {}
    if row.form is not None and protocol >= KINDS:
        work["kind_rule"] = WorkForm.from_json(row.form).at_scale(options.parallelism).rule
    if options.object_uid and protocol >= OBJECT_UIDS:
        work["object_uid"] = options.object_uid
    return work


def _of_job(row: Composable, given: Json, options: ApplyOptions, stamp: compose.Stamp) -> Json:
    """What a work says of a Job's content, or of another kind's."""
    if row.form is None:
        made = compose.compose_job(given, options, stamp)
        return {"manifest": made, "when_to_take_over": "Never"}
    form = WorkForm.from_json(row.form)
    made = compose.compose_kind(given, form, options, stamp)
    return {"manifest": made, "when_to_take_over": "Never", "report_status": True}


def without_manifest(one: PreparedOffer, session: str) -> Json:
    """A work as one that says nothing of its content: an agent that is to apply it says that it can not."""
    row, options = one.row, one.options
    work: Json = {
        "uid": row.uid,
        "epoch": row.epoch,
        "generation": row.generation,
        "action": row.action,
        "api_version": row.api_version,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "hash": told_hash(row.action, one.hash),
        "seen": row.seen,
        "fresh": bool(session) and options.session == session and not options.doubtful,
    }
    if options.ttl_s is not None:
        work["ttl_s"] = options.ttl_s
    return work


def ignored_paths(annotations: Mapping[str, str] | None) -> list[str]:
    """JSON pointers of annotation `roadstead.dev/ignore-drift`, separated by commas or blanks."""
    text = (annotations or {}).get(keys.PREFIX + "ignore-drift", "")
    return [each for each in text.replace(",", " ").split() if each.startswith("/")]


def _prepare(
    tx: Transaction, row: Composable, ask: Ask, placements: Mapping[str, StoredObject]
) -> PreparedOffer | None:
    if row.action not in {"Apply", "Compare"}:
        return PreparedOffer(row, row.options, row.hash)
    thing, thing_hash = _thing(row)
    if row.job_manifest is None and thing is None:
        _give_up(tx, row)
        return None
    placed = row.state == State.PLACED and row.workload_epoch == row.epoch
    if row.state is not None and not row.offered and not placed:
        works.remove(tx, [(row.cluster, row.uid)])  # taken back; nobody outside knows of it
        return None
    options = row.options if row.offered else _decide(row, ask, placements)
    manifest_hash = row.job_hash if row.job_manifest is not None else thing_hash
    return PreparedOffer(row, options, compose.digest(manifest_hash or "", options, row.epoch))


def _thing(row: Composable) -> tuple[Json | None, str | None]:
    """What an object is composed from, with its hash: what its placement gave the cluster.

    A row that a hub of an earlier release wrote since is of the object as it is now.
    """
    given = row.content_manifest
    if given is None:
        return row.object_manifest, row.object_hash
    same = compose.digest(row.content, row.options, row.epoch) == row.hash
    if same or row.options.envelope:  # what lies in an envelope is no object of the hub
        return given, row.content
    return row.object_manifest, row.object_hash


def _decide(row: Composable, ask: Ask, placements: Mapping[str, StoredObject]) -> ApplyOptions:
    """The options of an epoch, at its first offering."""
    options = row.options
    if row.job_manifest is None:
        return options  # an object's stand since its placement wrote the row
    queue = row.queue or ""
    # Other kinds than Job are started by the agent alone.
    is_managed = row.form is None and f"{row.namespace}/{queue}" in ask.queue_managers
    managed = bool(queue) and is_managed
    placement = placements.get(row.placed_by)
    apply: JsonView = {}
    placed_by = f"LocalQueue/{queue}" if queue else ""
    if placement is not None:
        apply = ((placement.spec or {}).get("strategy") or {}).get("applyStrategy") or {}
        placed_by = f"{placement.kind}/{placement.name}"
    always = "Always" if placement is not None else ""
    return replace(
        options,
        session=ask.session,
        when_to_apply=options.when_to_apply or apply.get("whenToApply") or always,
        when_to_take_over=options.when_to_take_over or apply.get("whenToTakeOver") or "",
        placed_by=placed_by,
        suspend=managed,
        queue=queue if managed else "",
        ttl_s=options.ttl_s if row.ttl_s is None else row.ttl_s,
    )


def _placements(tx: Transaction, found: Sequence[Sequence[Composable]]) -> dict[str, StoredObject]:
    """The placements that caused rows offered for the first time."""
    return objects.get_many(tx, {row.placed_by for rows in found for row in rows if row.placed_by})


def _give_up(tx: Transaction, row: Composable) -> None:
    """A work whose manifest is gone: a job fails, an object goes or is left; other works go on."""
    if row.state is None or row.offered:
        left = row.state is None and row.options.abandon
        works.act(tx, "Keep" if left else "Withdraw", [(row.cluster, row.uid)])
        return
    mine = WorkloadMove(uid=row.uid, epoch=row.epoch, reason="ManifestMissing", message=_MISSING)
    workloads.transition(tx, Transition.UNPLACE, [mine])
    workloads.transition(tx, Transition.FAIL, [mine])
    works.remove(tx, [(row.cluster, row.uid)])
