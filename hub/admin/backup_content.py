"""Does a backup hold what a hub can go on from? A hub meets such rows later, in the middle of its work."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, bindparam, text

from hub.domain.workloads.states import State
from hub.store import readable
from hub.store.errors import UnusableDatabase

_REMEDY: Final = "restore another backup, or correct these rows in a copy of this one"
_STATES: Final = tuple(str(state) for state in State)
# A job in one of these is on a member, or on its way there or back.
_ON_MEMBER: Final = tuple(
    str(state)
    for state in (
        State.PLACED, State.OFFERED, State.APPLIED, State.RUNNING, State.UNKNOWN, State.WITHDRAWING,
    )
)  # fmt: skip
_UNKNOWN_STATES: Final = text(
    "SELECT state, count(*), min(uid) FROM workloads WHERE state NOT IN :known "
    "GROUP BY state ORDER BY state"
).bindparams(bindparam("known", expanding=True))
_UNKNOWN_CLUSTERS: Final = text(
    "SELECT cluster, count(*), min(uid) FROM workloads WHERE state IN :there AND cluster <> '' "
    "AND cluster NOT IN (SELECT name FROM clusters) GROUP BY cluster ORDER BY cluster"
).bindparams(bindparam("there", expanding=True))


def refuse_strange(file: Path, conn: Connection) -> None:
    """Refuse values that no hub writes, states that no release knows, and clusters that are not there.

    Raises UnusableDatabase.
    """
    if fault := next(readable.unreadable(conn), None):
        raise UnusableDatabase(f"{file}: {fault}: {_REMEDY}")
    found = conn.execute(_UNKNOWN_STATES, {"known": _STATES}).all()
    if found:
        raise UnusableDatabase(
            f"{file}: {_counted(found)} in a state that this release does not know: {_REMEDY}"
        )
    found = conn.execute(_UNKNOWN_CLUSTERS, {"there": _ON_MEMBER}).all()
    if found:
        raise UnusableDatabase(f"{file}: {_counted(found)} on an unknown cluster: {_REMEDY}")


def _counted(found: Collection[Sequence[object]]) -> str:
    """As `2 jobs are "Bogus" (u-1 first)`."""
    told = (
        f'{number} {"job is" if number == 1 else "jobs are"} "{value}" ({uid} first)'
        for value, number, uid in found
    )
    return ", ".join(told)
