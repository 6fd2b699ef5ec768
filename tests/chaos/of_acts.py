"""Judges what queues and placements promise: rules 16 and 23 of docs/explain/exactly-once.md. Pure."""

from collections.abc import Iterator

from tests.chaos import manifests
from tests.chaos.history import History, Json, Window
from tests.chaos.restored import is_of_lost_time
from tests.chaos.sighted import Copy, Run, Violation, clock, most_at_once

_OF_PLACEMENTS = frozenset({"PlacementDeleted", "PlacementChanged"})
_OPEN_END = 1e12


def of_queues(history: History, copies: list[Copy]) -> Iterator[Violation]:
    """R-23: what was placed after an acknowledged stop, deletion or other quota of its queue.

    An event carries the time at which its transaction began, by the clock that the windows are of.
    """
    adopted = {(e["uid"], e["epoch"]) for e in history.events if e["reason"] == "Adopted"}
    placed = [
        each
        for each in history.events
        if each["reason"] == "Placed"
        and each["name"] in history.ledger.tight
        and (each["uid"], each["epoch"]) not in adopted
    ]
    for window in history.ledger.windows:
        until = window["until"] or _OPEN_END
        inside = [each for each in placed if window["since"] < each["at"] < until]
        if window["what"] == "resized":
            yield from _beyond(window, until, inside, copies)
            continue
        for each in inside:
            text = (
                f"epoch {each['epoch']} was placed at {each['at']:.3f}; "
                f"its queue is {window['what']} since {window['since']:.3f}"
            )
            yield Violation("R-23", f"{each['name']} ({each['uid']})", text)


def _beyond(
    window: Window, until: float, inside: list[Json], copies: list[Copy]
) -> Iterator[Violation]:
    """Jobs that were placed under a quota never run beyond it while it is the quota."""
    epochs = {(each["uid"], each["epoch"]) for each in inside}
    runs = [
        Run(run.uid, run.started, min(run.ended or until, until), run.cpu)
        for copy in copies
        if (copy.owner, copy.epoch) in epochs
        for run in copy.runs
    ]
    most, at = most_at_once(runs)
    if most > window["cores"]:
        text = (
            f"{most:g} cores of jobs placed since {window['since']:.3f} ran at {clock(at)}; "
            f"{window['cores']:g} are allowed since then"
        )
        yield Violation("R-23", "queue of limited quota", text)


def of_placements(history: History) -> Iterator[Violation]:
    """R-24 jobs of queues stay where they are; R-12 what is removed is gone; R-11 the rest is there."""
    for each in history.events:
        if each["cause"] in _OF_PLACEMENTS and each["name"] not in history.ledger.steered:
            text = f"epoch {each['epoch']}: {each['reason']} ({each['cause']}), and its queue placed it"
            yield Violation("R-24", f"{each['name']} ({each['uid']})", text)
    maps, ledger = history.ending.maps, history.ledger
    for key, each in maps.items():
        kept = key in ledger.maps or key.endswith(f"/{manifests.KEPT}")
        if each["ours"] and not kept and not is_of_lost_time(history, each["created"]):
            yield Violation("R-12", key, "a ConfigMap of a placement that was removed is left")
    if ledger.keeps and not maps.get(f"m1/{manifests.KEPT}", {}).get("ours"):
        yield Violation(
            "R-12", f"m1/{manifests.KEPT}", "the ConfigMap of a placement is not there"
        )
    for key, uid in ledger.maps.items():
        yield from _theirs(history, key, uid)


def _theirs(history: History, key: str, uid: str) -> Iterator[Violation]:
    """R-11: a ConfigMap of the member's own people, which placements meet."""
    found = history.ending.maps.get(key)
    if found is None or found["uid"] != uid:
        yield Violation("R-11", key, "a ConfigMap that is not ours was deleted")
    elif found["ours"]:
        yield Violation("R-11", key, "a ConfigMap that is not ours is marked as ours in the end")
    elif not history.ledger.seized and found["data"] != {"of": "people"}:
        yield Violation("R-11", key, f"a ConfigMap that is not ours was changed: {found['data']}")
