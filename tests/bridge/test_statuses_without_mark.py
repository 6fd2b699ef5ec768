"""Statuses of Jobs without managedBy: what is written beside the hub cluster's own Job controller."""

import datetime as dt
from typing import Any

import pytest

from hub.bridge.job_status import DISPATCHED, job_status, refused_status
from hub.domain.workloads.states import State
from hub.store.records.workloads import Workload
from shared import labels
from tests.store.build import a_workload

NOW = dt.datetime(2026, 5, 1, 20, tzinfo=dt.UTC)
STARTED, ENDED = NOW.replace(hour=3), NOW.replace(hour=5)
MARKED = {"managedBy": labels.JOB_CONTROLLER}


def a_row(**columns: Any) -> Workload:
    return a_workload("w", **{"state": State.RUNNING, "cluster": "north", **columns})


def ended() -> Workload:
    times = {"started_at": STARTED, "finished_at": ENDED}
    return a_row(state=State.SUCCEEDED, succeeded=2, **times)


def said(status: Any) -> dict[str, tuple[str, str, str, str]]:
    return {
        c["type"]: (c["status"], c["reason"], c["message"], c["lastTransitionTime"])
        for c in status["conditions"]
    }


@pytest.mark.parametrize(
    ("columns", "value", "reason", "message"),
    [
        ({"state": State.PENDING}, "False", "Queued", "waits in its queue"),
        (
            {"state": State.HELD, "reason": "Deactivated", "message": "m"},
            "False",
            "Deactivated",
            "m",
        ),
        (
            {"active": 2, "succeeded": 1},
            "True",
            "Running",
            "Running in north (roadstead logs team-a/w): 2 active, 1 succeeded, 0 failed",
        ),
        (
            {"failed": 3, "reason": "HeldByMember", "message": "by ann"},
            "True",
            "Running",
            (
                "Running in north (roadstead logs team-a/w): "
                "0 active, 0 succeeded, 3 failed: HeldByMember: by ann"
            ),
        ),
    ],
)
def test_where_a_job_is_that_another_controller_keeps_suspended(
    columns: Any, value: str, reason: str, message: str
):
    """One condition of our own: counts and times, from which that controller concludes, are never written."""
    suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended"}
    row = a_row(**{"started_at": STARTED, **columns})
    status = job_status({"suspend": True}, {"conditions": [suspended]}, row, None, NOW)
    assert status is not None
    assert list(status) == ["conditions"]
    kept, made = status["conditions"]
    assert kept == suspended
    assert (made["type"], made["status"], made["reason"]) == (DISPATCHED, value, reason)
    assert made["message"] == message


def test_the_end_of_a_job_is_written_whoever_keeps_it():
    """It stops the other controller; what was said until then goes."""
    conditions = [{"type": DISPATCHED, "status": "True"}, {"type": "Suspended"}]
    status = job_status({"suspend": True}, {"conditions": conditions}, ended(), None, NOW)
    assert status is not None
    assert [each["type"] for each in status["conditions"]] == ["SuccessCriteriaMet", "Complete"]
    assert (status["succeeded"], status["startTime"]) == (2, "2026-05-01T03:00:00Z")


@pytest.mark.parametrize(
    ("spec", "keeps_mark", "criteria"),
    [({}, True, True), ({}, False, False), ({"successPolicy": {"rules": []}}, False, True)],
)
def test_an_older_api_server_refuses_what_a_newer_demands(
    spec: Any, keeps_mark: bool, criteria: bool
):
    """SuccessCriteriaMet before Complete: with every Job, or with a success policy alone."""
    given = {**MARKED, **spec}
    status = job_status(given, None, ended(), None, NOW, keeps_mark=keeps_mark)
    assert ("SuccessCriteriaMet" in said(status)) is criteria
    assert "Complete" in said(status)


def test_a_refusal_leaves_the_suspension_to_who_keeps_it():
    """Without managedBy the reason stands in our own condition."""
    status = refused_status({"suspend": True}, None, "Code", "detail", NOW)
    assert said(status) == {DISPATCHED: ("False", "Code", "detail", "2026-05-01T20:00:00Z")}
