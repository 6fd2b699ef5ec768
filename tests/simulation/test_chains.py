"""The judge of chains: when another job has ended as a job that waits for it asks."""

from typing import Any

import pytest

from tests.simulation.chains import UID, Chain
from tests.simulation.world import Violation

DELETED = {"state": "Deactivated", "live": None}


def place(other: dict[str, Any], wanted: str) -> None:
    """Place the job that waits for `w0`, which is `other` in the store."""
    chain = Chain()
    chain.links = lambda: [{"on_uid": "w0", "wanted": wanted}]
    chain.placed(UID, {"w0": other}, {"w0"})


@pytest.mark.parametrize("wanted", ["any", "fail"])
def test_a_deactivated_job_that_was_deleted_has_ended_without_success(wanted: str):
    """While it has its name, a person may release it: it has not ended."""
    place(DELETED, wanted)
    with pytest.raises(Violation, match="R-21"):
        place({**DELETED, "live": True}, wanted)


def test_it_has_not_succeeded():
    """A job that waits for its success is not placed."""
    with pytest.raises(Violation, match="R-21"):
        place(DELETED, "ok")
