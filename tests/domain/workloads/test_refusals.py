"""For how long a member is set aside for a job whose namespace it refuses."""

import datetime as dt

import pytest

from hub.domain.workloads.refusals import LONGEST, forget, is_member, refused, standing
from hub.services.works.avoiding import set_aside

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


def seconds_aside(told, now, member="north"):
    return (dt.datetime.fromisoformat(told[member]) - now).total_seconds()


def refused_again_and_again(times, member="north"):
    """The spans in seconds; each refusal comes five seconds after the one before is over."""
    told: dict[str, str] = {}
    now, spans = NOW, []
    for _ in range(times):
        told = refused(told, member, now)
        spans.append(seconds_aside(told, now, member))
        now = dt.datetime.fromisoformat(told[member]) + dt.timedelta(seconds=5)
    return told, now, spans


def test_each_refusal_sets_the_member_aside_for_twice_as_long():
    """From half a minute to ten minutes."""
    assert refused_again_and_again(7)[2] == [30, 60, 120, 240, 480, 600, 600]


def test_another_member_begins_anew():
    """Its own refusals count alone."""
    told, now, _ = refused_again_and_again(4)
    told = refused(told, "south", now)
    assert seconds_aside(told, now, "south") == 30
    assert seconds_aside(refused(told, "north", now), now) == 480


def test_a_later_refusal_begins_anew():
    """Ten minutes after the member was last set aside."""
    told, now, _ = refused_again_and_again(4)
    later = now + LONGEST
    assert standing(told, later) == {}
    assert seconds_aside(refused(told, "north", later), later) == 30


def test_another_state_of_the_namespace_begins_anew():
    """The member may be tried at once; what others refused stays."""
    told, now, _ = refused_again_and_again(3)
    told = refused(told, "south", now)
    left = forget(told, "north")
    assert seconds_aside(refused(left, "north", now), now) == 30
    assert {key for key in left if is_member(key)} == {"south"}


@pytest.mark.parametrize("told", [None, {}, {"north": "2026-01-01T12:05:00+00:00"}])
def test_without_a_refusal_nothing_is_forgotten(told):
    """A name that is taken there has nothing to do with consent."""
    assert forget(told, "north") is None


def test_what_sets_the_member_aside_for_another_reason_ends_the_count():
    """It says nothing of the namespace; what is over is dropped."""
    told, now, _ = refused_again_and_again(4)
    aside = set_aside(told, "north", now, dt.timedelta(minutes=5))
    assert list(aside) == ["north"]
    assert seconds_aside(refused(aside, "north", now), now) == 30
