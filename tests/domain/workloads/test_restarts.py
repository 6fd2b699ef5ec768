"""When a job may start although the hub's store went back to an older copy (exactly-once.md, rule 12)."""

import datetime as dt

import pytest
from hypothesis import given, strategies as st

from hub.domain.workloads.restarts import RestartedJob, RestoreEvidence, why_not_startable

RESTORED = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
EARLIER, LATER = RESTORED - dt.timedelta(hours=1), RESTORED + dt.timedelta(hours=1)
UID = "1c0ffee0-0000-4000-8000-000000000001"


def a_job(created_at: dt.datetime = EARLIER, *, born_here: bool = True) -> RestartedJob:
    """A job of REST; or, not born here, one of the hub cluster."""
    return RestartedJob(UID, created_at, born_here)


def since_restore(
    *unreported: str, reported: dict[str, int] | None = None, overflowing: tuple[str, ...] = ()
) -> RestoreEvidence:
    """Who still owes a report, and the epochs of the job that members report."""
    return RestoreEvidence(
        RESTORED, unreported, overflowing, {UID: reported} if reported is not None else {}
    )


def test_a_job_starts_in_a_store_that_never_went_back() -> None:
    """Without a restore, no member owes a report."""
    assert why_not_startable(a_job(), RestoreEvidence()) == ""


def test_a_job_starts_once_every_member_has_reported() -> None:
    """All members reported all their Jobs, and none of them is this one."""
    assert why_not_startable(a_job(), since_restore()) == ""


@pytest.mark.parametrize("created_at", [EARLIER, RESTORED])
def test_a_member_that_owes_its_report_blocks_the_jobs_of_before_the_restore(
    created_at: dt.datetime,
) -> None:
    """The refusal names the member and the command for a destroyed cluster."""
    why = why_not_startable(a_job(created_at), since_restore("m2"))

    assert "m2 has not reported all its Jobs since the restore" in why
    assert "roadstead clusters fence m2 --destroyed" in why


@pytest.mark.parametrize("born_here", [True, False])
def test_a_member_that_owes_its_report_does_not_block_a_later_job(born_here: bool) -> None:
    """No member can hold a Job that was created after the restore and that none reports."""
    assert why_not_startable(a_job(LATER, born_here=born_here), since_restore("m2")) == ""


def test_a_member_that_reports_the_job_blocks_it() -> None:
    """The refusal names the member, the epoch, and the two decisions that settle it."""
    why = why_not_startable(a_job(), since_restore(reported={"m1": 4}))

    assert "m1 still reports epoch 4" in why
    assert "roadstead admin adopt" in why
    assert "roadstead admin forget" in why


def test_a_report_blocks_a_job_of_the_hub_cluster_whenever_it_was_created() -> None:
    """Its time of creation is of another clock, which orders nothing."""
    why = why_not_startable(a_job(LATER, born_here=False), since_restore(reported={"m1": 1}))

    assert "m1 still reports epoch 1" in why


def test_a_report_does_not_concern_a_job_that_the_hub_created_after_the_restore() -> None:
    """The hub gave the uid after the restore: what a member reports under it is not of the lost time."""
    assert why_not_startable(a_job(LATER), since_restore(reported={"m1": 1})) == ""


def test_a_report_of_another_job_blocks_nothing() -> None:
    """Reports count by uid."""
    evidence = RestoreEvidence(RESTORED, reported={"another": {"m1": 1}})

    assert why_not_startable(a_job(), evidence) == ""


def test_a_member_that_reports_the_job_is_named_once() -> None:
    """Whether it has reported everything matters no more: it holds the Job."""
    why = why_not_startable(a_job(), since_restore("m1", "m2", reported={"m1": 1}))

    assert why.count("m1 ") == 1
    assert "m2 has not reported" in why


def test_a_member_with_more_jobs_than_the_hub_keeps_is_told_to_remove_them() -> None:
    """Waiting would not help: the reason says what does."""
    why = why_not_startable(a_job(), since_restore("m1", "m2", overflowing=("m1",)))

    assert "m1 reports more Jobs from before the restore than the hub keeps" in why
    assert "m2 has not reported all its Jobs" in why


def test_the_reason_names_ten_members_and_counts_the_others() -> None:
    """A fleet of a thousand members does not make a reason of a thousand clauses."""
    why = why_not_startable(a_job(), since_restore(*(f"m{at:02}" for at in range(13))))

    assert "m09 " in why
    assert "m10 " not in why
    assert why.endswith("; and 3 more members")


def test_ten_members_are_all_named() -> None:
    """In one list, and no others are counted."""
    why = why_not_startable(a_job(), since_restore(*(f"m{at:02}" for at in range(10))))

    assert [why.count(f"; m{at:02} has") for at in range(1, 10)] == [1] * 9
    assert why.endswith("roadstead clusters fence m09 --destroyed)")


MEMBERS = st.sets(st.sampled_from(["m1", "m2", "m3", "m4"]))
BORN_LATER = st.builds(
    RestartedJob, uid=st.just(UID), created_at=st.just(LATER), born_here=st.just(value=True)
)
BEFORE = st.builds(
    RestartedJob,
    uid=st.just(UID),
    created_at=st.sampled_from([EARLIER, RESTORED]),
    born_here=st.booleans(),
)


@given(job=BEFORE, unreported=MEMBERS, holders=MEMBERS)
def test_a_job_of_before_starts_only_when_no_member_may_hold_it(
    job: RestartedJob, unreported: set[str], holders: set[str]
) -> None:
    """It starts exactly when each member has reported and none reports the job; else all are named."""
    evidence = since_restore(*unreported, reported=dict.fromkeys(holders, 1))

    why = why_not_startable(job, evidence)

    assert (why == "") == (not unreported and not holders)
    assert all(f"{member} " in why for member in unreported | holders)


@given(job=BORN_LATER, unreported=MEMBERS, holders=MEMBERS)
def test_a_job_that_the_hub_created_later_always_starts(
    job: RestartedJob, unreported: set[str], holders: set[str]
) -> None:
    """Members that are silent for ever do not stop new work."""
    assert (
        why_not_startable(job, since_restore(*unreported, reported=dict.fromkeys(holders, 1)))
        == ""
    )
