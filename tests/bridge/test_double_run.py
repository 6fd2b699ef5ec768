"""A hub Job says that an earlier epoch of it ran beside the present one, as it allows."""

import datetime as dt

from hub.bridge.job_status import with_double_run

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
SUSPENDED = {"type": "Suspended", "status": "False"}


def found(status, kind="DoubleRun"):
    return [(c["status"], c["message"]) for c in status["conditions"] if c["type"] == kind]


def test_the_condition_comes_with_a_double_run_and_is_false_when_it_is_over():
    """Beside the others; a Job that has none is left as it is."""
    plain = {"active": 1, "conditions": [SUSPENDED]}
    assert with_double_run(plain, None, "", NOW) is plain
    told = with_double_run(plain, None, "epoch 1 in north", NOW)
    assert found(told) == [("True", "epoch 1 in north")]
    assert told["active"] == 1
    over = with_double_run(told, told, "", NOW)
    assert found(over) == [("False", "nothing of an earlier epoch is left")]
    assert [c for c in over["conditions"] if c["type"] == "Suspended"] == [SUSPENDED]


def test_a_status_without_conditions_keeps_those_that_are_there():
    """Counts alone are written: what is known of conditions is the live status's."""
    told = with_double_run({"active": 1}, {"conditions": [SUSPENDED]}, "epoch 1 in north", NOW)
    assert len(told["conditions"]) == 2
