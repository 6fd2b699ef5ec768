"""Users' actions on staged update runs over REST: approve, stop, resume, roll back.

A run that kubectl made is stopped and started with kubectl; what it asks for is approved by either, and a run
that stopped by itself is resumed by either.
"""

from typing import Final

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import apply_documents
from hub.services.placements.staged import approvals
from hub.services.placements.staged.drive import index_of, placement_of, state_of
from hub.services.placements.staged.status import BY_ITSELF, RESUMED, is_over
from hub.services.questions.rollouts import MOST, find_run, get_rollout
from hub.services.reading.draft import draft
from hub.store import audit, objects, placements
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.conditions import is_true, set_condition
from shared.documents import Json
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.registry import parse
from shared.kinds.staged_v1 import INITIALIZE, RUN, STOP
from shared.reject_codes import RejectCode

_LONGEST: Final = 50  # of a run's name, in the name of one that goes back
_MOST_BACK: Final = 1000
Where = tuple[str, str]  # namespace, name


def approve(tx: Transaction, where: Where, stage: str, when: str, principal: str) -> Json:
    """Approve what a run waits for: its one open request, or that of a stage. Raises Rejected."""
    run = _run(tx, where)
    approvals.approve(tx, run, stage, when, principal)
    return get_rollout(tx, *where)


def stop(tx: Transaction, where: Where, principal: str, intake: Intake) -> Json:
    """No cluster is begun any more; those under way are seen through. Raises Rejected."""
    run = _alive(tx, where)
    if state_of(run) == STOP:
        raise Rejected(RejectCode.INVALID_STATE, f"run {run.name} is stopped already")
    _set_state(tx, run, STOP, principal, intake)
    audit.add(tx, principal, "stop", _named(run), "")
    return get_rollout(tx, *where)


def resume(tx: Transaction, where: Where, principal: str, intake: Intake) -> Json:
    """Start a run, or resume it: also after the hub stopped it. Raises Rejected."""
    run = _alive(tx, where)
    status = run.status or {}
    halted = is_true(status.get("conditions"), BY_ITSELF)
    if not halted and state_of(run) == RUN:
        raise Rejected(RejectCode.INVALID_STATE, f"run {run.name} is not stopped")
    if state_of(run) != RUN:
        _set_state(tx, run, RUN, principal, intake)
    if halted:
        text = f"{principal} resumed it"
        conditions = set_condition(
            status.get("conditions"), BY_ITSELF, "False", RESUMED, text, tx.now, run.generation
        )
        objects.set_statuses(tx, {run.uid: {**status, "conditions": conditions}})
    audit.add(tx, principal, "resume", _named(run), "")
    return get_rollout(tx, *where)


def roll_back(tx: Transaction, where: Where, version: str, principal: str, intake: Intake) -> Json:
    """A new run, by the same strategy, with an older version; it takes over. Raises Rejected.

    `version` "": what the run before this one brought, else the one before its own.
    """
    run = _run(tx, where)
    kind, namespace, placement = placement_of(run)
    row = objects.find(tx, PLACEMENT, kind, namespace, placement)
    if row is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no {kind} {placement}")
    kept = sorted(each for each, _, _ in placements.history(tx, row.uid, "resources"))
    back = _chosen(tx, run, version, kept)
    spec = {
        "placementName": placement,
        "resourceSnapshotIndex": str(back),
        "stagedRolloutStrategyName": (run.spec or {}).get("stagedRolloutStrategyName"),
        "state": RUN,
    }
    name = _free_name(tx, run)
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    manifest = {
        "apiVersion": run.api_version,
        "kind": run.kind,
        "metadata": metadata,
        "spec": spec,
    }
    _apply(tx, manifest, principal, intake)
    audit.add(tx, principal, "rollback", _named(run), f"{name} to version {back}")
    return get_rollout(tx, namespace, name)


def _chosen(tx: Transaction, run: StoredObject, version: str, kept: list[int]) -> int:
    names = ", ".join(str(each) for each in kept)
    if version:
        if not version.isascii() or not version.isdigit() or int(version) not in kept:
            text = f"version {version[:20]} is not kept; kept are {names}"
            raise Rejected(RejectCode.INVALID_STATE, text, "version")
        return int(version)
    mine = index_of(run)
    if mine is None:
        text = f"run {run.name} is not planned yet: it has updated nothing"
        raise Rejected(RejectCode.INVALID_STATE, text)
    same = [
        other
        for other in placements.list_runs(tx, MOST)
        if placement_of(other) == placement_of(run)
        and (other.created_at, other.name) < (run.created_at, run.name)
        and is_true((other.status or {}).get("conditions"), "Succeeded")
    ]
    before = [index_of(other) for other in same]  # the newest first
    found = [each for each in before if each is not None and each != mine and each in kept]
    older = [each for each in kept if each < mine]
    if not found and not older:
        text = f"nothing older than version {mine} is kept; kept are {names}"
        raise Rejected(RejectCode.INVALID_STATE, text, "version")
    return found[0] if found else older[-1]


def _free_name(tx: Transaction, run: StoredObject) -> str:
    for number in range(1, _MOST_BACK):
        name = f"{run.name[:_LONGEST].rstrip('-.')}-back-{number}"
        if objects.find(tx, PLACEMENT, run.kind, run.namespace, name) is None:
            return name
    raise Rejected(RejectCode.INVALID_STATE, f"{_MOST_BACK} runs went back from {run.name}")


def _run(tx: Transaction, where: Where) -> StoredObject:
    run = find_run(tx, *where)
    if run is None:
        place = "/".join(part[:64] for part in where if part)
        raise Rejected(RejectCode.NOT_FOUND, f"there is no staged update run {place}")
    return run


def _alive(tx: Transaction, where: Where) -> StoredObject:
    run = _run(tx, where)
    if is_over(run.status):
        raise Rejected(RejectCode.INVALID_STATE, f"run {run.name} is over")
    return run


def _set_state(
    tx: Transaction, run: StoredObject, state: str, principal: str, intake: Intake
) -> None:
    if run.origin == Origin.HUB_CLUSTER:
        space = f" -n {run.namespace}" if run.namespace else ""
        text = (
            f"run {run.name} came from the hub cluster: kubectl patch {run.kind.lower()} {run.name}"
            f'{space} --type merge -p \'{{"spec":{{"state":"{state}"}}}}\''
        )
        raise Rejected(RejectCode.OWNED_ELSEWHERE, text)
    if state == STOP and state_of(run) == INITIALIZE:
        raise Rejected(
            RejectCode.INVALID_STATE, f"run {run.name} has not begun: delete it instead"
        )
    spec = {**(run.manifest.get("spec") or {}), "state": state}
    manifest = {k: v for k, v in run.manifest.items() if k != "status"}
    _apply(tx, {**manifest, "spec": spec}, principal, intake)


def _apply(tx: Transaction, manifest: Json, principal: str, intake: Intake) -> None:
    given = draft(parse(manifest), tx.now, submitted_by=principal)
    (applied,) = apply_documents(tx, [given], intake)
    if applied.error is not None:
        raise applied.error


def _named(run: StoredObject) -> str:
    place = "/".join(part for part in (run.namespace, run.name) if part)
    return f"{run.kind} {place} {run.uid}"
