"""What actions offer and say, of records as they are: no hub is asked."""

import pytest

from hub.domain.access import Grant, Rights, Role
from hub.domain.workloads.states import WithdrawTo
from hub.web.actions.of_jobs import offered, release
from hub.web.actions.preview import freed

ANYBODY = Rights("olga", (Grant(Role.BATCH_ADMINISTRATOR),))


def a_job(**fields):
    return {
        "uid": "u1", "namespace": "team-a", "name": "one", "kind": "Job", "origin": "rest",
        "owner": "ana", "queue": "lq", "state": "Withdrawing", "withdrawTo": "", "deletedAt": None,
        **fields,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("going", "verbs"),
    [
        (WithdrawTo.PENDING, {"cancel", "hold", "priority"}),
        (WithdrawTo.HELD, {"cancel", "release", "priority"}),
        (WithdrawTo.CANCELLED, set()),
        (WithdrawTo.DELETED, set()),
    ],
)
def test_a_job_that_leaves_is_offered_what_may_still_change_where_to(going, verbs):
    """One on its way to its end is neither held, released nor cancelled again."""
    found = {act.verb for act in offered(ANYBODY, a_job(withdrawTo=going))}
    assert found - {"resubmit", "delete"} == verbs


@pytest.mark.parametrize(
    ("state", "reason", "says"),
    [
        ("Held", "HeldByUser", "waits for first"),
        ("Held", "WaitsForJobs", "It does not wait for first."),
        ("Deactivated", "HeldByUser", "It does not wait for first."),
        ("Withdrawing", "HeldByUser", "It does not wait for first."),
    ],
)
def test_a_release_of_who_waits_for_others_says_what_the_api_does(state, reason, says):
    """Only one that is held by something else waits for them again."""
    job = a_job(
        state=state, reason=reason, cluster="m1", after=[{"name": "first", "state": "Waiting"}]
    )
    assert says in " ".join(release(job, None).sentences)


def test_jobs_that_would_start_and_may_not_be_seen_are_counted():
    """Nobody is told that none would start where only others' would."""
    told = {
        "freed": [{"amount": "4", "resource": "cpu", "flavor": "any"}],
        "starts": [], "hidden": 2, "tried": 3, "complete": True,
    }  # fmt: skip
    assert freed(told) == [
        "That frees 4 cpu of flavor any.",
        "2 jobs that you may not see would start for it.",
    ]
    assert "none would start" in freed({**told, "hidden": 0})[1]
