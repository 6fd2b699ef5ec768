"""Jobs in queues of the member: which are withdrawn with the consent, as a table."""

from typing import Any

import pytest

from agent.decide.decision import Seen, Trouble
from agent.decide.jobs import FOREGROUND
from agent.decide.next_step import decide
from agent.objects.facts import never_ran
from shared import labels
from tests.agent.moments import a_live_job, a_moment, settled
from tests.agent.scripted_hub import a_job

JOB = a_job(suspend=True)
CLOSED = {"closed": Trouble("NotAccepted", "namespace team does not accept this hub")}
STAYS = ("Nothing", "Applied", "")
BOTH = [FOREGROUND, labels.MEMBER_FINALIZER]


def a_waiting_job(*, generation: int = 1, marked: bool = False, **changes: Any) -> dict[str, Any]:
    """A Job in a queue of the member, as the agent made it and put it there."""
    status = changes.pop("status", {})
    suspend = changes.pop("suspend", True)
    managers = changes.pop("managers", [labels.FIELD_MANAGER])
    live = a_live_job(JOB, **changes)
    live["metadata"] |= {
        "generation": generation,
        "managedFields": [{"manager": name, "fieldsV1": {}} for name in managers],
    }
    if marked:
        notes = live["metadata"].get("annotations") or {}
        live["metadata"]["annotations"] = {**notes, labels.CONSENT_WITHDRAWN: "true"}
    return {**live, "status": status, "spec": {**live["spec"], "suspend": suspend}}


JOBS = [
    ("consent stands", a_waiting_job(), {}, {}, STAYS),
    ("waits", a_waiting_job(), {}, CLOSED, ("MarkWaiting", "Applied", "NotAccepted")),
    (
        "its size was changed once",
        a_waiting_job(generation=2),
        {},
        CLOSED,
        ("MarkWaiting", "Applied", "NotAccepted"),
    ),
    (
        "marked",
        a_waiting_job(marked=True),
        {},
        CLOSED,
        ("DeleteWaiting", "Applied", "NotAccepted"),
    ),
    (
        "marked, consent is back",
        a_waiting_job(marked=True),
        {},
        {},
        ("DeleteWaiting", "Applied", "NotAccepted"),
    ),
    (
        "a request was refused just now",
        a_waiting_job(),
        {"not_before": 1005.0},
        CLOSED,
        ("Nothing", "Applied", "NotAccepted"),
    ),
    (
        "marked and deleted",
        a_waiting_job(marked=True, generation=2, deleting=True, finalizers=BOTH),
        {},
        {},
        ("Nothing", "Failed", "NotAccepted"),
    ),
    ("was unsuspended and suspended", a_waiting_job(generation=3), {}, CLOSED, STAYS),
    ("runs", a_waiting_job(generation=2, suspend=False), {}, CLOSED, STAYS),
    ("runs, marked before", a_waiting_job(suspend=False, marked=True), {}, CLOSED, STAYS),
    ("has pods", a_waiting_job(), {"pods": 1}, CLOSED, STAYS),
    ("has counts", a_waiting_job(status={"failed": 1}), {}, CLOSED, STAYS),
    (
        "had started",
        a_waiting_job(status={"startTime": "2026-01-01T00:00:00Z"}),
        {},
        CLOSED,
        STAYS,
    ),
    ("was made by others", a_waiting_job(managers=["kubectl"]), {}, CLOSED, STAYS),
]


@pytest.mark.parametrize(
    ("live", "seen", "moment", "wanted"), [c[1:] for c in JOBS], ids=[c[0] for c in JOBS]
)
def test_what_never_ran_is_taken_back(live, seen, moment, wanted):
    """In two steps, in the version that is seen; a Job that may have run stays."""
    assert settled(JOB, Seen(live=live, ever=True, **seen), **moment) == wanted


def test_the_mark_is_for_one_version():
    """The queue manager may start the Job in the same moment."""
    patch = decide(JOB, Seen(live=a_waiting_job(), ever=True), a_moment(**CLOSED)).patch
    assert patch["metadata"] == {
        "uid": "m-1",
        "resourceVersion": "7",
        "annotations": {labels.CONSENT_WITHDRAWN: "true"},
    }


@pytest.mark.parametrize(
    ("live", "proven"),
    [
        (a_waiting_job(generation=2, deleting=True), True),
        (a_waiting_job(generation=3, deleting=True), False),
        (a_waiting_job(generation=2, deleting=True, suspend=False), False),
        (a_waiting_job(deleting=True, managers=[]), False),
        (a_live_job(JOB, deleting=True), False),
    ],
    ids=["waited", "may have run", "unsuspended", "made by others", "without a generation"],
)
def test_a_withdrawn_job_that_only_waited_is_no_attempt(live, proven):
    """For any reason of a withdrawal: the deleted object proves that it was never unsuspended."""
    work = a_job(suspend=True, action="Withdraw", seen=True)
    seen = Seen(live=live, ever=True, foreground="m-1", podless="m-1")
    told = decide(work, seen, a_moment())
    assert (told.phase, told.unstarted) == ("Gone", proven)
    assert never_ran(live) is proven
