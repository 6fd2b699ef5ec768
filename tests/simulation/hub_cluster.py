"""The hub cluster's Workload objects of jobs, beside a hub that goes back to an older copy of itself.

The bridge's own words (`hub.bridge.workload_words`) over objects in memory, which outlive the restore. It
writes spec and conditions in two requests, of which the second may be refused. People set `spec.active`, too.
"""

import random
from contextlib import suppress
from typing import Any

from hub.bridge import workload_words
from hub.services.kueue_view.conditions import active
from hub.services.mirror import workloads as mirror
from hub.store import workloads
from hub.store.errors import StaleTerm
from hub.store.records.workloads import Workload
from shared import labels
from shared.errors import Rejected
from tests.simulation.world import Violation

_TURN_S = 1.0
_LAST_S = 30.0  # between two turns once most has happened
Object = dict[str, Any]


class HubCluster:
    """One object for each job. `refuses`: how often the API server refuses a status."""

    def __init__(self, hub: Any, seed: int, busy_until: float) -> None:
        self.hub, self.world = hub, hub.world
        self.dice = random.Random(seed ^ 0x3B1D6E)
        self.refuses = self.dice.choice((0.0, 0.3, 0.8))
        self.busy_until = busy_until
        self.objects: dict[str, Object] = {}
        self.taken: dict[str, int] = {}  # generations of which `spec.active` was taken
        # Objects of which a person was the last to write `spec.active`: a restored hub hears that again.
        self.edited: set[str] = set()
        self.world.after(_TURN_S, self._turn)

    def edit(self, uid: str, *, wish: bool) -> None:
        """A person sets `spec.active` with kubectl."""
        live, row = self.objects.get(uid), self.hub.books.workloads[uid]
        if wish and not self.hub.checks.chain.released(row):
            return
        if live is not None and live["spec"]["active"] != wish:
            self.world.note(f"user: kubectl sets active {wish} of {uid}")
            self.edited.add(uid)
            _write(live, wish, "kubectl-edit")

    def _turn(self) -> None:
        busy = self.world.now < self.busy_until
        self.world.after(_TURN_S if busy else _LAST_S, self._turn)
        if not self.hub.up:
            return
        uids = [uid for uid, row in self.hub.books.workloads.items() if row["deleted_at"] is None]
        rows: dict[str, Workload] = self.hub.run(self.hub.hub.read(workloads.get_many, uids))
        for uid, row in sorted(rows.items()):
            self._level(row, self.objects.setdefault(uid, _made(row)))

    def _level(self, row: Workload, live: Object) -> None:
        """Hear what others wrote; else write what differs: the spec, then the conditions."""
        generation = live["metadata"]["generation"]
        wish = workload_words.commanded(live, row)
        if wish is not None and self.taken.get(row.uid) != generation:
            self.taken[row.uid] = generation
            self._hear(row.uid, wish=wish)
            return
        if live["spec"]["active"] != active(row):
            self.edited.discard(row.uid)
            _write(live, active(row), labels.BRIDGE_FIELD_MANAGER)
        if self.dice.random() >= self.refuses:
            live["status"] = _conditions(live["metadata"]["generation"])

    def _hear(self, uid: str, *, wish: bool) -> None:
        if uid not in self.edited:
            done = "released" if wish else "held"
            raise Violation("R-12", f"{uid} is {done} by what the hub itself wrote, and by nobody")
        heard, before = mirror.Heard(uid, active=wish), self.hub.books.workloads.get(uid)
        with suppress(Rejected, StaleTerm):
            self.hub.run(self.hub.hub.write(mirror.hear, self.hub.term, heard))
        self.hub._look_at_the_books()
        if wish and self.hub.books.workloads.get(uid) != before:  # it replaces every earlier wish
            self.hub.checks.given_up.pop(uid, None)


def _made(row: Workload) -> Object:
    live: Object = {"metadata": {"generation": 0}, "spec": {}, "status": _conditions(1)}
    _write(live, active(row), labels.BRIDGE_FIELD_MANAGER)
    return live


def _write(live: Object, wish: bool, manager: str) -> None:
    entry = {"manager": manager, "fieldsV1": {"f:spec": {"f:active": {}}}}
    live["metadata"] = {
        "generation": live["metadata"]["generation"] + 1, "managedFields": [entry]
    }  # fmt: skip
    live["spec"] = {"active": wish}


def _conditions(generation: int) -> Object:
    return {"conditions": [{"type": "QuotaReserved", "observedGeneration": generation}]}
