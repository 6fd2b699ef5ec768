"""Judges a history: which promises it breaks, with the sightings that prove it. Pure.

Only what is proved is a violation. API servers stamp whole seconds, so an instant stamped `t` is in
[t, t + 1): of two stamps only a difference of a second proves an order. The numbers of the rules are
those of docs/reference/chaos.md.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, permutations

from tests.chaos.history import History, Json
from tests.chaos.of_acts import of_placements, of_queues
from tests.chaos.restored import completed_for, is_unknown
from tests.chaos.sighted import (
    STAMP_S,
    TERMINAL,
    Copy,
    Run,
    Violation,
    clock,
    copies_of,
    most_at_once,
)


def judge(history: History) -> list[Violation]:
    """Every broken promise that the history proves, sorted."""
    copies = list(copies_of(history))
    of_job: dict[str, list[Copy]] = defaultdict(list)
    for copy in copies:
        if copy.owner:
            of_job[copy.owner].append(copy)
    found: list[Violation] = []
    for uid, held in of_job.items():
        ordered = sorted(held, key=lambda c: (c.epoch, c.created, c.uid))
        found += _runs_twice(history, uid, ordered)
    found += _acknowledged(history)
    found += _results(history, of_job)
    found += _unsettled(history)
    found += _orphans(history, copies)
    found += _strangers(history)
    found += _quota(history, copies)
    found += of_queues(history, copies)
    found += of_placements(history)
    return sorted(set(found))


# --- never two --------------------------------------------------------------------


def _runs_twice(history: History, uid: str, copies: list[Copy]) -> Iterator[Violation]:
    name = copies[0].name
    subject = f"{name} ({uid})"
    for a, b in combinations(copies, 2):
        both = next(((p, q) for p in a.runs for q in b.runs if _overlap(p, q)), None)
        if both:
            text = f"runs twice at once: {both[0]} of {a} and {both[1]} of {b}"
            yield Violation("R-04", subject, text)
        if a.epoch == b.epoch and a.runs and b.runs:
            yield Violation("R-04", subject, f"started twice in one epoch: {a} and {b}")
    for first, later in permutations(copies, 2):
        completed = first.result == "Complete" and completed_for(history, first, later)
        if completed and later.epoch > first.epoch and later.runs:
            text = f"executed again although it had completed: {first}, then {later}"
            yield Violation("R-04", subject, text)
        late = later.created >= first.created + STAMP_S
        if first.epoch > later.epoch and late and later.runs:
            text = f"started in an epoch that had been given up: {later} after {first}"
            yield Violation("R-06", subject, text)


def _overlap(a: Run, b: Run) -> bool:
    """Whether both certainly ran at one instant."""
    ends = [run.ended for run in (a, b) if run.ended is not None]
    return not ends or max(a.started, b.started) + STAMP_S <= min(ends)


# --- nothing lost, nothing made up -----------------------------------------------


def _acknowledged(history: History) -> Iterator[Violation]:
    ledger = history.ledger
    held = {job["uid"]: job for job in history.ending.jobs}
    for uid, name in ledger.acknowledged.items():
        if uid not in held and uid not in ledger.deleted | ledger.lost:
            yield Violation(
                "R-01", f"{name} ({uid})", "acknowledged, and the hub does not know it"
            )
    for change in ledger.changed_uids:
        text = f"one key was answered with {change['first']} and {change['second']}"
        yield Violation("R-02", change["name"], text)
    for uid, job in held.items():
        if uid not in ledger.acknowledged and job["name"] not in ledger.unanswered:
            yield Violation("R-02", f"{job['name']} ({uid})", "nobody submitted it")
    live: dict[str, list[str]] = defaultdict(list)
    for uid, job in held.items():
        if job["state"] not in TERMINAL:
            live[job["name"]].append(uid)
    for name, uids in live.items():
        if len(uids) > 1:
            yield Violation("R-02", name, f"{len(uids)} live jobs of one name: {sorted(uids)}")


def _results(history: History, of_job: dict[str, list[Copy]]) -> Iterator[Violation]:
    for job in history.ending.jobs:
        if job["uid"] in history.ledger.deleted:
            continue  # nobody asks how it ended
        copies = of_job.get(job["uid"], [])
        subject = f"{job['name']} ({job['uid']})"
        ended = (c for c in copies if c.result == "Complete" and not is_unknown(history, c))
        completed = next(ended, None)
        told = f"{job['state']}/{job['reason']}"
        if completed and job["state"] in TERMINAL - {"Succeeded"}:
            yield Violation("R-07", subject, f"completed as {completed}, told as {told}")
        elif job["state"] == "Succeeded" and not (history.gaps or _any_completed(copies)):
            yield Violation("R-07", subject, f"told as {told}; no member showed it Complete")
        elif job["state"] == "Failed" and not _may_fail(history, copies):
            yield Violation("R-07", subject, f"told as {told}; nothing of it failed in a member")


def _any_completed(copies: list[Copy]) -> bool:
    return any(copy.result == "Complete" for copy in copies)


def _may_fail(history: History, copies: list[Copy]) -> bool:
    """Whether a member showed it Failed, or somebody deleted it there, or it may have been missed."""
    ended = any(c.result == "Failed" or c.key in history.ledger.by_hand for c in copies)
    return ended or bool(history.gaps)


def _unsettled(history: History) -> Iterator[Violation]:
    """Once everything is healed every job ends: nothing here waits for quota that never comes."""
    ending = history.ending
    for job in ending.jobs:
        if job["state"] not in TERMINAL:
            where = f" on {job['cluster']}" if job.get("cluster") else ""
            text = f"still {job['state']}/{job['reason']}{where} {ending.waited_s:.0f} s after all healed"
            yield Violation("R-01", f"{job['name']} ({job['uid']})", text)


# --- strangers are left alone, and nothing of ours is left behind ----------------------


def _orphans(history: History, copies: list[Copy]) -> Iterator[Violation]:
    held = {job["uid"]: job for job in history.ending.jobs}
    for copy in copies:
        if not copy.owner or copy.key not in history.ending.present:
            continue
        job = held.get(copy.owner)
        subject = f"{copy.name} ({copy.owner})"
        if copy.deleting:
            if copy.deleting < history.ending.at - 10:
                yield Violation("R-12", subject, f"does not go away: {copy}")
        elif not copy.result and (job is None or _is_elsewhere(job, copy)):
            told = "unknown" if job is None else f"{job['state']}, epoch {job['epoch']}"
            yield Violation("R-12", subject, f"left behind: {copy}; the hub holds it as {told}")


def _is_elsewhere(job: Json, copy: Copy) -> bool:
    if job["state"] in TERMINAL:
        return True
    return (job.get("cluster"), job["epoch"]) != (copy.member, copy.epoch)


def _strangers(history: History) -> Iterator[Violation]:
    for each in history.sightings:
        key = f"{each.member}/{each.uid}"
        if key not in history.ledger.strangers or each.kind != "Job":
            continue
        if each.change == "DELETED" or each.deleting or each.owner:
            done = "marked as ours" if each.owner else "deleted"
            yield Violation("R-11", key, f"{each.name}, a Job that is not ours, was {done}")


# --- quota ---------------------------------------------------------------------------------


def _quota(history: History, copies: list[Copy]) -> Iterator[Violation]:
    if history.ending.settled and all(j["state"] in TERMINAL for j in history.ending.jobs):
        for name, amount in history.ending.charged.items():
            if amount:
                yield Violation("R-09", name, f"{amount:g} charged, and every job has ended")
    tight = [c for c in copies if c.owner and c.name in history.ledger.tight]
    runs = [run for copy in tight if not is_unknown(history, copy) for run in copy.runs]
    most, at = most_at_once(runs)
    if history.quota and most > history.quota:
        text = f"{most:g} cores ran at {clock(at)}, {history.quota:g} are allowed"
        yield Violation("R-09", "queue of limited quota", text)
