"""What is said of works that go on, or are over: the whole verdict, and the words of what holds a job."""

import datetime as dt
from typing import Any

import orjson
import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State, Transition, WithdrawTo
from hub.services.members.verdicts.judgement import Judgement
from hub.services.works.later_epochs import later_epoch
from tests.services.members.hubs import ran, seen
from tests.services.members.rows import NOW, leaving, standing, verdict

COUNTS: Any = {"succeeded": 0, "failed": 1, "active": 2, "ready": 1}
SILENT: Any = {"reason": "", "message": ""}


@pytest.mark.parametrize("state", [State.OFFERED, State.APPLIED, State.UNKNOWN])
@pytest.mark.parametrize(
    ("ready", "more"), [(1, {}), (2, {"pods_ready_at": NOW, "pods_lost_at": None})]
)
def test_what_runs_is_running_whatever_was_known(state, ready, more):
    """With its counts and without the reason that held it; all ready at once is noted at once."""
    entry = ran("u", running_since="2026-03-01T11:00:00Z", active=2, ready=ready, failed=0)
    held = standing(state, workload_reason="ClusterUnreachable", workload_message="x")
    since = {"ran_from": NOW - dt.timedelta(hours=1)}
    assert verdict(entry, held) == Judgement(
        transition=Transition.START, columns=COUNTS | {"ready": ready} | SILENT | since | more
    )


@pytest.mark.parametrize("succeeded", [0, 2, 50])
def test_a_suspended_job_is_not_ready_whatever_has_succeeded(succeeded):
    """It waits since it was suspended, however many pods had succeeded: the next report changes no time."""
    row = standing(State.APPLIED, options=IN_QUEUE, started_at=NOW, pods_ready=True)
    told = verdict(ran("u", **EVICTED, succeeded=succeeded), row)
    assert (told.transition, told.all_ready) == (None, None)


def test_a_job_that_its_queue_resumes_has_its_time_to_be_ready_anew():
    """The time for which it was suspended does not count as time without its pods."""
    row = standing(State.APPLIED, options=IN_QUEUE, started_at=NOW - dt.timedelta(hours=1))
    told = verdict(ran("u", running_since="2026-03-01T11:00:00Z", active=2, ready=0), row)
    columns: Any = told.columns
    assert (told.transition, columns["pods_lost_at"]) == (Transition.START, NOW)


@pytest.mark.parametrize("state", [State.RUNNING, State.UNKNOWN])
def test_an_agent_that_restarted_meanwhile_tells_of_an_eviction_all_the_same(state):
    """It knows of no pod, and the member has cleared the start; the hub knows that the job ran."""
    forgotten = EVICTED | {"running_since": None}
    ran_before = standing(state, options=IN_QUEUE, started_at=NOW - dt.timedelta(hours=1))
    told = verdict(ran("u", **forgotten), ran_before)
    columns: Any = told.columns
    assert (told.transition, columns["pods_lost_at"]) == (Transition.SUSPEND, NOW)
    never_ran = standing(State.OFFERED, options=IN_QUEUE)
    assert verdict(ran("u", **forgotten), never_ran).transition == Transition.APPLY


@pytest.mark.parametrize(
    ("began", "ended", "ran_from", "ran_until"),
    [
        ("2026-03-01T11:00:00Z", "2026-03-01T11:30:00Z", -60, -30),
        ("2026-03-01T11:00:00Z", "2026-03-01T13:00:00Z", -60, 0),  # its clock is ahead
        ("2026-03-01T11:00:00Z", "2026-03-01T10:00:00Z", -60, -60),  # it went back meanwhile
        ("yesterday", "2026-03-01T11:30:00", None, None),  # no instants
        ("0001-01-01T00:00:00+14:00", "2026-03-01T11:30:00Z", None, -30),
        (None, "2026-03-01T12:30:00+01:00", None, -30),
    ],
)
def test_a_job_ran_when_its_member_says_so(began, ended, ran_from, ran_until):
    """Never later than the hub heard of it, and never backwards (K12)."""
    entry = ran("u", running_since=began, completion_time=ended, succeeded=2, result="Succeeded")
    columns: Any = verdict(entry, standing(State.RUNNING)).columns
    expected = [
        None if m is None else NOW + dt.timedelta(minutes=m) for m in (ran_from, ran_until)
    ]
    assert [columns.get("ran_from"), columns.get("ran_until")] == expected


@pytest.mark.parametrize("state", [State.OFFERED, State.UNKNOWN])
def test_what_is_there_and_does_not_run_is_applied(state):
    """With what holds it."""
    entry = ran("u", active=2, ready=0, reason="ImagePullBackOff", message="no such image")
    assert verdict(entry, standing(state)) == Judgement(
        transition=Transition.APPLY,
        columns=COUNTS
        | {"ready": 0, "reason": "ImagePullBackOff", "message": "north: no such image"},
    )


EVICTED: dict[str, Any] = {"running_since": "x", "suspended": True, "active": 0, "ready": 0}
IN_QUEUE = ApplyOptions(queue="lq")


@pytest.mark.parametrize("state", [State.OFFERED, State.APPLIED, State.RUNNING, State.UNKNOWN])
def test_what_its_members_queue_evicted_runs_no_longer(state):
    """It has run, and waits in the member from now on, by the member's word."""
    said = {"reason": "WaitsInMemberQueue", "message": "waits in LocalQueue lq of north"}
    counts: Any = COUNTS | {"active": 0, "ready": 0} | said
    evicted = verdict(ran("u", **EVICTED), standing(state, options=IN_QUEUE))
    assert evicted == Judgement(
        transition=Transition.SUSPEND,
        columns=counts | {"started_at": NOW, "pods_lost_at": NOW},
    )


def test_what_waits_in_the_member_since_before_is_not_suspended_again():
    """The time since when it waits stays; counts and words may change. It starts again as any does."""
    waits = standing(State.APPLIED, options=IN_QUEUE, started_at=NOW)
    assert verdict(ran("u", **EVICTED), waits).transition is None
    back = verdict(ran("u", running_since="x", active=2, ready=2), waits)
    assert back.transition is Transition.START
    assert (back.columns["pods_ready_at"], back.columns["pods_lost_at"]) == (NOW, None)


@pytest.mark.parametrize(
    ("entry", "options"),
    [
        (ran("u", **EVICTED | {"active": 1}), IN_QUEUE),  # a pod of it runs yet
        (ran("u", **EVICTED | {"held_by": "ada"}), ApplyOptions()),  # a person paused it there
    ],
)
def test_what_no_queue_has_evicted_goes_on_running(entry, options):
    """Only the member's queue, and only once no pod is active, makes a job wait there."""
    assert verdict(entry, standing(options=options)).transition is None


def test_what_stays_as_it_is_is_recorded_alone():
    """A count that changed, a reason that came or went, or readiness that did, is written."""
    as_it_is: dict[str, Any] = {"running_since": "2026-03-01T11:00:00Z", "active": 2, "ready": 1}
    counts: Any = {**COUNTS, **SILENT}
    assert verdict(ran("u", **as_it_is), standing()) == Judgement()
    assert verdict(ran("u", **as_it_is | {"active": 1}), standing()) == Judgement(
        counts=counts | {"active": 1}
    )
    stale = standing(workload_reason="HeldByMember", workload_message="x")
    assert verdict(ran("u", **as_it_is), stale) == Judgement(counts=counts)
    assert verdict(ran("u", **as_it_is | {"ready": 2}), standing()) == Judgement(
        counts=counts | {"ready": 2}, all_ready=True
    )
    assert verdict(ran("u", **as_it_is), standing(pods_ready=1)) == Judgement(
        counts=counts, all_ready=False
    )


@pytest.mark.parametrize(
    ("columns", "ready", "succeeded", "all_ready"),
    [
        ({"parallelism": 3, "completions": 3}, 2, 0, None),
        ({"parallelism": 3, "completions": 3}, 2, 1, True),
        ({"parallelism": 3, "completions": 2}, 2, 0, True),
        ({"parallelism": 3, "completions": None}, 2, 0, None),
        ({"parallelism": 3, "completions": None}, 3, 0, True),
        ({"parallelism": 3, "options": ApplyOptions(parallelism=2, wanted=3)}, 2, 0, True),
    ],
)
def test_all_pods_are_as_many_as_run_at_a_time(columns, ready, succeeded, all_ready):
    """Ready or succeeded: of those admitted, and of no more than are to complete."""
    entry = ran("u", running_since="x", active=2, ready=ready, succeeded=succeeded)
    assert verdict(entry, standing(**columns)).all_ready is all_ready


def test_failures_of_an_epoch_count_once():
    """What was reported of this epoch before is not added again; a count that sinks takes nothing back."""
    before = standing(failed=5, observed_json=orjson.dumps({"job": {"failed": 2}}))
    for failed, total in ((2, 5), (3, 6), (1, 5), (0, 5)):
        counts = verdict(ran("u", running_since="x", active=9, failed=failed), before).counts
        assert counts is not None
        assert counts["failed"] == total


@pytest.mark.parametrize(
    ("entry", "options", "said"),
    [
        (
            ran("u", running_since="x", held_by="kueue", suspended=True, reason="r"),
            {"queue": "lq"},
            ("HeldByMember", "kueue keeps the Job suspended in north"),
        ),
        (
            ran("u", suspended=True, reason="r"),
            {"queue": "lq"},
            ("WaitsInMemberQueue", "waits in LocalQueue lq of north"),
        ),
        (ran("u", suspended=True, reason="r", message="m"), {}, ("r", "north: m")),
        (
            ran("u", running_since="x", reason="r", message="m"),
            {"parallelism": 1, "wanted": 2},
            ("r", "north: m"),
        ),
        (
            ran("u", running_since="x"),
            {"parallelism": 1, "wanted": 2},
            (
                "WaitingToGrow",
                "runs with 1 of 2 pods until there is quota and room for the others",
            ),
        ),
        (
            seen("u", "Applied", reason="ChangeRefused", message="no", job={"held_by": "x"}),
            {},
            ("ChangeRefused", "north keeps it as it was: no"),
        ),
        (seen("u", "Waiting", reason="NotYet", message="m"), {}, ("NotYet", "north: m")),
        (seen("u", "Failed", reason="ApplyFailed", message="m"), {}, ("ApplyFailed", "north: m")),
        (seen("u", "Waiting", reason="EarlierWave", message="m"), {}, ("", "")),
        (seen("u", "Waiting", message="m"), {}, ("", "")),
    ],
)
def test_what_holds_it_is_said(entry, options, said):
    """The first of: who keeps it suspended, whose turn it waits for, the pods' word, the smaller size."""
    work = standing(
        State.APPLIED,
        options=ApplyOptions(**options),
        workload_reason="before",
        workload_message="before",
    )
    told = verdict(entry, work)
    found: Any = told.columns if told.transition else told.counts
    assert (found["reason"], found["message"]) == said


def test_what_is_not_seen_yet_keeps_its_counts():
    """An entry without a Job says nothing of pods."""
    told = verdict(seen("u", "Waiting", reason="NotYet"), standing(State.OFFERED, failed=4))
    assert told.counts is not None
    counts: dict[str, Any] = {**told.counts}
    assert {name: counts[name] for name in COUNTS} == {**COUNTS, "failed": 4}


@pytest.mark.parametrize("phase", ["Applied", "Gone"])
def test_works_that_are_no_jobs_are_recorded_or_removed(phase):
    """Removed when they were withdrawn and are gone: what else is gone will be made again."""
    keeps, leaves = standing(None), standing(None, action="Withdraw")
    gone = Judgement(record=False, action="Remove")
    assert verdict(seen("u", phase), keeps) == Judgement()
    assert verdict(seen("u", phase), leaves) == (gone if phase == "Gone" else Judgement())


@pytest.mark.parametrize("columns", [{"workload_epoch": 2}, {"state": "Cancelled"}])
def test_works_that_are_over_are_recorded_or_removed(columns):
    """An epoch that ended, or a job that has: nothing more moves it."""
    work = standing(**columns)
    assert verdict(ran("u", running_since="x"), work) == Judgement()
    assert verdict(seen("u", "Missing"), work) == Judgement()
    assert verdict(seen("u", "Gone"), work) == Judgement(record=False, action="Remove")


def test_who_holds_a_newer_epoch_moves_nothing():
    """Its agent says that the Job there is of another epoch than it is asked for."""
    told = verdict(seen("u", "Applied", reason="NewerEpoch", message="epoch 2"), standing())
    assert (told.transition, told.action, told.columns) == (None, "", {})
    assert told.counts is not None
    assert (told.counts["reason"], told.counts["message"]) == ("NewerEpoch", "north: epoch 2")
    going = leaving(WithdrawTo.CANCELLED)
    assert verdict(seen("u", "Applied", reason="NewerEpoch"), going) == Judgement()


@pytest.mark.parametrize(
    ("columns", "said", "epoch"),
    [
        ({}, {}, 3),
        ({"state": "Withdrawing", "action": "Withdraw"}, {}, 3),
        ({"options": ApplyOptions()}, {}, 0),  # the store did not go back: the agent is behind
        ({"workload_epoch": 2}, {}, 0),
        ({"state": "Held"}, {}, 0),
        ({"state": "Placed"}, {}, 0),
        ({}, {"found_epoch": 1}, 0),
        ({}, {"found_epoch": 0}, 0),  # its agent is older
        ({}, {"found_epoch": 2**60}, 0),  # no hub has given that yet
        ({}, {"object_uid": ""}, 0),
        ({}, {"reason": "Orphan"}, 0),
    ],
)
def test_a_doubtful_job_goes_on_in_the_later_epoch_that_its_member_has(columns, said, epoch):
    """It was given in the lost time: the epoch of the store had ended then."""
    work = standing(**{"options": ApplyOptions(doubtful=True)} | columns)
    told = {"reason": "NewerEpoch", "object_uid": "m-2", "found_epoch": 3} | said
    assert later_epoch(seen("u", "Applied", **told), work, NOW) == epoch


@pytest.mark.parametrize("state", [State.PLACED, State.OFFERED])
def test_a_copy_says_nothing_of_the_job(state):
    """Another object than was seen, from an agent that was not told of the work yet."""
    known = standing(state, observed_json=orjson.dumps({"object_uid": "m-1"}))
    other = seen("u", "Applied", reason="Orphan", object_uid="m-2", job={"result": "Succeeded"})
    assert verdict(other, known) == Judgement(record=False)
    itself = seen("u", "Applied", reason="Orphan", object_uid="m-1", job={"result": "Succeeded"})
    assert verdict(itself, standing(observed_json=known.observed_json)).transition is not None


@pytest.mark.parametrize(
    ("entry", "work", "code", "detail"),
    [
        (ran("u", 1), {"epoch": 2}, "StaleEpoch", "epoch 1 has ended; 2 is current"),
        (ran("u", 3), {"epoch": 2}, "FutureEpoch", "epoch 3 was never given; 2 is current"),
        (ran("u"), {"state": "Placed"}, "FutureEpoch", "epoch 1 was not offered yet"),
        (
            ran("u", result="Failed"),
            {"state": "Succeeded", "observed_json": b'{"job":{"result":"Succeeded"}}'},
            "IllegalTransition",
            "it had ended as Succeeded",
        ),
    ],
)
def test_what_can_not_be_is_refused_with_words(entry, work, code, detail):
    """Nothing of it is recorded."""
    told = verdict(entry, standing(**work))
    assert told == Judgement(record=False, code=code, detail=detail)
