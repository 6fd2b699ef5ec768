"""Old rows go: every table that grows has its retention (architecture, section 4).

Each step is one short transaction of at most `rows_per_turn` rows, so that writers never wait long;
the controller repeats a step that had more to do.
"""

from collections.abc import Callable
from typing import Final

from hub.services.context.settings import Limits
from hub.services.queues import defaults
from hub.services.works.withdraw import withdraw_jobs
from hub.store import audit, changes, events, idempotency, manifests, retention, tokens
from hub.store.unit import Unit

Step = Callable[[Unit, Limits], int]


def give_names_back(unit: Unit, limits: Limits) -> int:
    """Finished jobs whose ttlSecondsAfterFinished is over lose their names; their records stay."""
    uids = retention.names_outlived(unit, limits.retention.rows_per_turn)
    if uids:
        retention.give_names_back(unit, uids)
    return len(uids)


def clear_members(unit: Unit, limits: Limits) -> int:
    """Finished jobs kept long enough leave the members that still hold them."""
    before = unit.now - limits.retention.finished_jobs
    uids = retention.jobs_held_too_long(unit, before, limits.retention.rows_per_turn)
    if uids:
        withdraw_jobs(unit, uids, "Deleted", "RetentionOver", "kept long enough")
    return len(uids)


def remove_jobs(unit: Unit, limits: Limits) -> int:
    """Finished jobs kept long enough, of which no member holds anything, are forgotten."""
    before = unit.now - limits.retention.finished_jobs
    uids = retention.jobs_ended_before(unit, before, limits.retention.rows_per_turn)
    if uids:
        retention.remove_jobs(unit, uids)
    return len(uids)


def trim_events(unit: Unit, limits: Limits) -> int:
    """Events."""
    return events.trim(unit, unit.now - limits.retention.events, limits.retention.rows_per_turn)


def trim_changes(unit: Unit, limits: Limits) -> int:
    """The change feed; followers further behind get 410."""
    return changes.trim(unit, unit.now - limits.retention.changes, limits.retention.rows_per_turn)


def trim_replies(unit: Unit, limits: Limits) -> int:
    """Replies kept for replay."""
    before = unit.now - limits.intake.idempotency_kept
    return idempotency.trim(unit, before, limits.retention.rows_per_turn)


def trim_audit(unit: Unit, limits: Limits) -> int:
    """Who did what."""
    return audit.trim(unit, unit.now - limits.retention.audit, limits.retention.rows_per_turn)


def trim_explanations(unit: Unit, limits: Limits) -> int:
    """Explanations that no cycle has renewed."""
    retention.trim_explanations(unit, unit.now - limits.retention.explanations)
    return 0


def trim_shapes(unit: Unit, limits: Limits) -> int:
    """Shapes that no job has any more, and what only they asked of the default queue."""
    if manifests.trim_shapes(unit, unit.now - limits.retention.shapes):
        defaults.forget_resources(unit)
    return 0


def trim_tokens(unit: Unit, limits: Limits) -> int:
    """Credentials that ended long ago."""
    tokens.trim(unit, unit.now - limits.retention.tokens)
    return 0


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
)


def take_step(unit: Unit, step: Step, limits: Limits, term: int) -> bool:
    """One step under leadership `term`; True if there was as much to do as one turn may."""
    unit.require_term(term)
    return step(unit, limits) >= limits.retention.rows_per_turn
