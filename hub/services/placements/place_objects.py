"""Works for the objects that a placement selects: in every chosen cluster, and in no other."""

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.placements import reporting
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.works import compose
from hub.store import works
from hub.store.records.objects import StoredObject
from hub.store.records.works import WantedWork, Work
from hub.store.transaction import Transaction
from shared.documents import JsonView


def place_objects(tx: Transaction, outcome: ReconcileOutcome, spec: JsonView) -> None:
    """Works for every selected object in every chosen cluster; what is no longer desired goes."""
    placement = outcome.row
    uid = placement.uid
    chosen = outcome.decisions.selected
    options = _options(placement, spec)
    present = {
        (work.cluster, work.uid): work
        for work in works.of_uids(tx, list(outcome.selection.objects))
    }
    fresh: list[WantedWork] = []
    changed: list[WantedWork] = []
    for cluster in chosen:
        for row in outcome.selection.objects.values():
            old = present.get((cluster, row.uid))
            if old is not None and old.placed_by != uid and old.action != "Withdraw":
                outcome.conflicts[(cluster, row.uid)] = old.placed_by
                continue
            wanted = _work(cluster, row, options, uid)
            if old is None:
                fresh.append(wanted)
            elif _differs(old, wanted):
                changed.append(wanted)
    works.upsert(tx, fresh)
    works.renew(tx, changed)
    wanted_keys = {(c, o) for c in chosen for o in outcome.selection.objects}
    works.act(
        tx,
        "Withdraw",
        [
            (work.cluster, work.uid)
            for work in works.of_placement(tx, uid)
            if work.epoch == 0
            and work.action != "Withdraw"
            and (work.cluster, work.uid) not in wanted_keys
        ],
    )


def _options(placement: StoredObject, spec: JsonView) -> ApplyOptions:
    apply = (spec.get("strategy") or {}).get("applyStrategy") or {}
    return ApplyOptions(
        when_to_apply=apply.get("whenToApply") or "Always",
        when_to_take_over=apply.get("whenToTakeOver") or "",
        placed_by=f"{placement.kind}/{placement.name}",
        report_status=reporting.is_asked(spec),
    )


def _work(cluster: str, row: StoredObject, options: ApplyOptions, placement: str) -> WantedWork:
    return {
        "cluster": cluster,
        "uid": row.uid,
        "epoch": 0,
        "generation": row.generation,
        "api_version": row.api_version,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "options": options,
        "placed_by": placement,
        "hash": compose.digest(row.hash, options, 0),
        "action": "Apply",
    }


def _differs(old: Work, wanted: WantedWork) -> bool:
    return (
        old.generation != wanted["generation"]
        or old.hash != wanted["hash"]
        or old.action != wanted["action"]
        or old.placed_by != wanted["placed_by"]
        or old.options != wanted["options"]
    )
