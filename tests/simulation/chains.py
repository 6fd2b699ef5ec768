"""A job that waits for another one (levels of the whole hub), and what must hold of the two.

R-21 is judged by what the store holds, by a table of its own, and for `ok` by what members really saw.
"""

import random
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from tests.simulation.world import Violation

UID: Final = "c0"
NAME: Final = "chained"
AFTER: Final = "roadstead.dev/after"
WAITS: Final = "WaitsForJobs"
_NEVER: Final = "DependencyNeverSatisfied"
_WISHES: Final = ("hold", "hold", "cancel", "preempt", "deactivate")
# How the other must have ended.
_ENDS: Final = {
    "ok": {"Succeeded"},
    "fail": {"Failed", "Cancelled"},
    "any": {"Succeeded", "Failed", "Cancelled"},
}


class Chain:
    """Whom `c0` waits for, as its seed says; `links` are read from the store when they are looked at."""

    def __init__(self) -> None:
        self.links: Callable[[], Sequence[Any]] = tuple
        self.waived = False  # somebody let it go regardless

    def released(self, row: dict[str, Any]) -> bool:
        """Whether somebody may release it: who waits for others is left to wait, mostly."""
        if row["uid"] == UID and row["reason"] == WAITS:
            return False
        self.waived |= row["uid"] == UID and (
            row["reason"] == _NEVER or row["state"] == "Deactivated"
        )
        return True

    def placed(self, uid: str, rows: dict[str, Any], sure: Collection[str]) -> None:
        """R-21: it is placed when the other has ended as it is to. `sure`: whose success members saw."""
        if uid != UID or self.waived:
            return
        for link in self.links():
            other = rows.get(link["on_uid"])
            if not _has_ended(other, link["wanted"]):
                state = None if other is None else other["state"]
                raise Violation("R-21", f"{uid} is placed, and {link['on_uid']} is {state}")
            if link["wanted"] == "ok" and link["on_uid"] not in sure:
                raise Violation("R-21", f"{uid} is placed, and {link['on_uid']} did not succeed")

    def unsettled(self, rows: dict[str, Any]) -> tuple[str, str] | None:
        """R-21: who waits for nobody any more does not go on waiting."""
        if rows.get(UID, {}).get("reason") != WAITS:
            return None
        links = self.links()
        over = [link for link in links if _has_ended(rows.get(link["on_uid"]), "any")]
        if links and len(over) == len(links):
            return "R-21", f"{UID} waits, and {over[0]['on_uid']} has ended"
        return None


def _has_ended(row: dict[str, Any] | None, wanted: str) -> bool:
    """True if a job ended as wanted; a deactivated one that gave its name back ended without success."""
    if row is None:
        return False
    if row["state"] == "Deactivated" and row["live"] is None:
        return wanted != "ok"
    return row["state"] in _ENDS[wanted]


def begin(run: Any) -> None:
    """In some seeds one job more is submitted, that waits for one of the others, and is wished things of."""
    die = random.Random(run.scenario.seed ^ 0xC4A1)
    if die.random() > 0.6:
        return
    wanted = die.choice(("ok", "ok", "any", "fail"))
    notes = {AFTER: f"j{die.randrange(run.scenario.jobs)}:{wanted}"}
    at = 0.2 * run.scenario.jobs + die.random() * die.choice((0.0, 1.0, 30.0))

    def submit() -> None:
        run.pending -= 1
        run.hub.submit(UID, NAME, {**run.notes(), **notes})

    run.pending += 1
    run.world.after(at, submit)
    if die.random() < 0.3:
        wish = die.choice(_WISHES)
        wished_at = at + die.random() * 20.0
        run.world.after(wished_at, run.hub.wish, UID, wish)
        run.world.after(wished_at + die.random() * 20.0, run.hub.wish, UID, "release")
