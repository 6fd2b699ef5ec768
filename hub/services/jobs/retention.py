"""Old rows go: every table that grows has its retention (docs/howto/operate.md).

Each step removes at most `rows_per_turn` rows, and a transaction ends with the first that removes any, so
that writers never wait long; the controller takes another turn where a step had more to do.
"""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hub.domain.instants import stamp
from hub.domain.workloads.states import WithdrawTo
from hub.services.context.settings import Settings
from hub.services.leftovers import left_objects
from hub.services.members import forgotten
from hub.services.queues import defaults
from hub.services.works.withdraw import withdraw_jobs
from hub.store import (
    audit,
    changes,
    events,
    idempotency,
    manifests,
    objects,
    retention,
    survey,
    tallies,
    tokens,
)
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.failpoints import failpoint

Step = Callable[[Transaction, Settings], int]


def give_names_back(tx: Transaction, settings: Settings) -> int:
    """Finished jobs whose ttlSecondsAfterFinished is over lose their names; their records stay."""
    uids = retention.names_outlived(tx, settings.retention.rows_per_turn)
    if uids:
        retention.give_names_back(tx, uids)
    return len(uids)


def clear_members(tx: Transaction, settings: Settings) -> int:
    """Finished jobs kept long enough leave the members that still hold them."""
    before = tx.now - settings.retention.finished_jobs
    uids = retention.jobs_held_too_long(tx, before, settings.retention.rows_per_turn)
    if uids:
        withdraw_jobs(tx, uids, WithdrawTo.DELETED, "RetentionOver", "kept long enough")
    return len(uids)


def remove_jobs(tx: Transaction, settings: Settings) -> int:
    """Finished jobs kept long enough, of which no member holds anything, are forgotten."""
    before = tx.now - settings.retention.finished_jobs
    uids = retention.jobs_ended_before(tx, before, settings.retention.rows_per_turn)
    if uids:
        retention.remove_jobs(tx, uids)
    return len(uids)


def trim_events(tx: Transaction, settings: Settings) -> int:
    """Events."""
    return events.trim(tx, tx.now - settings.retention.events, settings.retention.rows_per_turn)


def trim_changes(tx: Transaction, settings: Settings) -> int:
    """The change feed; followers further behind get 410."""
    return changes.trim(tx, tx.now - settings.retention.changes, settings.retention.rows_per_turn)


def trim_replies(tx: Transaction, settings: Settings) -> int:
    """Replies kept for replay."""
    before = tx.now - settings.intake.idempotency_kept
    return idempotency.trim(tx, before, settings.retention.rows_per_turn)


def note_run(tx: Transaction, principal: str) -> None:
    """The requester; the later parts are separate transactions."""
    audit.add(tx, principal, "run", "retention", about=("Retention", "", ""))


def trim_audit(tx: Transaction, settings: Settings) -> int:
    """Who did what."""
    return audit.trim(tx, tx.now - settings.retention.audit, settings.retention.rows_per_turn)


def trim_explanations(tx: Transaction, settings: Settings) -> int:
    """Explanations that no cycle has renewed."""
    retention.trim_explanations(tx, tx.now - settings.retention.explanations)
    return 0


def trim_shapes(tx: Transaction, settings: Settings) -> int:
    """Shapes that no job has any more, and what only they asked of the default queue."""
    if manifests.trim_shapes(tx, tx.now - settings.retention.shapes):
        defaults.forget_resources(tx)
    return 0


def trim_tokens(tx: Transaction, settings: Settings) -> int:
    """Credentials that ended long ago."""
    tokens.trim(tx, tx.now - settings.retention.tokens)
    return 0


def trim_leftovers(tx: Transaction, settings: Settings) -> int:
    """Jobs and objects from before a restore that no member says any more, and how Jobs were written."""
    forgotten.trim(tx)
    left_objects.trim(tx)
    return 0


def trim_tallies(tx: Transaction, settings: Settings) -> int:
    """Numbers of jobs of namespaces, queues and states that have none any more."""
    return tallies.trim(tx, settings.retention.rows_per_turn)


def trim_evictions(tx: Transaction, settings: Settings) -> int:
    """Evictions that came by REST; those of the hub cluster are removed there, by the bridge."""
    before = tx.now - settings.retention.evictions
    uids = retention.evictions_before(tx, before, settings.retention.rows_per_turn)
    for uid in uids:
        objects.remove(tx, uid)
    return len(uids)


STEPS: Final[tuple[Step, ...]] = (
    give_names_back,
    clear_members,
    remove_jobs,
    trim_events,
    trim_changes,
    trim_replies,
    trim_audit,
    trim_explanations,
    trim_shapes,
    trim_tokens,
    trim_leftovers,
    trim_tallies,
    trim_evictions,
)


@dataclass(frozen=True, slots=True)
class Bound:
    """The bound of a table: an age, after which rows go, and the related rows, in words."""

    why: str
    kept: Callable[[Settings], dt.timedelta] | None = None


_DECLARED: Final = Bound("all that users have declared, until they are deleted")
BOUNDS: Final[Mapping[str, Bound]] = {
    "audit": Bound("", lambda s: s.retention.audit),
    "bindings": Bound("one for each placement and cluster"),
    "capacities": Bound("one for each cluster"),
    "changes": Bound("", lambda s: s.retention.changes),
    "clusters": _DECLARED,
    "contents": Bound("with the snapshots of their placement, and what clusters were given"),
    "dependencies": Bound("with their job"),
    "events": Bound("with their job, or by age", lambda s: s.retention.events),
    "explanations": Bound("since it was last renewed", lambda s: s.retention.explanations),
    "idempotency": Bound("", lambda s: s.intake.idempotency_kept),
    "leases": Bound("the leader's, and one for each hub process"),
    "manifests": Bound("with their job"),
    "objects": Bound(
        "all that users have declared, until they are deleted; evictions by age",
        lambda s: s.retention.evictions,
    ),
    "principals": Bound("one for each person and cluster, until it is revoked or deleted"),
    "role_bindings": _DECLARED,
    "settings": Bound("one for each name; runs and leftovers have a limit"),
    "shapes": Bound("after the last job that has it", lambda s: s.retention.shapes),
    "kind_versions": Bound("of each definition the last 20, and those that jobs use"),
    "snapshots": Bound("revisionHistoryLimit of each placement"),
    "tallies": Bound("one for each namespace, queue and state that has jobs"),
    "tokens": Bound("after they have ended", lambda s: s.retention.tokens),
    "usage": Bound("one for each LocalQueue that is used"),
    "workloads": Bound("after they have finished", lambda s: s.retention.finished_jobs),
    "works": Bound("with what a cluster should hold"),
}


def show(tx: Transaction, settings: Settings) -> Json:
    """The content, age and bound of each table: {"items"}. Counts rows: not for every second."""
    items = []
    for figures in survey.tables(tx.conn):
        bound = BOUNDS[figures.name]
        kept = bound.kept(settings) if bound.kept else None
        items.append(
            {
                "table": figures.name,
                "rows": figures.rows,
                "oldest": stamp(figures.oldest),
                "keptSeconds": None if kept is None else int(kept.total_seconds()),
                "bound": bound.why,
            }
        )
    return {"items": items}


class StepsTaken(NamedTuple):
    """The number of steps taken; `more`: the last one removed as many rows as one turn may."""

    steps: int
    more: bool


def take_steps(
    tx: Transaction, steps: Sequence[Step], settings: Settings, term: int
) -> StepsTaken:
    """Take steps under leadership `term`, up to the first that removes rows: most find nothing to do."""
    tx.require_term(term)
    for place, step in enumerate(steps, 1):
        rows = step(tx, settings)
        if rows:
            failpoint("H29")
            return StepsTaken(place, rows >= settings.retention.rows_per_turn)
    return StepsTaken(len(steps), more=False)
