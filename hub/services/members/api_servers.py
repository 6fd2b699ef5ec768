"""Members whose API server serves their agent nothing: what their jobs say, and what goes elsewhere.

It does not answer, or it refuses the agent's credential.

Such a member gets nothing new (`hub.domain.placement.plugins.health`). What it was not told of goes back
to its queue at once; what it was told of and no one has seen there is asked back after a while, and goes
elsewhere once the agent has proof that it does not run. Everything else stays and says why.
"""

import datetime as dt
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from hub.domain.placement.plugins.health import NO_ANSWER, UNHEALTHY, trouble
from hub.domain.workloads.states import State
from hub.services.members.faults import said_last
from hub.services.members.observe import judge_again
from hub.services.members.verdicts.plain_text import plain
from hub.services.works.evict import evict
from hub.store import clusters, on_members, workloads
from hub.store.records.members import DownSince
from hub.store.records.workloads import WorkloadChange
from hub.store.transaction import Transaction

UNHEALTHY_MEMBER: Final = "MemberClusterUnhealthy"
HEALTHY_MEMBER: Final = "MemberClusterHealthy"
_ON_MEMBER: Final = (State.OFFERED, State.APPLIED, State.RUNNING)


class Tended(NamedTuple):
    """Members whose API server is down, with the cause; number of jobs that the hub asked back from them."""

    down: Mapping[str, str] = MappingProxyType({})
    asked_back: int = 0


def tend(
    tx: Transaction,
    after: dt.timedelta,
    before: Collection[str],
    term: int,
    *,
    heard: Mapping[str, dt.datetime | None],
    since: dt.datetime,
    told: Mapping[str, str] = MappingProxyType({}),
    most: int | None = None,
) -> Tended:
    """Bring jobs in line with the servers that are down.

    `after`: for so long, as its agent says, a server is down before what it was offered is asked back, at
    most `most` jobs in this turn. `heard`: the time of each agent's last request; `since`: since when this
    hub hears
    them. What an agent said before, and the time after its last word, count for nothing: its server may
    answer again. `before`: members whose jobs may say so from an earlier turn. `told`: members of which an
    event says that they are down, with the cause that their jobs say.
    """
    down = clusters.down(tx)
    recovered = set(before) - down.keys()
    if not down and not recovered:
        return Tended()
    tx.require_term(term)
    _tell(tx, {name: down[name] for name in down.keys() - told.keys()}, told.keys() - down.keys())
    _recover(tx, recovered)
    rows = on_members.jobs_on(tx, down, [State.PLACED])
    evict(tx, [r.uid for r in rows], UNHEALTHY, "its cluster can not start it")
    causes = {name: _cause(found) for name, found in down.items()}
    _say(tx, down, dict(causes.items() - told.items()))
    due = [
        name
        for name, found in down.items()
        if (at := heard.get(name)) is not None and at - max(_since(found), since) >= after
    ]
    asked = _ask_back(tx, {name: down[name] for name in due}, most)
    return Tended(causes, asked)


def told_down(tx: Transaction) -> dict[str, str]:
    """Members that are down by the newest event of them, with its cause."""
    return said_last(tx, UNHEALTHY_MEMBER, HEALTHY_MEMBER)


def _tell(tx: Transaction, fallen: Mapping[str, DownSince], recovered: Collection[str]) -> None:
    """One event for each member that became Unhealthy or recovered."""
    for name in sorted(fallen):
        if member := clusters.get(tx, name):
            text = plain(f"{_words(name, fallen)}: it gets no new work")
            cause = _cause(fallen[name])
            clusters.say(tx, member, UNHEALTHY_MEMBER, text, warning=True, cause=cause)
    for name in sorted(recovered):
        if member := clusters.get(tx, name):
            clusters.say(tx, member, HEALTHY_MEMBER, "its API server answers its agent again")


def _say(tx: Transaction, down: Mapping[str, DownSince], changed: Collection[str]) -> None:
    """Jobs there get a reason why they do not move; on members whose cause `changed`, they get it again."""
    rows = on_members.jobs_on(tx, down, _ON_MEMBER)
    said: list[WorkloadChange] = [
        {"uid": row.uid, "reason": UNHEALTHY, "message": _words(row.cluster, down)}
        for row in rows
        if row.reason != UNHEALTHY or row.cluster in changed
    ]
    workloads.change(tx, said)


def _recover(tx: Transaction, names: Collection[str]) -> None:
    """Jobs there say again what their agent said of them last: an agent tells only what changes."""
    rows = on_members.jobs_on(tx, names, _ON_MEMBER)
    told = {row.uid for row in rows if row.reason == UNHEALTHY}
    workloads.change(tx, [{"uid": uid, "reason": "", "message": ""} for uid in sorted(told)])
    known = on_members.last_observed(tx, names, _ON_MEMBER) if told else []
    judge_again(tx, (row for row in known if row.uid in told))


def _ask_back(tx: Transaction, down: Mapping[str, DownSince], most: int | None) -> int:
    """Withdraw only jobs that were never seen there, at most `most`; returns their number."""
    if most == 0:
        return 0
    alike: dict[str, list[str]] = {}
    found = on_members.offered_unseen(tx, down, most)
    for row in found:  # the member is not set aside: nothing goes there while its server is down
        alike.setdefault(row.cluster, []).append(row.uid)
    for name, uids in alike.items():
        evict(tx, uids, UNHEALTHY, _words(name, down))
    return len(found)


def why_down(tx: Transaction, name: str) -> str:
    """Since when and why the API server of a member serves its agent nothing; "" while it does."""
    down = clusters.down(tx)
    return _words(name, down) if name in down else ""


def _words(name: str, down: Mapping[str, DownSince]) -> str:
    told = down[name]
    cause = _cause(told)
    if cause != NO_ANSWER:
        return f"{name}: {trouble(cause)} since {told['since']} ({told['reason']})"
    return f"{name}: its API server has not answered since {told['since']} ({told['reason']})"


def _cause(told: DownSince) -> str:
    return told.get("cause", NO_ANSWER)


def _since(told: DownSince) -> dt.datetime:
    return dt.datetime.fromisoformat(told["since"])
