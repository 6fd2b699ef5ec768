"""The next run of a CronJob: at most the newest of the times that have passed."""

import datetime as dt
import uuid

import pytest
from hypothesis import given, strategies as some

from hub.domain.workloads.cron_runs import Decided, child_name, child_uid, next_run, rules_of

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def minutes(count: float) -> dt.datetime:
    return NOON + dt.timedelta(minutes=count)


def decided(now: dt.datetime, *, since: dt.datetime = NOON, active: bool = False, **spec):
    rules = rules_of({"schedule": "*/10 * * * *", **spec})
    return next_run(rules, since, now, is_active=active)


def test_a_time_that_has_not_come_is_waited_for():
    """The time of its creation does not count."""
    run = decided(minutes(5))
    assert (run.decided, run.look_at) == (Decided.WAIT, minutes(10))


def test_a_time_that_has_come_starts_a_run_and_the_next_one_is_looked_for():
    """To the very instant."""
    run = decided(minutes(10))
    assert (run.decided, run.at, run.missed, run.look_at) == (
        Decided.START,
        minutes(10),
        0,
        minutes(20),
    )


def test_of_missed_times_the_newest_alone_runs():
    """Of three times two are missed."""
    run = decided(minutes(35))
    assert (run.decided, run.at, run.missed) == (Decided.START, minutes(30), 2)


@pytest.mark.parametrize(("passed", "missed"), [(101, 100), (102, 101), (5000, 101)])
def test_more_than_a_hundred_missed_times_are_not_counted_further(passed, missed):
    """And the newest runs all the same."""
    run = decided(minutes(10 * passed + 1))
    assert (run.at, run.missed) == (minutes(10 * passed), missed)


def test_a_suspended_cron_job_waits_for_nothing():
    """Its times pass; when it is resumed the newest of them may run."""
    assert decided(minutes(30), suspend=True).look_at is None
    assert decided(minutes(30)).at == minutes(30)


def test_a_time_beyond_its_starting_deadline_is_late_and_does_not_run():
    """Within it, it runs."""
    assert decided(minutes(12), startingDeadlineSeconds=120).late == minutes(10)
    assert decided(minutes(11.9), startingDeadlineSeconds=120).at == minutes(10)
    assert decided(minutes(12), since=minutes(10), startingDeadlineSeconds=120).late is None


def test_forbid_blocks_a_run_while_a_job_has_not_ended():
    """Once it has ended, the newest time that has passed meanwhile runs."""
    assert decided(minutes(10), active=True, concurrencyPolicy="Forbid").decided is Decided.BLOCKED
    assert decided(minutes(25), concurrencyPolicy="Forbid").at == minutes(20)


@pytest.mark.parametrize("policy", ["Allow", "Replace"])
def test_other_policies_start_beside_a_job_that_has_not_ended(policy):
    """Replace deletes it first."""
    assert decided(minutes(10), active=True, concurrencyPolicy=policy).decided is Decided.START


@given(some.lists(some.integers(0, 400), min_size=1), some.integers(0, 30))
def test_whenever_a_hub_looks_each_time_is_decided_at_most_once(looks, deadline):
    """The decided times grow, and each is a time of the schedule."""
    since, seen = NOON, []
    for look in sorted(looks):
        run = decided(minutes(look), since=since, startingDeadlineSeconds=deadline * 60 or None)
        if run.at is not None:
            seen.append(run.at)
            since = run.at
    assert seen == sorted(set(seen))
    assert all(at.minute % 10 == 0 and at.second == 0 for at in seen)


def test_name_and_uid_of_a_child_follow_from_its_cron_job_and_time():
    """A hub that creates it again creates the same one."""
    assert child_name("nightly", NOON) == f"nightly-{int(NOON.timestamp()) // 60}"
    uid = child_uid("c1", NOON)
    assert uid == child_uid("c1", NOON)
    assert uuid.UUID(uid).version == 8
    assert len({uid, child_uid("c2", NOON), child_uid("c1", minutes(1))}) == 3
