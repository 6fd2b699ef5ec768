"""The judge of charges: what counts, and which pods may be given back."""

from types import SimpleNamespace
from typing import Any

import pytest

from shared import labels
from tests.simulation.charges import check_charges
from tests.simulation.world import Violation

Object = dict[str, Any]


def a_row(uid: str, count: int, **pod_set: int) -> Object:
    """A running job of `count` pods at `north`."""
    admission = {"podSets": [{"count": count, **pod_set}]}
    return {"uid": uid, "epoch": 1, "state": "Running", "cluster": "north", "admission": admission}


def north(uid: str, succeeded: int) -> dict[str, Any]:
    """A member with the Job of a row."""
    about = {"labels": {labels.JOB_UID: uid, labels.EPOCH: "1"}}
    jobs = {uid: {"metadata": about, "status": {"succeeded": succeeded}}}
    return {"north": SimpleNamespace(jobs=jobs)}


def test_pods_that_were_given_back_are_not_charged():
    """Of three admitted pods one has succeeded: there is room for another job of one pod."""
    rows = [a_row("one", 3, reclaimed=1), a_row("two", 1)]
    assert check_charges(rows, north("one", 1), 3) == 3
    with pytest.raises(Violation, match="3 are charged, 2 are allowed"):
        check_charges(rows, north("one", 1), 2)


def test_a_pod_that_has_not_succeeded_is_not_given_back():
    """The member's Job is the evidence."""
    with pytest.raises(Violation, match="R-10"):
        check_charges([a_row("one", 3, reclaimed=2)], north("one", 1), 3)
