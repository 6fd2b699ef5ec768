"""People who stop, shrink and delete the queue of all jobs, mostly while a plan is made.

Some time later it is as it was. Played on level `services`. Invariant R-23: no job is placed through a queue
that is stopped or gone by the time of the commit, nor beyond the quota that the queue has then.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from hub.services.objects.apply import apply_documents
from hub.services.objects.delete import delete_object
from hub.services.reading.draft import draft
from hub.store.transaction import Transaction
from shared.kinds.kueue_v1beta2 import GROUP
from shared.kinds.registry import parse
from tests.services.hubs import a_queue
from tests.simulation.faults import Fault
from tests.simulation.world import Violation

if TYPE_CHECKING:
    from tests.simulation.services import Whole, WholeRun

Act = Callable[["Queue", "Whole", Fault, Transaction], None]


class Queue:
    """The one queue as it was committed last."""

    def __init__(self, limit: int) -> None:
        self.full = limit  # as it is meant to be
        self.limit = limit
        self.stopped = self.gone = False

    def placed(self, uid: str, charged: int) -> None:
        """R-23: `charged` pods, those of `uid` among them, are charged once it is placed."""
        if self.gone or self.stopped:
            what = "gone" if self.gone else "stopped"
            raise Violation("R-23", f"{uid} is placed through a queue that is {what}")
        if charged > self.limit:
            raise Violation("R-23", f"{charged} are charged, the queue has {self.limit} by now")

    def apply(self, hub: "Whole", tx: Transaction, limit: int, *, stopped: bool = False) -> None:
        """Make it so."""
        spec = {"stopPolicy": "Hold"} if stopped else {}
        queue = a_queue("q", "n", quota={"cpu": str(limit)}, spec=spec)[1]
        given = [draft(parse(queue), tx.now)]
        (answer,) = apply_documents(tx, given, hub.hub.settings.intake)
        assert answer.error is None, answer
        self.limit, self.stopped, self.gone = limit, stopped, False

    def delete(self, tx: Transaction) -> None:
        """Raises Rejected while jobs are charged to it."""
        if not self.gone:
            delete_object(tx, GROUP, "ClusterQueue", "", "q", origin="rest", principal="somebody")
            self.gone = True


def _stop(queue: Queue, hub: "Whole", _fault: Fault, tx: Transaction) -> None:
    queue.apply(hub, tx, queue.limit, stopped=True)


def _shrink(queue: Queue, hub: "Whole", fault: Fault, tx: Transaction) -> None:
    queue.apply(hub, tx, int(fault.draw * queue.full), stopped=queue.stopped)


def _delete(queue: Queue, _hub: "Whole", _fault: Fault, tx: Transaction) -> None:
    queue.delete(tx)


ACTS: Final[dict[str, Act]] = {
    "queue stopped": _stop,
    "queue shrunk": _shrink,
    "queue deleted": _delete,
}


def befall(run: Any, fault: Fault, _until: float) -> None:
    """Between the next plan and its commit, or where none is made after the next turn."""
    hub: Whole = run.hub
    if not hub.up:
        return

    def act(tx: Transaction) -> None:
        run.world.after(fault.seconds, restore, run)
        ACTS[fault.kind](hub.queue, hub, fault, tx)

    hub._meanwhile.append(act)
    hub.look_soon(0.05)


def restore(run: "WholeRun") -> None:
    """It is as it is meant to be again."""
    hub: Whole = run.hub  # type: ignore[assignment]  # of this level
    if not hub.up:
        run.world.after(3.0, restore, run)
        return
    hub.run(hub.hub.write(lambda tx: hub.queue.apply(hub, tx, hub.queue.full)))
    hub._look_at_the_books()
