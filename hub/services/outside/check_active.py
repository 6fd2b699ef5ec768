"""Condition Active of an admission check, set by its controller.

A queue admits nothing while a check of it is not active. For MultiKueue's checks the hub itself is the
controller (`hub.services.queues.multikueue`).
"""

from collections.abc import Sequence
from typing import Final

from hub.domain.workloads.admission_checks import MULTIKUEUE
from hub.services.context import rendering
from hub.services.index.check_catalog import CHECK, read_check
from hub.services.questions.objects import find
from hub.services.queues import conditions as queue_conditions
from hub.services.queues.refresh import refresh_queues
from hub.store import audit, objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView
from shared.errors import FieldError, Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode

_FIELDS: Final = frozenset(
    {"type", "status", "reason", "message", "lastTransitionTime", "observedGeneration"}
)


def set_status(
    tx: Transaction,
    group: str,
    kind: str,
    namespace: str,
    name: str,
    conditions: object,
    principal: str,
) -> Json:
    """Set the conditions of an AdmissionCheck; the object. Conditions of other types stay.

    Raises Rejected: NotFound, NotSettable (the hub writes the status of every other kind, and of its
    own checks), and faults of fields.
    """
    row = find(tx, group, kind, namespace, name)
    if (group, kind) != (KUEUE, CHECK):
        raise Rejected(
            RejectCode.NOT_SETTABLE, f"the status of a {kind[:64]} is written by the hub"
        )
    given = read_conditions(conditions)
    if read_check(row).controller == MULTIKUEUE:
        raise Rejected(
            RejectCode.NOT_SETTABLE, f"the hub itself is the controller of check {name[:64]}"
        )
    if put_conditions(tx, row, given):
        audit.add(tx, principal, "status", f"{CHECK} {name}")
    return rendering.whole_object(find(tx, group, kind, namespace, name))


def put_conditions(tx: Transaction, row: StoredObject, given: Sequence[Json]) -> bool:
    """Merge conditions into the status of a check; False if they are already set."""
    told = {each["type"] for each in given}
    kept = [
        {key: value for key, value in each.items() if key in _FIELDS - {"lastTransitionTime"}}
        for each in (row.status or {}).get("conditions") or ()
        if each["type"] not in told
    ]
    conditions = [*kept, *given]
    status = queue_conditions.with_conditions(row.status, conditions, tx.now, row.generation)
    if status is None:
        return False
    objects.set_statuses(tx, {row.uid: status})
    refresh_queues(tx)
    return True


def read_conditions(given: object) -> list[Json]:
    """Conditions as a controller sends them. Raises Rejected with every fault."""
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise Rejected(RejectCode.INVALID_TYPE, "must be a list of conditions", "conditions")
    faults: list[FieldError] = []
    read = [_condition(f"conditions[{index}]", each, faults) for index, each in enumerate(given)]
    types = [each["type"] for each in read]
    if len(set(types)) < len(types):
        faults.append(FieldError("conditions", RejectCode.DUPLICATE, "a type is given twice"))
    if faults:
        first = faults[0]
        raise Rejected(first.code, f"{first.field}: {first.message}", errors=tuple(faults))
    return read


def _condition(path: str, each: JsonView, faults: list[FieldError]) -> Json:
    faults += [
        FieldError(f"{path}.{name[:64]}", RejectCode.UNKNOWN_FIELD, "is unknown")
        for name in sorted(set(each) - _FIELDS)
    ]
    faults += [
        FieldError(f"{path}.{name}", RejectCode.REQUIRED, "is required, as a text")
        for name in ("type", "status", "reason")
        if not isinstance(each.get(name), str) or not each[name]
    ]
    if each.get("status") not in ("True", "False", "Unknown"):
        text = "must be True, False or Unknown"
        faults.append(FieldError(f"{path}.status", RejectCode.INVALID_VALUE, text))
    message = each.get("message") or ""
    if not isinstance(message, str):
        faults.append(FieldError(f"{path}.message", RejectCode.INVALID_TYPE, "must be a text"))
    return {
        "type": str(each.get("type")),
        "status": str(each.get("status")),
        "reason": str(each.get("reason"))[:1024],
        "message": str(message)[:32_768],
    }
