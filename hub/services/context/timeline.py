"""Detects that the store rolled back to an older copy, and blocks what must not happen then.

Every start of a hub process is a run, written down with the revision it began at; of several processes
on one store each begins one, and all go on in the newest. Each reply to an agent carries a mark: the
incarnation and the run, the revision that the store had come to, and a proof that this hub made it.
Agents give their marks back, from memory and from the Jobs they made. A mark that this store does not
hold was given out by a later state than it has: jobs were placed that it knows nothing of. Then nothing is
dispatched until an administrator says how to go on (invariant R-15).
Marks of an earlier incarnation are of time that was accepted as lost; those of a later one say that the
store is from before it was accepted.
"""

import datetime as dt
import hashlib
import hmac
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hub.services.context.incarnations import began_ms, new_incarnation
from hub.store import changes, settings
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.agent_v1 import Mark

CODE: Final = RejectCode.HUB_ROLLED_BACK
# The short message for other requests; `roadstead restored` shows the details.
BRIEFLY: Final = (
    "dispatch is stopped: this hub's store was rolled back to an older copy; an administrator decides how "
    "to continue (roadstead restored)"
)
MAX_RUNS: Final = 4096
_RUNS: Final = "runs"
BEGUN: Final = "runs"  # the feed's kind: names of runs
_STOPPED: Final = "rolled_back"


@dataclass(slots=True)
class StoreTimeline:
    """The runs of this store, the present one last, and whether dispatch is stopped."""

    incarnation: str
    key: bytes
    runs: list[tuple[str, int]]  # name, and the revision at which it began
    truncated: bool = False  # earlier runs are no longer known
    stopped: str = ""  # why nothing is dispatched; "" while all is well
    recovering: bool = (
        False  # it stopped as a backup was restored: its incarnation has begun already
    )
    _began: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._number()

    def _number(self) -> None:
        self._began = {name: index for index, (name, _) in enumerate(self.runs)}

    def take(self, present: tuple[str, str, bool]) -> None:
        """The store's present value, as `standing` reads it."""
        self.incarnation, self.stopped, self.recovering = present

    def know(self, told: tuple[list[tuple[str, int]], tuple[str, str, bool]]) -> str:
        """The store's runs, as `told` reads them, before those heard of since; its incarnation now."""
        runs, present = told
        stored = {name for name, _ in runs}
        newest = runs[-1][1] if runs else 0
        since = [run for run in self.runs if run[0] not in stored and run[1] >= newest]
        self.runs = [*runs, *since]
        self._number()
        self.take(present)
        return self.incarnation

    def begun(self, name: str, revision: int) -> None:
        """Another process began a run, in the commit of `revision`."""
        if name not in self._began:
            self._began[name] = len(self.runs)
            self.runs.append((name, revision - 1))

    def begin_runs(self, names: Iterable[str], revision: int) -> None:
        """Likewise, several."""
        for name in sorted(names):
            self.begun(name, revision)

    def mark(self, revision: int) -> Mark:
        """The mark of a reply that follows from what is committed up to `revision`."""
        run = next((name for name, began in reversed(self.runs) if began < revision), "")
        run = run or self.runs[0][0]
        proof = self._proof(self.incarnation, run, revision)
        return Mark(run=f"{self.incarnation}.{run}", revision=revision, proof=proof)

    def contradicts(self, mark: Mark, revision: int) -> bool:
        """True if this store, now at `revision`, can not have issued this mark.

        A mark without a valid proof counts for nothing: only this hub can stop it.
        """
        incarnation, run = _names(mark, self.incarnation)
        proof = self._proof(incarnation, run, mark.revision)
        if not _is_equal(mark.proof, proof):
            return False
        if incarnation != self.incarnation:
            return began_ms(incarnation) > began_ms(self.incarnation)
        index = self._began.get(run)
        if index is None:
            return not self.truncated or mark.revision > self.runs[0][1]
        ended = self.runs[index + 1][1] if index + 1 < len(self.runs) else revision
        return mark.revision > ended

    def first_contradiction(self, marks: Sequence[Mark], revision: int) -> Mark | None:
        """The first of the marks that this store can not have given out."""
        return next((mark for mark in marks if self.contradicts(mark, revision)), None)

    def newest(self, marks: Sequence[Mark]) -> int:
        """The last revision that this hub has told, by those of the marks that it made."""
        return max((mark.revision for mark in marks if self._is_ours(mark)), default=0)

    def _is_ours(self, mark: Mark) -> bool:
        incarnation, run = _names(mark, self.incarnation)
        proof = self._proof(incarnation, run, mark.revision)
        return incarnation == self.incarnation and _is_equal(mark.proof, proof)

    def _proof(self, incarnation: str, run: str, revision: int) -> str:
        told = f"{incarnation}:{run}:{revision}".encode()
        return hmac.new(self.key, told, hashlib.sha256).hexdigest()[:32]


def _is_equal(given: str, proof: str) -> bool:
    return hmac.compare_digest(given.encode(), proof.encode())


def _names(mark: Mark, present: str) -> tuple[str, str]:
    """Incarnation and run of a mark; those of older hubs are of the present incarnation, or of none."""
    incarnation, _, run = mark.run.rpartition(".")
    return incarnation or present, run


def begin(tx: Transaction, incarnation: str, key: bytes) -> StoreTimeline:
    """Begin a run: at every start of a hub, before it answers any request."""
    runs = _runs(tx)
    runs.append((uuid.uuid4().hex[:12], changes.last_revision(tx)))
    truncated = len(runs) > MAX_RUNS or bool(settings.get(tx, "runs_truncated"))
    if len(runs) > MAX_RUNS:
        settings.put(tx, "runs_truncated", True)
    settings.put(tx, _RUNS, runs[-MAX_RUNS:])
    tx.touch(BEGUN, runs[-1][0])
    return StoreTimeline(
        incarnation, key, runs[-MAX_RUNS:], truncated, stopped(tx), is_recovering(tx)
    )


def told(tx: Transaction) -> tuple[list[tuple[str, int]], tuple[str, str, bool]]:
    """The runs as the store has them, and what it says now."""
    return _runs(tx), standing(tx)


def _runs(tx: Transaction) -> list[tuple[str, int]]:
    return [(str(name), int(began)) for name, began in settings.get(tx, _RUNS) or ()]


def load(tx: Transaction, key: bytes) -> StoreTimeline:
    """The runs as the store has them."""
    truncated = bool(settings.get(tx, "runs_truncated"))
    return StoreTimeline(str(settings.get(tx, "incarnation")), key, _runs(tx), truncated)


def standing(tx: Transaction) -> tuple[str, str, bool]:
    """The store's present values: its incarnation, the reason of a stop, and whether a backup caused it."""
    found = _stop(tx)
    return str(settings.get(tx, "incarnation")), found.get("message", ""), bool(found.get("begun"))


def stopped(tx: Transaction) -> str:
    """The reason why dispatch is stopped; "" otherwise."""
    return str(_stop(tx).get("message", ""))


def is_recovering(tx: Transaction) -> bool:
    """True if it is stopped because a backup was restored, under a new incarnation."""
    return bool(_stop(tx).get("begun"))


def _stop(tx: Transaction) -> Json:
    """The stored record of the stop; empty otherwise."""
    found: Json = settings.get(tx, _STOPPED) or {}
    return found


def recover(tx: Transaction, message: str, earlier: Iterable[str]) -> str:
    """A backup was restored: begin an incarnation, later than `earlier` ones too, and stop; which."""
    incarnation = new_incarnation(tx.now, (str(settings.get(tx, "incarnation") or ""), *earlier))
    settings.put(tx, "incarnation", incarnation)
    stopped_as = {"at": tx.now.isoformat(), "cluster": "", "message": message, "begun": True}
    settings.put(tx, _STOPPED, stopped_as | {"incarnation": incarnation})
    return incarnation


def restored_at(tx: Transaction) -> dt.datetime | None:
    """When a backup was restored that is not accepted yet."""
    found = _stop(tx)
    return dt.datetime.fromisoformat(found["at"]) if found.get("begun") else None


def is_about(keys: frozenset[str]) -> bool:
    """True if a change of these settings may have stopped or resumed dispatch."""
    return _STOPPED in keys


def stop(tx: Transaction, cluster: str, mark: Mark, incarnation: str, key: bytes) -> str:
    """Stop dispatch because of a mark that an agent holds; why, in words; "" if there is no reason to.

    `incarnation`: in which the mark contradicts; that may have been accepted meanwhile. The memory of one
    process about a shared store may be late: this reads the store itself.
    """
    known = stopped(tx)
    if known or settings.get(tx, "incarnation") != incarnation:
        return known
    if not load(tx, key).contradicts(mark, changes.last_revision(tx)):
        return ""
    text = (
        f"this hub's store is older than its earlier reply to {cluster} (run {mark.run}, revision "
        f"{mark.revision}): it was restored from a backup, or lost commits. Jobs may "
        "run that it does not know. Nothing is dispatched until an administrator accepts the "
        "restored state (roadstead restored --accept)"
    )
    told = {"at": tx.now.isoformat(), "cluster": cluster, "message": text}
    settings.put(tx, _STOPPED, told | {"incarnation": _names(mark, incarnation)[0]})
    say(tx, CODE, text)
    return text


def say(tx: Transaction, reason: str, message: str) -> None:
    """Warn of the hub itself."""
    tx.event(
        uid="hub",
        kind="Hub",
        namespace="",
        name="hub",
        type="Warning",
        reason=reason,
        message=message,
    )


def begin_anew(tx: Transaction) -> str:
    """Resume dispatch under a new incarnation, later than all that are known; the incarnation.

    A store that a backup was restored into has begun its own then.

    Raises Rejected: NotRolledBack.
    """
    found = _stop(tx)
    if not found:
        raise Rejected(
            RejectCode.NOT_ROLLED_BACK, "the hub is not stopped: there is nothing to accept"
        )
    shown = str(found.get("incarnation", ""))
    if found.get("begun"):
        settings.remove(tx, _STOPPED)
        return shown
    earlier = str(settings.get(tx, "incarnation")), shown
    incarnation = new_incarnation(tx.now, earlier)
    settings.put(tx, "incarnation", incarnation)
    settings.remove(tx, _STOPPED)
    return incarnation
