"""Carrying out what follows for reserved workloads: placed when all checks are Ready, or given back.

One transaction for everybody a turn settles. What checks add to the pods enters the work's options;
where two of them disagree, or contradict the template, the workload is evicted and says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import orjson

from hub.domain.workloads import admission_checks
from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State, Transition
from hub.services.index.check_catalog import Gate
from hub.services.index.reservations import Settlement
from hub.services.scheduling import commit, lapses
from hub.services.scheduling.commit import PreparedPlan
from hub.services.scheduling.grounds import Grounds
from hub.services.scheduling.reserve import awaited
from hub.services.works.evict import Requeue, evict
from hub.store import checks as stored, manifests, workloads
from hub.store.records.workloads import WorkloadChange
from hub.store.schedule import SchedulingRow
from hub.store.transaction import Transaction
from hub.store.workloads import BARE
from shared.documents import Json, JsonView

_COUNTED: Final = Requeue(counted=True, later=True)


def carry_out(
    tx: Transaction, settled: Settlement, gate: Gate, term: int, grounds: Grounds
) -> list[str]:
    """Place, requeue, evict and ask again; the uids placed. Raises StaleTerm."""
    tx.require_term(term)
    stopped = lapses.still_stopped(tx, grounds, settled.stopped)
    for (reason, message), uids in stopped.items():
        evict(tx, uids, reason, message)
    _give_back(tx, settled.back)
    here = _reserved(tx, [*settled.asked, *settled.told])
    _ask(tx, {uid: required for uid, required in settled.asked.items() if uid in here}, gate)
    told = [(uid, message) for uid, message in settled.told.items() if uid in here]
    workloads.change(tx, [{"uid": uid, "message": message} for uid, message in told])
    ready = _as_answered(tx, settled.ready)
    lapsed = lapses.of_reservations(tx, grounds, [row for row, _ in ready])
    return _place(tx, [each for each in ready if each[0].uid not in lapsed])


def _reserved(tx: Transaction, uids: Sequence[str]) -> set[str]:
    """Those that are still reserved: whatever else a job has become meanwhile says so itself."""
    found = workloads.get_many(tx, uids)
    return {uid for uid, row in found.items() if row.state == State.RESERVED}


def _as_answered(
    tx: Transaction, ready: Sequence[tuple[SchedulingRow, ApplyOptions]]
) -> list[tuple[SchedulingRow, ApplyOptions]]:
    """Those whose checks have the same answers as in the decision; the others are decided again."""
    states = stored.states_of(tx, [row.uid for row, _ in ready])
    return [
        (row, options)
        for row, options in ready
        if (orjson.loads(row.checks) if row.checks else {}) == states.get(row.uid, {})
    ]


def _give_back(tx: Transaction, rows: Sequence[tuple[str, int, str, str]]) -> None:
    """Their clusters no longer do: quota is free, and checks are asked again for the next one."""
    at = tx.now.isoformat()
    states = stored.states_of(tx, [uid for uid, _, _, _ in rows])
    workloads.transition(
        tx,
        Transition.UNRESERVE,
        [
            {
                "uid": uid,
                "epoch": epoch,
                "reason": reason,
                "message": message,
                "checks": admission_checks.closed(states.get(uid, {}), at) or None,
            }
            for uid, epoch, reason, message in rows
        ],
    )


def _ask(tx: Transaction, asked: Mapping[str, tuple[str, ...]], gate: Gate) -> None:
    """The checks of their queues have changed."""
    present, at = stored.states_of(tx, asked), tx.now.isoformat()
    changed: list[WorkloadChange] = []
    for uid, required in asked.items():
        states = present.get(uid, {})
        fresh = admission_checks.opened(required, gate.known, states, at)
        now = admission_checks.synced(states, required, fresh)
        if now is not None:
            message = f"waits for admission checks: {awaited(now, gate.known)}"
            changed.append({"uid": uid, "checks": now or None, "message": message})
    workloads.change(tx, changed)


def _place(tx: Transaction, ready: Sequence[tuple[SchedulingRow, ApplyOptions]]) -> list[str]:
    """Fix the tentative clusters and hand the works over."""
    states = {row.uid: orjson.loads(row.checks) for row, _ in ready if row.checks}
    updated = [uid for uid, each in states.items() if _updates(each)]
    documents = manifests.latest_of(tx, updated)
    prepared = PreparedPlan()
    for row, injected in ready:
        options, conflicts = injected, list[str]()
        if row.uid in documents:
            options, conflicts = _with_updates(
                row, injected, states[row.uid], orjson.loads(documents[row.uid])
            )
        if conflicts:
            message = f"admission checks can not be carried out: {'; '.join(conflicts)}"
            evict(tx, [row.uid], admission_checks.EVICTED, message, requeue=_COUNTED)
            continue
        prepared.moves.append(
            {
                "uid": row.uid,
                "epoch": row.epoch,
                "if_state": row.state,  # only what is reserved has its quota charged
                "if_generation": row.generation,
                "cluster": row.cluster,
            }
        )
        prepared.options[row.uid] = options
        prepared.placed_by[row.uid] = row.placement
    return commit.place(tx, prepared.moves, prepared) if prepared.moves else []


def _updates(states: admission_checks.States) -> bool:
    return any(each.get("podSetUpdates") for each in states.values())


def _with_updates(
    row: SchedulingRow, options: ApplyOptions, states: admission_checks.States, manifest: Json
) -> tuple[ApplyOptions, list[str]]:
    """The options with what checks add to a Job's one pod set, and where they contradict."""
    admitted = orjson.loads(row.admission) if row.admission else {}
    name, *more = [p["name"] for p in admitted.get("podSets") or ()] or ["main"]
    added = admission_checks.additions(states, name, dict(options.node_selector))
    if more and row.kind not in {"Job", BARE}:
        return _with_updates_of_each(options, states, [name, *more])
    for other in more:  # of a bare Workload: who runs it reads them from its status
        added.conflicts += admission_checks.additions(states, other, {}).conflicts
    template = (manifest.get("spec") or {}).get("template") or {}
    metadata, pod = template.get("metadata") or {}, template.get("spec") or {}
    conflicts = added.conflicts + admission_checks.template_conflicts(
        added,
        metadata.get("labels") or {},
        metadata.get("annotations") or {},
        pod.get("nodeSelector") or {},
    )
    with_added = replace(
        options,
        pod_labels=added.labels or options.pod_labels,
        pod_annotations=added.annotations or options.pod_annotations,
        node_selector=added.node_selector or options.node_selector,
        tolerations=(*options.tolerations, *added.tolerations),
    )
    return with_added, conflicts


def _with_updates_of_each(
    options: ApplyOptions, states: admission_checks.States, names: Sequence[str]
) -> tuple[ApplyOptions, list[str]]:
    """The same of a kind with several pod sets: each gets its own."""
    conflicts: list[str] = []
    given: dict[str, JsonView] = {}
    for name in names:
        of_it = options.of_pod_set(name)
        added = admission_checks.additions(states, name, dict(of_it.node_selector))
        conflicts += added.conflicts
        given[name] = {
            "node_selector": dict(added.node_selector or of_it.node_selector),
            "tolerations": [*of_it.tolerations, *added.tolerations],
            "pod_labels": dict(added.labels),
            "pod_annotations": dict(added.annotations),
        }
    return replace(options, pod_sets=given), conflicts
