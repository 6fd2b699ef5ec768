"""How epochs end: the whole verdict, with every column that it sets and every one it leaves."""

from typing import Any

import orjson
import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State, Transition, WithdrawTo
from hub.services.members.verdicts.judgement import RECORD, Judgement
from hub.services.works import restored
from tests.services.members.hubs import ran, seen
from tests.services.members.rows import (
    IN_FIVE_MINUTES,
    IN_HALF_A_MINUTE,
    LATER,
    NOW,
    TOLD_TWICE,
    WHY,
    leaving,
    standing,
    verdict,
)

RETRIED: Any = {"retry_epoch": 1, "retries": 1}  # the decision of the first epoch


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
    found: dict[str, Any] = {**told.columns}
    if "new_epoch" in columns:
        assert found["new_epoch"] > 100_000
        found["new_epoch"] = True
    assert (told.record, told.transition, told.action) == (False, move, "Remove")
    assert found == columns


@pytest.mark.parametrize(
    ("to", "move"),
    [
        (WithdrawTo.PENDING, Transition.REQUEUE),
        (WithdrawTo.HELD, Transition.HOLD),
        (WithdrawTo.DEACTIVATED, Transition.DEACTIVATE),
    ],
)
def test_an_epoch_that_never_started_is_counted(to, move):
    """Once, as the agent says it; its number stays, so the next epoch has a later one."""
    told = verdict(seen("u", "Gone", unstarted=True), leaving(to, seen=False, unstarted=4))
    assert (told.transition, told.columns.get("unstarted")) == (move, 5)
    assert "new_epoch" not in told.columns


@pytest.mark.parametrize(
    ("said", "known"),
    [(False, {}), (True, {"seen": True}), (True, {"started_at": NOW})],
    ids=["not said", "it was there", "it ran"],
)
def test_an_epoch_that_may_have_started_is_an_attempt(said, known):
    """Without the agent's word, and where the hub was told otherwise before."""
    row = leaving(WithdrawTo.PENDING, **{"seen": False} | known)
    assert "unstarted" not in verdict(seen("u", "Gone", unstarted=said), row).columns


@pytest.mark.parametrize(
    ("job", "counted"),
    [
        ({"suspended": True, "active": 0}, True),
        ({"suspended": False}, False),
        ({"suspended": True, "failed": 1}, False),
        ({"suspended": True, "start_time": "2026-01-01T00:00:00Z"}, False),
        (None, False),
    ],
)
def test_an_epoch_that_only_waited_in_its_member_is_counted(job, counted):
    """It was seen there: then the status that the hub stored last is that of a Job without pods."""
    row = leaving(WithdrawTo.PENDING, seen=True, observed_json=orjson.dumps({"job": job}))
    told = verdict(seen("u", "Gone", unstarted=True), row).columns
    assert ("unstarted" in told) is counted


@pytest.mark.parametrize("epoch", [4, 700_004])
def test_attempts_are_the_epochs_that_failed(epoch):
    """Of four epochs one failed and was tried again: this failure is that of the second attempt."""
    row: dict[str, Any] = {"workload_epoch": epoch, "epoch": epoch, "retries": 1} | TOLD_TWICE
    failed = ran("u", epoch, result="Failed")
    assert verdict(failed, standing(**row)).transition == Transition.FAIL
    assert verdict(failed, standing(**row | {"retries": 0})).transition == Transition.WITHDRAW


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


@pytest.mark.parametrize("phase", ["Missing", "Gone"])
def test_what_is_not_there_and_in_doubt_is_taken_back_to_be_held(phase):
    """A store that went back does not know why: it may have taken the job back itself in the lost time."""
    doubtful = standing(options=ApplyOptions(doubtful=True))
    assert verdict(seen("u", phase), doubtful) == Judgement(
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
            "cause": "R",
            "failed": 3,
            "set_aside": {"east": LATER, "north": IN_HALF_A_MINUTE},
        }
        | RETRIED,
        action="Withdraw",
    )


@pytest.mark.parametrize("to", [WithdrawTo.PENDING, WithdrawTo.HELD])
def test_a_failure_of_what_is_taken_back_to_run_again_is_no_end(to):
    """It is decided that it is tried again: it is as was wished once it is gone."""
    failed: dict[str, Any] = {"result": "Failed", "failed": 1}
    work = leaving(to, **TOLD_TWICE)
    decision = RETRIED | {"set_aside": {"east": LATER, "north": IN_HALF_A_MINUTE}}
    said = "epoch 1 failed in north (Failed): "
    assert verdict(ran("u", **failed), work) == Judgement(
        decided=decision, detail=said, cause="Failed"
    )
    move = Transition.HOLD if to == WithdrawTo.HELD else Transition.REQUEUE
    again: Any = WHY | decision | {"succeeded": 0}
    assert verdict(seen("u", "Gone", job=failed), work) == Judgement(
        record=False, transition=move, columns=again, action="Remove", detail=said, cause="Failed"
    )
    known = leaving(to, **TOLD_TWICE, **RETRIED)
    assert verdict(ran("u", **failed), known) == RECORD, "it is told once"


def test_a_retry_that_a_hub_of_the_release_before_decided_stands():
    """That hub wrote the reason alone; the failure is counted now."""
    only_42 = {"roadstead.dev/retry": "5", "roadstead.dev/retry-on": "42"}
    work = leaving(
        WithdrawTo.PENDING, annotations_json=orjson.dumps(only_42), workload_reason="Retrying"
    )
    told = verdict(seen("u", "Gone", job={"result": "Failed", "failures": []}), work)
    columns: Any = told.columns
    assert (told.transition, columns["retries"]) == (Transition.REQUEUE, 1)


def test_an_end_by_wish_is_not_blamed_on_the_failure():
    """A cancelled job whose failure would be tried again says nothing of `retry-on`."""
    on_42 = {"roadstead.dev/retry": "5", "roadstead.dev/retry-on": "42"}
    work = leaving(WithdrawTo.CANCELLED, annotations_json=orjson.dumps(on_42))
    failed: dict[str, Any] = {"result": "Failed", "failures": ["42/Error"], "message": "m"}
    columns: Any = verdict(ran("u", **failed), work).columns
    assert columns["message"] == "north: m"


@pytest.mark.parametrize(
    "to", [WithdrawTo.CANCELLED, WithdrawTo.DELETED, WithdrawTo.DEACTIVATED, WithdrawTo.FAILED]
)
def test_a_failure_of_what_is_not_wished_any_more_is_its_end(to):
    """However many epochs it might have had."""
    told = verdict(ran("u", result="Failed"), leaving(to, **TOLD_TWICE))
    assert (told.transition, told.action) == (Transition.FAIL, "Withdraw")


@pytest.mark.parametrize("result", ["Failed", "Succeeded"])
def test_a_decision_to_try_again_outlasts_the_words_of_the_row(result):
    """Whoever holds the job meanwhile, and whatever agents report of its pods: a success counts."""
    only_42 = {"roadstead.dev/retry": "5", "roadstead.dev/retry-on": "42"}
    decided = leaving(
        WithdrawTo.HELD, annotations_json=orjson.dumps(only_42), retry_epoch=1, retries=1
    )
    told = verdict(seen("u", "Gone", job={"result": result, "failures": []}), decided)
    move = Transition.SUCCEED if result == "Succeeded" else Transition.HOLD
    assert (told.transition, "retries" in told.columns) == (move, False)


def test_the_last_attempt_allowed_fails_for_good():
    """After a store went back too, in an epoch beyond."""
    second: dict[str, Any] = {"workload_epoch": 2, "epoch": 2, "retries": 1} | TOLD_TWICE
    assert verdict(ran("u", 2, result="Failed"), standing(**second)).transition == Transition.FAIL
    after: dict[str, Any] = {"workload_epoch": 700_001, "epoch": 700_001} | TOLD_TWICE
    told = verdict(ran("u", 700_001, result="Failed"), standing(**after))
    assert told.transition == Transition.WITHDRAW


@pytest.mark.parametrize(
    ("reason", "to", "aside"),
    [
        ("NameConflict", WithdrawTo.PENDING, IN_HALF_A_MINUTE),
        ("KindNotServed", WithdrawTo.PENDING, IN_FIVE_MINUTES),
        ("NotAccepted", WithdrawTo.PENDING, IN_HALF_A_MINUTE),
        ("TokenNotAllowed", WithdrawTo.PENDING, IN_HALF_A_MINUTE),
        ("RefusedByMember", WithdrawTo.PENDING, "9999-01-01T00:00:00+00:00"),
        ("Invalid", WithdrawTo.FAILED, IN_FIVE_MINUTES),
    ],
)
def test_what_a_member_can_not_take_is_taken_back(reason, to, aside):
    """In the member's words; elsewhere, save where no other would take it; others avoided stay so."""
    since = {"north/refused": NOW.isoformat()} if aside == IN_HALF_A_MINUTE else {}
    refused = seen("u", "Failed", reason=reason, message="no")
    assert verdict(refused, standing(State.OFFERED)) == Judgement(
        transition=Transition.WITHDRAW,
        columns={
            "withdraw_to": to,
            "reason": reason,
            "message": "north: no",
            "set_aside": {"east": LATER, "north": aside} | since,
        },
        action="Withdraw",
    )
