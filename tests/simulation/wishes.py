"""What people wish for a job of the simulated hub, carried out by the product's services."""

from typing import Any

from hub.domain.workloads.states import WithdrawTo
from hub.services.jobs import cancel, hold
from hub.services.works import evict
from hub.store.transaction import Transaction

HELD = frozenset({"Placed", "Offered", "Applied", "Running", "Withdrawing", "Unknown"})
ENDED = frozenset({"Succeeded", "Failed", "Cancelled"})


def carry_out(tx: Transaction, uid: str, row: dict[str, Any], wish: str) -> None:
    """In a transaction. Raises Rejected."""
    match wish:
        case "hold":
            hold.hold_job(tx, uid, "somebody")
        case "release":
            hold.release_job(tx, uid, "somebody")
        case "cancel":
            cancel.cancel_job(tx, uid, "somebody")
        case "delete":
            cancel.delete_job(tx, uid, "somebody")
        case "deactivate" if row["state"] not in ENDED:
            evict.evict(tx, [uid], "Deactivated", "", to=WithdrawTo.DEACTIVATED)
        case "preempt" if row["state"] in HELD:
            evict.evict(tx, [uid], "Preempted", "")


def goes_on(was: dict[str, Any], row: dict[str, Any]) -> bool:
    """True if a job stays where it is, and only its epoch is another: no placement."""
    there = was["state"] in HELD - {"Placed"} and was["cluster"] == row["cluster"]
    return there and row["state"] not in {"Placed", "Pending", "Held", "Deactivated"}
