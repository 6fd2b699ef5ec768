"""Conditions: what changes when one is set."""

import datetime as dt

from shared import conditions

THEN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NOW = THEN + dt.timedelta(minutes=5)


def a_condition(status="True", reason="Ready", message="", **more):
    stamp = "2026-01-01T00:00:00Z"
    made = {"type": "Active", "status": status, "reason": reason, "message": message}
    return {**made, "lastTransitionTime": stamp, **more}


def test_a_new_condition_is_added():
    """A condition that was not there is stamped with now."""
    assert conditions.set_condition(None, "Active", "True", "Ready", "", THEN) == [a_condition()]


def test_the_time_moves_with_the_status_only():
    """Another reason leaves lastTransitionTime alone; another status moves it."""
    before = [a_condition()]
    (same,) = conditions.set_condition(before, "Active", "True", "Other", "why", NOW)
    assert same == a_condition(reason="Other", message="why")
    (turned,) = conditions.set_condition(before, "Active", "False", "Stopped", "", NOW)
    assert turned["lastTransitionTime"] == "2026-01-01T00:05:00Z"


def test_setting_the_same_again_changes_nothing():
    """An equal condition gives back the very list, so that nothing needs to be written."""
    before = [a_condition(observedGeneration=3)]
    assert conditions.set_condition(before, "Active", "True", "Ready", "", NOW, 3) is before
    assert conditions.set_condition(before, "Active", "True", "Ready", "", NOW, 4) is not before


def test_order_is_kept():
    """A condition is replaced in its place."""
    before = [a_condition(type="A"), a_condition(), a_condition(type="Z")]
    after = conditions.set_condition(before, "Active", "False", "x", "", NOW)
    assert [c["type"] for c in after] == ["A", "Active", "Z"]
    assert before[1]["status"] == "True"


def test_conditions_are_found_and_removed_by_type():
    """Reading and removing go by type."""
    there = [a_condition(), a_condition(type="B", status="False")]
    assert conditions.is_true(there, "Active")
    assert not conditions.is_true(there, "B")
    assert not conditions.is_true(None, "Active")
    assert conditions.remove(there, "Active", "X") == [there[1]]


def test_times_are_written_as_kubernetes_writes_them():
    """Whole seconds, UTC, Z."""
    east = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2026, 1, 1, 2, 0, 0, 999, tzinfo=east)
    assert conditions.rfc3339(moment) == "2026-01-01T00:00:00Z"
