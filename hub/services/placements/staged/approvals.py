"""Requests for approval: objects that a run makes before or after a stage, and what people say to them.

The hub makes them as REST would, so that they are shown on the hub cluster; there, anybody who may write
their status approves them, as in KubeFleet: condition Approved.
"""

from collections.abc import Sequence
from typing import Final

from hub.domain.workloads.origin import Origin
from hub.services.placements.staged.status import request_name
from hub.services.reading.draft import draft
from hub.store import audit, objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.conditions import is_true, set_condition
from shared.documents import JsonView
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.registry import parse
from shared.kinds.staged_v1 import REQUEST_KINDS, RUN_KINDS
from shared.reject_codes import RejectCode

APPROVED: Final = "Approved"
ACCEPTED: Final = "ApprovalAccepted"
_SERVED: Final = (f"{PLACEMENT}/v1beta1", f"{PLACEMENT}/v1")  # by the hub cluster
_LABELS: Final = "kubernetes-fleet.io/"
Where = tuple[str, str]  # stage, "before" | "after"


def request_kind(run_kind: str) -> str:
    """The kind of the requests that runs of a kind make."""
    return REQUEST_KINDS[RUN_KINDS.index(run_kind)]


def is_approved(request: StoredObject) -> bool:
    """True if a person has approved it. The run goes on by it with its next turn."""
    return is_true((request.status or {}).get("conditions"), APPROVED)


def approved(tx: Transaction, run: StoredObject, asked: Sequence[Where]) -> set[Where]:
    """Those of a run's requests that are approved."""
    found: set[Where] = set()
    for stage, when in asked:
        row = _find(tx, run, stage, when)
        if row is not None and is_approved(row):
            found.add((stage, when))
    return found


def ask(tx: Transaction, run: StoredObject, asked: Sequence[Where]) -> None:
    """Make the requests that are not there yet."""
    for stage, when in asked:
        if _find(tx, run, stage, when) is not None:
            continue
        version = run.api_version if run.api_version in _SERVED else _SERVED[0]
        manifest = {
            "apiVersion": version,
            "kind": request_kind(run.kind),
            "metadata": {
                "name": request_name(run.name, stage, when),
                "labels": {
                    f"{_LABELS}targetupdaterun": run.name,
                    f"{_LABELS}targetUpdatingStage": stage,
                    f"{_LABELS}taskType": f"{when}Stage",
                    f"{_LABELS}isLatestUpdateRunApproval": "true",
                },
            }
            | ({"namespace": run.namespace} if run.namespace else {}),
            "spec": {"parentStageRollout": run.name, "targetStage": stage},
        }
        given = draft(parse(manifest), tx.now, origin=Origin.REST)
        row = StoredObject(
            uid=given.uid,
            api_group=PLACEMENT,
            api_version=version,
            kind=given.parsed.kind,
            namespace=run.namespace,
            name=given.name,
            origin=Origin.REST,
            generation=1,
            labels=dict(given.parsed.labels),
            annotations={},
            spec=given.parsed.spec,
            manifest=given.manifest,
            hash=given.hash,
            status=None,
            created_at=tx.now,
            updated_at=tx.now,
            deleted_at=None,
        )
        objects.add(tx, row)
        tx.say(
            run,
            "ApprovalRequested",
            f"{given.parsed.kind} {row.name} waits for condition Approved",
        )


def accept(tx: Transaction, run: StoredObject, done: Sequence[Where]) -> None:
    """Say of requests that the run has gone on by them."""
    for stage, when in done:
        row = _find(tx, run, stage, when)
        if row is None:
            continue
        before = (row.status or {}).get("conditions") or []
        reason, text = "ApprovalRequestApprovalAccepted", "the run continues"
        after = set_condition(before, ACCEPTED, "True", reason, text, tx.now, row.generation)
        if after != before:
            objects.set_statuses(tx, {row.uid: {**(row.status or {}), "conditions": after}})


def approve(
    tx: Transaction, run: StoredObject, stage: str, when: str, principal: str
) -> StoredObject:
    """Approve what a run asks for. `stage`, `when` "": the one request that waits.

    Raises Rejected: InvalidState where nothing (or more than one) waits.
    """
    unanswered = [row for row in requests_of(tx, run) if not is_approved(row)]
    waiting = [
        row
        for row in unanswered
        if stage in ("", (row.spec or {}).get("targetStage")) and when in ("", when_of(run, row))
    ]
    if len(waiting) != 1:
        text = _which(run, stage, [row.name for row in waiting], [row.name for row in unanswered])
        raise Rejected(RejectCode.INVALID_STATE, f"{run.kind} {run.name}: {text}", "stage")
    (row,) = waiting
    say_approved(tx, row, f"approved by {principal}", "Approved")
    audit.add(tx, principal, "approve", f"{row.kind} {row.name} {row.uid}", run.name)
    return row


def _which(
    run: StoredObject, stage: str, waiting: Sequence[str], unanswered: Sequence[str]
) -> str:
    """The reason why the named request is not unique."""
    if waiting:
        return f"several requests wait, name the stage: {', '.join(sorted(waiting)[:5])}"
    told = (run.status or {}).get("stagesStatus") or ()
    stages = [str(each["stageName"]) for each in told]
    if stage and stages and stage not in stages:
        return f"it has no stage {stage[:63]}: its stages are {', '.join(stages)}"
    if unanswered:
        return f"nothing waits there; waiting: {', '.join(sorted(unanswered)[:5])}"
    return "nothing waits for approval: the run requests it when a stage reaches that point"


def hear_approval(tx: Transaction, term: int, uid: str, condition: JsonView) -> bool:
    """Take an approval that was written on the hub cluster; False: there is no such request (yet).

    Raises StaleTerm.
    """
    tx.require_term(term)
    row = objects.get(tx, uid)
    if row is None or row.kind not in REQUEST_KINDS:
        return False
    if not is_approved(row):
        reason, message = str(condition.get("reason") or ""), str(condition.get("message") or "")
        say_approved(tx, row, message[:500], reason[:100] or "Approved")
        told = f"on the hub cluster: {message[:200]}" if message else "on the hub cluster"
        audit.add(tx, "hub-cluster", "approve", f"{row.kind} {row.name} {row.uid}", told)
    return True


def say_approved(tx: Transaction, row: StoredObject, message: str, reason: str) -> None:
    """Note that a request is approved."""
    conditions = set_condition(
        (row.status or {}).get("conditions"),
        APPROVED,
        "True",
        reason,
        message,
        tx.now,
        row.generation,
    )
    objects.set_statuses(tx, {row.uid: {**(row.status or {}), "conditions": conditions}})
    tx.say(row, APPROVED, message or "it is approved")


def requests_of(tx: Transaction, run: StoredObject) -> list[StoredObject]:
    """The requests of a run."""
    rows = objects.list_kind(tx, PLACEMENT, request_kind(run.kind), namespace=run.namespace)
    return [row for row in rows if (row.spec or {}).get("parentStageRollout") == run.name]


def forget_requests(tx: Transaction, run: StoredObject) -> None:
    """A run is deleted: what the hub has asked for it goes, too."""
    for row in requests_of(tx, run):
        if row.origin == Origin.REST:
            objects.remove(tx, row.uid)


def when_of(run: StoredObject, request: StoredObject) -> str:
    """Whether approval is requested "before" or "after" its stage."""
    stage = (request.spec or {}).get("targetStage") or ""
    return "before" if request.name == request_name(run.name, stage, "before") else "after"


def _find(tx: Transaction, run: StoredObject, stage: str, when: str) -> StoredObject | None:
    name = request_name(run.name, stage, when)
    return objects.find(tx, PLACEMENT, request_kind(run.kind), run.namespace, name)
