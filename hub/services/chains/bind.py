"""Binds dependencies of new jobs: names in annotation `roadstead.dev/after`, resolved to uids in the
transaction that accepts them.

A job that has the same name later is another one. A job without dependencies costs nothing here.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from hub.domain.workloads.chains import (
    WAITS,
    EndCondition,
    Followed,
    LinkState,
    follows,
    in_cycles,
    judge,
)
from hub.domain.workloads.states import HeldFor, State
from hub.services.reading.draft import Draft
from hub.store import dependencies, workloads
from hub.store.records.dependencies import Dependency
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from hub.store.workloads import BARE
from shared import labels
from shared.errors import Rejected
from shared.kinds import after
from shared.kinds.after import After
from shared.reject_codes import RejectCode

FIELD: Final = f"metadata.annotations[{labels.AFTER}]"
# How long a job waits for a job of an unknown name, where the order of the applied documents is not known.
PATIENCE: Final = dt.timedelta(minutes=10)
MOST_WALKED: Final = 10_000  # maximum links of stored chains checked for a cycle
Name = tuple[str, str]  # namespace and name
Accepted = Sequence[tuple[Draft, Workload]]


@dataclass(slots=True)
class BoundJobs:
    """The consequence for new jobs with dependencies, by uid."""

    refused: dict[str, Rejected] = field(default_factory=dict)
    held: dict[str, Followed] = field(default_factory=dict)
    rows: list[Dependency] = field(default_factory=list)


def bind_new(tx: Transaction, accepted: Accepted, *, strict: bool) -> BoundJobs:
    """Bind what new jobs wait for; the caller stores it with them.

    `strict`: an unknown name is refused (UnknownDependency) instead of awaited for a while. So it
    is for whoever sees only some jobs of the namespace: who comes later may be none of those.
    Jobs that would wait for themselves are refused: DependencyCycle.
    """
    bound = BoundJobs()
    wanted = {given.uid: found for given, _ in accepted if (found := after_of(given))}
    if not wanted:
        return bound
    new = {_name(row): row for _, row in accepted if row.kind != BARE}
    chained = [(given, row) for given, row in accepted if given.uid in wanted]
    there = _there(tx, chained, wanted, new)
    _refuse_cycles(tx, chained, wanted, new, there, bound)
    _refuse_unknown(chained, wanted, new, there, bound, strict=strict)
    for given, row in chained:
        if row.uid not in bound.refused:
            rows = [_bind(tx, given, row, each, new, there, bound) for each in wanted[row.uid]]
            bound.rows += rows
            what = follows([each.link for each in rows])
            if not what.may_go:
                bound.held[row.uid] = what
    return bound


def after_of(given: Draft) -> tuple[After, ...]:
    """The dependencies of a Job's annotation; () if it has none."""
    text = given.parsed.annotations.get(labels.AFTER) if given.is_job else None
    return (after.read(text) or ()) if text else ()


def _name(row: Workload) -> Name:
    return row.namespace, row.name


def _refuse_cycles(
    tx: Transaction,
    chained: Accepted,
    wanted: Mapping[str, Sequence[After]],
    new: Mapping[Name, Workload],
    there: Mapping[Name, Workload],
    bound: BoundJobs,
) -> None:
    """Refuse new jobs that would wait for themselves: through each other, or through stored ones.

    No stored job waits for one of them by uid. It may by name: then its own chain is checked too.
    """
    known = {**there, **new}
    graph = {
        row.uid: [
            known[name].uid
            for each in wanted[row.uid]
            if (name := (row.namespace, each.name)) in known
        ]
        for _, row in chained
    }
    by_name = dependencies.waiting_for_names(tx, [_name(row) for _, row in chained])
    if by_name:
        onward = {uid for uids in graph.values() for uid in uids} - graph.keys()
        walked = dependencies.chains_of(tx, onward, MOST_WALKED + 1)
        if len(walked) > MOST_WALKED:
            _refuse_long(chained, {(each.namespace, each.on_name) for each in by_name}, bound)
        for each in walked:
            name = each.namespace, each.on_name
            awaited = each.on_uid or (new[name].uid if name in new else "")
            graph.setdefault(each.uid, []).append(awaited)
    round_ = in_cycles(graph)
    for _, row in chained:
        if row.uid in round_:
            bound.refused[row.uid] = _cycle(row)


def _refuse_long(chained: Accepted, names: AbstractSet[Name], bound: BoundJobs) -> None:
    for _, row in chained:
        if _name(row) in names:
            bound.refused[row.uid] = _cycle(row, f": its chain has more than {MOST_WALKED} links")


def _cycle(row: Workload, why: str = "") -> Rejected:
    how = "may" if why else "would"
    text = f"job {row.name} {how} wait for itself{why}: take one of the names out"
    return Rejected(RejectCode.DEPENDENCY_CYCLE, text, FIELD)


def _there(
    tx: Transaction,
    chained: Accepted,
    wanted: Mapping[str, Sequence[After]],
    new: Mapping[Name, Workload],
) -> dict[Name, Workload]:
    """The holders of awaited names, apart from the new jobs."""
    names = {(row.namespace, each.name) for _, row in chained for each in wanted[row.uid]}
    return workloads.live_by_name(tx, sorted(names - new.keys()))


def _find(
    given: Draft, name: Name, new: Mapping[Name, Workload], there: Mapping[Name, Workload]
) -> Workload | None:
    """The holder of that name, for the draft's sender."""
    found = new.get(name) or there.get(name)
    if found is None or not given.sees.shows(found.namespace, found.queue, found.owner):
        return None
    return found


def _refuse_unknown(
    chained: Accepted,
    wanted: Mapping[str, Sequence[After]],
    new: Mapping[Name, Workload],
    there: Mapping[Name, Workload],
    bound: BoundJobs,
    *,
    strict: bool,
) -> None:
    """Reject unknown dependencies, and jobs that depend on rejected ones."""
    asked = [one for one in chained if strict or not one[0].sees.shows_all(one[1].namespace)]
    waiting: dict[str, list[tuple[Draft, Workload]]] = {}  # by uid of a new job: who waits for it
    refused = [row.uid for _, row in chained if row.uid in bound.refused]
    for given, row in asked:
        for each in wanted[row.uid]:
            found = _find(given, (row.namespace, each.name), new, there)
            if found is None and row.uid not in bound.refused:
                bound.refused[row.uid] = _unknown(row, each.name)
                refused.append(row.uid)
            elif found is not None:
                waiting.setdefault(found.uid, []).append((given, row))
    names = {row.uid: row.name for row in new.values()}
    for uid in refused:  # grows
        for _, row in waiting.get(uid, ()):
            if row.uid not in bound.refused:
                bound.refused[row.uid] = _unknown(row, names[uid])
                refused.append(row.uid)


def _unknown(row: Workload, name: str) -> Rejected:
    text = f"there is no job {name} in namespace {row.namespace} to wait for: submit it first, or together"
    return Rejected(RejectCode.UNKNOWN_DEPENDENCY, text, FIELD)


def _bind(
    tx: Transaction,
    given: Draft,
    row: Workload,
    each: After,
    new: Mapping[Name, Workload],
    there: Mapping[Name, Workload],
    bound: BoundJobs,
) -> Dependency:
    found = _find(given, (row.namespace, each.name), new, there)
    made = Dependency(
        row.uid, each.name, row.namespace, EndCondition(each.wanted), "", LinkState.WAITING
    )
    if found is None or found.uid in bound.refused:
        return made._replace(until=tx.now + PATIENCE)
    made = made._replace(on_uid=found.uid)
    state = judge(made.wanted, found.state)
    if state is LinkState.WAITING:
        return made
    return made._replace(state=state, ended=found.state.value, decided_at=tx.now)


def hold_new(row: Workload, what: Followed | None) -> Workload:
    """The row of a new job, held where it waits for others."""
    if what is None:
        return row
    return row._replace(
        state=State.HELD, reason=what.reason, message=what.message, held_for=HeldFor.JOBS
    )


def store_new(tx: Transaction, bound: BoundJobs, rows: Iterable[Workload]) -> None:
    """Store the dependencies of the new jobs, whose `rows` are stored, and set their messages."""
    dependencies.add(tx, [each for each in bound.rows if each.uid not in bound.refused])
    for row in rows if bound.held else ():
        if what := bound.held.get(row.uid):
            tx.say(row, what.reason, what.message, warning=what.reason != WAITS)
