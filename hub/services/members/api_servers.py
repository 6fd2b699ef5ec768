"""Members whose API server does not answer their agent: what their jobs say, and what goes elsewhere.

Such a member gets nothing new (`hub.domain.placement.plugins.health`). What it was not told of goes back
to its queue at once; what it was told of and no one has seen there is asked back after a while, and goes
elsewhere once the agent has proof that it does not run. Everything else stays and says why.
"""

import datetime as dt
from collections.abc import Collection, Mapping
from typing import Final

from hub.domain.placement.plugins.health import UNHEALTHY
from hub.domain.workloads.states import State
from hub.services.members.verdicts.plain_text import plain
from hub.services.works.avoiding import SET_ASIDE, set_aside
from hub.services.works.evict import evict
from hub.store import clusters, on_members, workloads
from hub.store.records.members import DownSince
from hub.store.records.workloads import WorkloadChange, WorkloadColumns
from hub.store.transaction import Transaction
from shared.wire.agent_v1 import ApiServerDown

_ON_MEMBER: Final = (State.OFFERED, State.APPLIED, State.RUNNING)
_TOLD: Final = 200  # characters of an agent's reason


def down_view(told: ApiServerDown | None, now: dt.datetime) -> DownSince | None:
    """What is kept of an agent's word; None where the server answers."""
    if told is None:
        return None
    since = now - dt.timedelta(seconds=min(told.down_s, 30 * 86_400.0))
    return {"reason": plain(told.reason, _TOLD), "since": since.isoformat(timespec="seconds")}


def tend(
    tx: Transaction, after: dt.timedelta, before: Collection[str], term: int
) -> frozenset[str]:
    """Bring jobs in line with the servers that are down; which are.

    `after`: for so long a server is down before what it was offered is asked back. `before`: members
    whose jobs may say so from an earlier turn.
    """
    down = clusters.down(tx)
    recovered = set(before) - down.keys()
    if not down and not recovered:
        return frozenset()
    tx.require_term(term)
    _recover(tx, recovered)
    rows = on_members.jobs_on(tx, down, [State.PLACED])
    evict(tx, [r.uid for r in rows], UNHEALTHY, "its cluster can not start it")
    _say(tx, down)
    due = [name for name, told in down.items() if tx.now - _since(told) >= after]
    _ask_back(tx, {name: down[name] for name in due})
    return frozenset(down)


def _say(tx: Transaction, down: Mapping[str, DownSince]) -> None:
    """Jobs there say why they do not move."""
    rows = on_members.jobs_on(tx, down, _ON_MEMBER)
    said: list[WorkloadChange] = [
        {"uid": row.uid, "reason": UNHEALTHY, "message": _words(row.cluster, down)}
        for row in rows
        if row.reason != UNHEALTHY
    ]
    workloads.change(tx, said)


def _recover(tx: Transaction, names: Collection[str]) -> None:
    rows = on_members.jobs_on(tx, names, _ON_MEMBER)
    told = [row for row in rows if row.reason == UNHEALTHY]
    workloads.change(tx, [{"uid": r.uid, "reason": "", "message": ""} for r in told])


def _ask_back(tx: Transaction, down: Mapping[str, DownSince]) -> None:
    """Only what nobody has seen there: the member must prove that it never came to be."""
    alike: dict[str, dict[str, WorkloadColumns]] = {}
    for row in on_members.offered_unseen(tx, down):
        aside = set_aside(row.set_aside, row.cluster, tx.now, SET_ASIDE)
        alike.setdefault(row.cluster, {})[row.uid] = {"set_aside": aside}
    for name, rows in alike.items():
        evict(tx, rows, UNHEALTHY, _words(name, down), also=rows)


def _words(name: str, down: Mapping[str, DownSince]) -> str:
    told = down[name]
    return f"{name}: its API server has not answered since {told['since']} ({told['reason']})"


def _since(told: DownSince) -> dt.datetime:
    return dt.datetime.fromisoformat(told["since"])
