"""What one observation means, whole: the verdict with every column that it sets and every one it leaves."""

import datetime as dt
from typing import Any

import orjson
import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State, Transition, WithdrawTo
from hub.services.members.judge import Judgement, judge
from hub.services.works import restored
from hub.store.records.works import StandingWork
from shared.wire.agent_v1 import Observed
from tests.services.members.hubs import ran, seen

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
EARLIER, LATER = "2026-03-01T11:59:00+00:00", "2026-03-01T12:01:00+00:00"
ASIDE = {
    "past": EARLIER,
    "east": LATER,
}  # one cluster that may be tried again, one that is avoided
IN_FIVE_MINUTES, IN_HALF_A_MINUTE = "2026-03-01T12:05:00+00:00", "2026-03-01T12:00:30+00:00"
WHY = {"reason": "Preempted", "message": "for another"}
TOLD_TWICE = {"annotations_json": orjson.dumps({"roadstead.dev/retry": "2"})}


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


@pytest.mark.parametrize(
    ("to", "move", "more"),
    [
        (WithdrawTo.CANCELLED, Transition.CANCEL, {}),
        (WithdrawTo.DELETED, Transition.CANCEL, {}),
        (WithdrawTo.FAILED, Transition.FAIL, {}),
        (WithdrawTo.DEACTIVATED, Transition.DEACTIVATE, {}),
        (WithdrawTo.HELD, Transition.HOLD, {"succeeded": 0}),
        (WithdrawTo.PENDING, Transition.REQUEUE, {"succeeded": 0}),
    ],
)
def test_what_is_gone_becomes_what_was_wished(to, move, more):
    """With the reason it was taken back for; what starts again has no pod that succeeded."""
    expected = Judgement(record=False, transition=move, columns=WHY | more, action="Remove")
    assert verdict(seen("u", "Gone"), leaving(to)) == expected


@pytest.mark.parametrize(
    ("to", "move", "columns"),
    [
        (WithdrawTo.CANCELLED, Transition.CANCEL, WHY),
        (WithdrawTo.FAILED, Transition.FAIL, WHY),
        (WithdrawTo.DEACTIVATED, Transition.DEACTIVATE, WHY | {"new_epoch": True}),
        (WithdrawTo.HELD, Transition.HOLD, restored.HELD | {"new_epoch": True, "succeeded": 0}),
        (WithdrawTo.PENDING, Transition.HOLD, restored.HELD | {"new_epoch": True, "succeeded": 0}),
    ],
)
def test_what_is_gone_and_in_doubt_goes_on_by_a_persons_word_only(to, move, columns):
    """It is held, or stays deactivated, in an epoch beyond all that were given; what was to end ends."""
    told = verdict(seen("u", "Gone"), leaving(to, options=ApplyOptions(doubtful=True)))
    found = dict(told.columns)
    if "new_epoch" in columns:
        assert found["new_epoch"] > 100_000
        found["new_epoch"] = True
    assert (told.record, told.transition, told.action) == (False, move, "Remove")
    assert found == columns


@pytest.mark.parametrize("state", [State.OFFERED, State.APPLIED, State.RUNNING, State.UNKNOWN])
def test_what_is_gone_unasked_was_deleted_there(state):
    """Whatever was last seen of it."""
    text = "the Job was deleted in north, not by Roadstead"
    assert verdict(seen("u", "Gone"), standing(state)) == Judgement(
        record=False,
        transition=Transition.FAIL,
        columns={"reason": "DeletedInMember", "message": text},
        action="Remove",
    )


def test_what_is_missing_fails_and_its_work_is_withdrawn():
    """It is recorded, and its pods may still be there."""
    text = "the Job was deleted in north, not by Roadstead"
    assert verdict(seen("u", "Missing"), standing()) == Judgement(
        record=True,
        transition=Transition.FAIL,
        columns={"reason": "DeletedInMember", "message": text},
        action="Withdraw",
    )


def test_what_is_missing_and_in_doubt_is_taken_back_to_be_held():
    """A store that went back does not know why it is missing."""
    doubtful = standing(options=ApplyOptions(doubtful=True))
    assert verdict(seen("u", "Missing"), doubtful) == Judgement(
        transition=Transition.WITHDRAW,
        columns={
            "withdraw_to": WithdrawTo.HELD,
            "reason": restored.REASON,
            "message": restored.MESSAGE,
        },
        action="Withdraw",
    )


@pytest.mark.parametrize("phase", ["Applied", "Gone"])
def test_a_success_says_nothing_but_its_counts(phase):
    """No reason of earlier is left; it was running, seen so or not; the record goes with what is gone."""
    done = seen("u", phase, job={"result": "Succeeded", "succeeded": 2, "failed": 1})
    waited = standing(workload_reason="HeldByMember", workload_message="x")
    assert verdict(done, waited) == Judgement(
        record=phase != "Gone",
        transition=Transition.SUCCEED,
        columns={"succeeded": 2, "failed": 2, "started_at": NOW, "reason": "", "message": ""},
        action="Remove" if phase == "Gone" else "Keep",
    )


@pytest.mark.parametrize(
    ("to", "wish"),
    [
        (WithdrawTo.CANCELLED, "cancelled"),
        (WithdrawTo.DELETED, "deleted"),
        (WithdrawTo.HELD, "held"),
        (WithdrawTo.DEACTIVATED, "deactivated"),
        (WithdrawTo.FAILED, "given up"),
        (WithdrawTo.PENDING, "taken back"),
    ],
)
@pytest.mark.parametrize("reason", ["Preempted", ""])
def test_a_success_in_spite_of_a_wish_says_so(to, wish, reason):
    """Which wish, and why there was one."""
    why = " (Preempted)" if reason else ""
    done = ran("u", result="Succeeded", succeeded=2)
    assert verdict(done, leaving(to, workload_reason=reason)) == Judgement(
        transition=Transition.SUCCEED,
        columns={
            "succeeded": 2,
            "failed": 1,
            "started_at": NOW,
            "reason": "",
            "message": f"completed in north before it could be {wish}{why}",
        },
        action="Withdraw",
    )


@pytest.mark.parametrize(
    ("work", "action"), [(standing(), "Keep"), (leaving(WithdrawTo.CANCELLED), "Withdraw")]
)
@pytest.mark.parametrize(
    ("said", "reason", "message"),
    [
        ({"reason": "BackoffLimitExceeded", "message": "no"}, "BackoffLimitExceeded", "north: no"),
        ({}, "Failed", ""),
    ],
)
def test_a_failure_has_the_members_words(work, action, said, reason, message):
    """And its cluster before them, where there are any."""
    failed = ran("u", result="Failed", failed=3, succeeded=1, **said)
    assert verdict(failed, work) == Judgement(
        transition=Transition.FAIL,
        columns={
            "succeeded": 1,
            "failed": 4,
            "started_at": NOW,
            "reason": reason,
            "message": message,
        },
        action=action,
    )


@pytest.mark.parametrize("phase", ["Applied", "Gone"])
def test_a_failure_that_may_be_tried_again_is_taken_back_first(phase):
    """Its cluster is avoided for a while beside those that are; failures add up; the words are kept."""
    failed = seen("u", phase, job={"result": "Failed", "failed": 2, "reason": "R", "message": "m"})
    assert verdict(failed, standing(**TOLD_TWICE)) == Judgement(
        transition=Transition.WITHDRAW,
        columns={
            "withdraw_to": WithdrawTo.PENDING,
            "reason": "Retrying",
            "message": "epoch 1 failed in north (R): m",
            "failed": 3,
            "set_aside": {"east": LATER, "north": IN_HALF_A_MINUTE},
        },
        action="Withdraw",
    )


@pytest.mark.parametrize("to", [WithdrawTo.PENDING, WithdrawTo.HELD])
def test_a_failure_of_what_is_taken_back_to_run_again_is_no_end(to):
    """Recorded alone: it is as was wished once it is gone, though its failure is told with that."""
    failed = {"result": "Failed", "failed": 1}
    work = leaving(to, **TOLD_TWICE)
    assert verdict(ran("u", **failed), work) == Judgement()
    move = Transition.HOLD if to == WithdrawTo.HELD else Transition.REQUEUE
    assert verdict(seen("u", "Gone", job=failed), work) == Judgement(
        record=False, transition=move, columns=WHY | {"succeeded": 0}, action="Remove"
    )


@pytest.mark.parametrize(
    "to", [WithdrawTo.CANCELLED, WithdrawTo.DELETED, WithdrawTo.DEACTIVATED, WithdrawTo.FAILED]
)
def test_a_failure_of_what_is_not_wished_any_more_is_its_end(to):
    """However many epochs it might have had."""
    told = verdict(ran("u", result="Failed"), leaving(to, **TOLD_TWICE))
    assert (told.transition, told.action) == (Transition.FAIL, "Withdraw")


def test_the_last_epoch_allowed_fails_for_good():
    """An epoch beyond, after a store went back, is the attempt that it says."""
    second = {"workload_epoch": 2, "epoch": 2} | TOLD_TWICE
    assert verdict(ran("u", 2, result="Failed"), standing(**second)).transition == Transition.FAIL
    after = {"workload_epoch": 700_001, "epoch": 700_001} | TOLD_TWICE
    told = verdict(ran("u", 700_001, result="Failed"), standing(**after))
    assert told.transition == Transition.WITHDRAW


@pytest.mark.parametrize(
    ("reason", "to", "aside"),
    [
        ("NameConflict", WithdrawTo.PENDING, IN_FIVE_MINUTES),
        ("KindNotServed", WithdrawTo.PENDING, IN_FIVE_MINUTES),
        ("RefusedByMember", WithdrawTo.PENDING, "9999-01-01T00:00:00+00:00"),
        ("Invalid", WithdrawTo.FAILED, IN_FIVE_MINUTES),
    ],
)
def test_what_a_member_can_not_take_is_taken_back(reason, to, aside):
    """In the member's words; elsewhere, save where no other would take it; others avoided stay so."""
    refused = seen("u", "Failed", reason=reason, message="no")
    assert verdict(refused, standing(State.OFFERED)) == Judgement(
        transition=Transition.WITHDRAW,
        columns={
            "withdraw_to": to,
            "reason": reason,
            "message": "north: no",
            "set_aside": {"east": LATER, "north": aside},
        },
        action="Withdraw",
    )


COUNTS = {"succeeded": 0, "failed": 1, "active": 2, "ready": 1}
SILENT = {"reason": "", "message": ""}


@pytest.mark.parametrize("state", [State.OFFERED, State.APPLIED, State.UNKNOWN])
@pytest.mark.parametrize(("ready", "more"), [(1, {}), (2, {"pods_ready_at": NOW})])
def test_what_runs_is_running_whatever_was_known(state, ready, more):
    """With its counts and without the reason that held it; all ready at once is noted at once."""
    entry = ran("u", running_since="2026-03-01T11:00:00Z", active=2, ready=ready, failed=0)
    held = standing(state, workload_reason="ClusterUnreachable", workload_message="x")
    assert verdict(entry, held) == Judgement(
        transition=Transition.START, columns={**COUNTS, "ready": ready, **SILENT, **more}
    )


@pytest.mark.parametrize("state", [State.OFFERED, State.UNKNOWN])
def test_what_is_there_and_does_not_run_is_applied(state):
    """With what holds it."""
    entry = ran("u", active=2, ready=0, reason="ImagePullBackOff", message="no such image")
    assert verdict(entry, standing(state)) == Judgement(
        transition=Transition.APPLY,
        columns={
            **COUNTS,
            "ready": 0,
            "reason": "ImagePullBackOff",
            "message": "north: no such image",
        },
    )


def test_what_stays_as_it_is_is_recorded_alone():
    """A count that changed, a reason that came or went, or readiness that did, is written."""
    as_it_is = {"running_since": "2026-03-01T11:00:00Z", "active": 2, "ready": 1}
    counts = {**COUNTS, **SILENT}
    assert verdict(ran("u", **as_it_is), standing()) == Judgement()
    assert verdict(ran("u", **as_it_is | {"active": 1}), standing()) == Judgement(
        counts={**counts, "active": 1}
    )
    stale = standing(workload_reason="HeldByMember", workload_message="x")
    assert verdict(ran("u", **as_it_is), stale) == Judgement(counts=counts)
    assert verdict(ran("u", **as_it_is | {"ready": 2}), standing()) == Judgement(
        counts={**counts, "ready": 2}, all_ready=True
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
    assert {name: told.counts[name] for name in COUNTS} == {**COUNTS, "failed": 4}


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
    assert verdict(seen("u", "Failed", reason="NewerEpoch"), standing()) == Judgement()


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
