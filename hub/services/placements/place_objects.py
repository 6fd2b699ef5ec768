"""Works for the objects of a placement's clusters; withdraws those that it no longer wants."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.placements import reporting
from hub.services.placements.abandon import HELD, abandons, compares, give_up
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.placements.selecting import Selection
from hub.services.reading import envelopes
from hub.services.works import compose
from hub.store import objects, works
from hub.store.records.objects import StoredObject
from hub.store.records.placements import SelectedObject
from hub.store.records.works import WantedWork, Work
from hub.store.transaction import Transaction
from shared.documents import JsonView

Held = dict[str, dict[str, Work]]  # by cluster and uid: what a placement has there


def read_held(tx: Transaction, uid: str) -> Held:
    """A placement's objects in clusters, Jobs aside, and those being withdrawn."""
    found: Held = {}
    for work in works.of_placement(tx, uid):
        if work.epoch == 0:
            found.setdefault(work.cluster, {})[work.uid] = work
    return found


def take_over(
    tx: Transaction,
    outcome: ReconcileOutcome,
    entries: Sequence[SelectedObject],
    clusters: Collection[str],
    held: Held,
) -> dict[tuple[str, str], str]:
    """(cluster, object) → the placement that has placed it there before this one could.

    What another placement takes back there is this one's to give from now on: it is added to `held`, and
    so is what another only compares: a comparison claims nothing. A placement that compares takes nothing
    from others: they delete, release or change what they placed. The same object may have been placed out
    of an envelope, or beside one.
    """
    uid, selection = outcome.row.uid, outcome.selection
    reads_only = compares(outcome.row.spec or {})
    conflicts: dict[tuple[str, str], str] = {}
    same = _known_otherwise(tx, selection)
    for work in works.of_uids(tx, [each.uid for each in entries] + list(same)):
        if work.cluster not in clusters or work.placed_by == uid:
            continue
        claimed = reads_only or work.action == "Apply"
        if work.uid in same:
            if claimed and work.action in HELD:
                conflicts[work.cluster, same[work.uid]] = work.placed_by
        elif not claimed:
            # A compared object was never applied for a placement.
            old = work._replace(action="Withdraw") if work.action == "Compare" else work
            held.setdefault(work.cluster, {})[work.uid] = old
        else:
            conflicts[work.cluster, work.uid] = work.placed_by
    return conflicts


def _known_otherwise(tx: Transaction, selection: Selection) -> dict[str, str]:
    """Uids by which other placements would know objects → by which this one does."""
    if not (selection.inside or envelopes.are_stored(tx)):
        return {}
    inner = [selection.objects[uid] for uid in selection.inside if uid in selection.objects]
    stored = objects.uids_of(tx, [envelopes.identity_of(row) for row in inner])
    found = {
        stored[identity]: row.uid
        for row in inner
        if (identity := envelopes.identity_of(row)) in stored
    }
    for uid, row in selection.objects.items():
        if uid not in selection.inside:
            found[envelopes.uid_of(envelopes.identity_of(row))] = uid
    return found


def place_objects(
    tx: Transaction,
    outcome: ReconcileOutcome,
    spec: JsonView,
    held: Held,
    give: Mapping[str, Sequence[SelectedObject]],
) -> None:
    """`give`: the clusters' objects from now on, and nothing else; none: all are withdrawn.

    Others keep what they hold; how it is applied follows the placement at once.
    """
    options = _options(outcome.row, spec)
    uid = outcome.row.uid
    fresh: list[WantedWork] = []
    changed: list[WantedWork] = []
    gone: list[Work] = []
    inside = outcome.selection.inside
    for cluster, entries in give.items():
        there = held.get(cluster, {})
        wanted = {e.uid for e in entries}
        for entry in entries:
            if (cluster, entry.uid) in outcome.conflicts:
                continue
            old = there.get(entry.uid)
            envelope = inside.get(entry.uid, "")
            own = replace(options, envelope=envelope) if envelope else options
            work = _work(cluster, entry, own, uid, old)
            if old is None:
                fresh.append(work)
            elif _differs(old, work):
                changed.append(work)
        gone += [each for each in there.values() if each.uid not in wanted]
    for cluster, there in held.items():
        if cluster not in give:
            changed += [
                _reoptioned(old, options) for old in there.values() if _is_other(old, options)
            ]
    works.upsert(tx, fresh)
    works.renew(tx, changed)
    give_up(tx, gone, spec)


def _options(placement: StoredObject, spec: JsonView) -> ApplyOptions:
    apply = (spec.get("strategy") or {}).get("applyStrategy") or {}
    forced = apply.get("serverSideApplyConfig")
    return ApplyOptions(
        when_to_apply=apply.get("whenToApply") or "Always",
        when_to_take_over=apply.get("whenToTakeOver") or "",
        placed_by=f"{placement.kind}/{placement.name}",
        report_status=reporting.is_asked(spec),
        abandon=abandons(spec),
        force=None if forced is None else bool(forced.get("force")),
        co_ownership=bool(apply.get("allowCoOwnership")),
        compare_all=apply.get("comparisonOption") == "FullComparison",
        compare_only=compares(spec),
    )


def _action(options: ApplyOptions) -> str:
    return "Compare" if options.compare_only else "Apply"


def _work(
    cluster: str, entry: SelectedObject, options: ApplyOptions, placement: str, old: Work | None
) -> WantedWork:
    options = _kept(options, old)
    return {
        "cluster": cluster,
        "uid": entry.uid,
        "epoch": 0,
        "generation": _generation(entry, old),
        "api_version": entry.api_version,
        "kind": entry.kind,
        "namespace": entry.namespace,
        "name": entry.name,
        "options": options,
        "placed_by": placement,
        "hash": compose.digest(entry.hash, options, 0),
        "action": _action(options),
        "content": entry.hash,
    }


def _generation(entry: SelectedObject, old: Work | None) -> int:
    """Bump generation on any content change, rollback too: a report of a lower one is about other content."""
    if old is None:
        return entry.generation
    same = compose.digest(entry.hash, old.options, 0) == old.hash and old.action in HELD
    return old.generation if same else max(entry.generation, old.generation + 1)


def _reoptioned(old: Work, options: ApplyOptions) -> WantedWork:
    """The same, applied otherwise; what a hub of before rollouts gave stays of the object as it is."""
    options = _as_before(options, old)
    return {
        "cluster": old.cluster,
        "uid": old.uid,
        "epoch": 0,
        "generation": old.generation,
        "api_version": old.api_version,
        "kind": old.kind,
        "namespace": old.namespace,
        "name": old.name,
        "options": options,
        "placed_by": old.placed_by,
        "hash": compose.digest(old.content, options, 0) if old.content else "",
        "action": _action(options),
        "content": old.content,
    }


def _is_other(old: Work, options: ApplyOptions) -> bool:
    return old.action in HELD and old.options != _as_before(options, old)


def _as_before(options: ApplyOptions, old: Work) -> ApplyOptions:
    kept, envelope = _kept(options, old), old.options.envelope
    return kept if kept.envelope == envelope else replace(kept, envelope=envelope)


def _kept(options: ApplyOptions, old: Work | None) -> ApplyOptions:
    """With what a person has asked of this work alone."""
    if old is None or old.options.restore == options.restore:
        return options
    return replace(options, restore=old.options.restore)


def _differs(old: Work, wanted: WantedWork) -> bool:
    return (
        old.generation != wanted["generation"]
        or old.hash != wanted["hash"]
        or old.action != wanted["action"]
        or old.placed_by != wanted["placed_by"]
        or old.options != wanted["options"]
        or old.content != wanted["content"]
    )
