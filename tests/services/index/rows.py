"""A row of a waiting workload, of which a test names what matters."""

from typing import Any

from hub.store.schedule import SchedulingRow
from tests.store.build import START


def a_row(uid: str = "u", **columns: Any) -> SchedulingRow:
    """A job that waits."""
    row = SchedulingRow(
        uid,
        "team-a",
        "q",
        0,
        "s",
        "Pending",
        "",
        "",
        0,
        "",
        "",
        "",
        None,
        None,
        None,
        1,
        1,
        0,
        START,
    )
    return row._replace(**columns)
