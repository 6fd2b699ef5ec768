"""Brings consent into decisions about Jobs, and has them made again when a namespace changes it."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from agent.decide.decision import Moment
from agent.member.namespace_watch import NamespaceWatch
from agent.works.tracked import TrackedWork
from shared.wire.agent_v1 import Work


def with_consent(moment: Moment, work: Work, watch: NamespaceWatch) -> Moment:
    """The moment of a decision about a Job, with what its namespace refuses."""
    closed = watch.closed(work)
    return moment if closed is None else replace(moment, closed=closed)


def mark_waiting(
    tracked_works: Mapping[str, TrackedWork], mark: Callable[[str], None], namespace: str
) -> None:
    """Mark the jobs of a namespace that are held: for the others consent changes nothing."""
    for uid, tracked in tracked_works.items():
        work, live = tracked.work, tracked.seen.live
        if work is None or live is None or work.namespace != namespace or not tracked.is_job:
            continue
        hold = tracked.seen.hold
        if hold is not None and hold.holds(live):
            mark(uid)
