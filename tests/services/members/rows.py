"""A job's work as an observation finds it, and what the observation means for it."""

import datetime as dt
from typing import Any

import orjson

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.members.judge import judge
from hub.services.members.verdicts.judgement import Judgement
from hub.store.records.works import StandingWork
from shared.wire.agent_v1 import Observed

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
EARLIER, LATER = "2026-03-01T11:59:00+00:00", "2026-03-01T12:01:00+00:00"
ASIDE = {
    "past": EARLIER,
    "east": LATER,
}  # one cluster that may be tried again, one that is avoided
IN_FIVE_MINUTES, IN_HALF_A_MINUTE = "2026-03-01T12:05:00+00:00", "2026-03-01T12:00:30+00:00"
WHY = {"reason": "Preempted", "message": "for another"}
TOLD_TWICE: dict[str, Any] = {"annotations_json": orjson.dumps({"roadstead.dev/retry": "2"})}


def standing(state: State | None = State.RUNNING, **columns: Any) -> StandingWork:
    """A job's work in its first epoch, of which one pod of two runs and one has failed before."""
    row = StandingWork(
        uid="u",
        epoch=1,
        generation=1,
        kind="Job",
        namespace="team-a",
        name="u",
        action="Apply",
        seen=True,
        phase="Applied",
        options=ApplyOptions(),
        observed_json=None,
        drift_json=None,
        state=None if state is None else str(state),
        workload_epoch=None if state is None else 1,
        withdraw_to="",
        workload_reason="",
        workload_message="",
        succeeded=0,
        failed=1,
        active=2,
        ready=1,
        parallelism=2,
        completions=2,
        pods_ready=0,
        annotations_json=None,
        set_aside_json=orjson.dumps(ASIDE),
    )
    return row._replace(**columns)


def leaving(to: WithdrawTo, **columns: Any) -> StandingWork:
    """One that is being taken back."""
    why = {"workload_reason": WHY["reason"], "workload_message": WHY["message"]}
    return standing(State.WITHDRAWING, action="Withdraw", withdraw_to=str(to), **why | columns)


def verdict(entry: Observed, work: StandingWork) -> Judgement:
    return judge(entry, work, "north", NOW)
