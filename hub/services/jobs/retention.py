"""Old rows go: every table that grows has its retention (docs/howto/operate.md).

Each step is one short transaction of at most `rows_per_turn` rows, so that writers never wait long;
the controller repeats a step that had more to do.
"""

from collections.abc import Callable
from typing import Final

from hub.domain.workloads.states import WithdrawTo
from hub.services.context.settings import Settings
from hub.services.queues import defaults
from hub.services.works.withdraw import withdraw_jobs
from hub.store import audit, changes, events, idempotency, manifests, retention, tokens
from hub.store.transaction import Transaction

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


def take_step(tx: Transaction, step: Step, settings: Settings, term: int) -> bool:
    """One step under leadership `term`; True if there was as much to do as one turn may."""
    tx.require_term(term)
    return step(tx, settings) >= settings.retention.rows_per_turn
