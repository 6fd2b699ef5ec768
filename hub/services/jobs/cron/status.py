"""The status of a CronJob as the hub keeps it: the decided times and its children.

`active`, `lastScheduleTime` and `lastSuccessfulTime` are as Kubernetes has them. `decidedUntil`: no run of
this or an earlier time is created any more. `ended`: children that are kept, oldest first. `blockedAt`: the
time whose run waits for the end of another, said once. `nextScheduleTime`: the next time that the schedule
names, absent while it is suspended. `lastResult`: the state of the child that ended last. Condition `Held`:
why no run is created, while members may run one of its name.
"""

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import Final

from hub.domain.workloads.cron_runs import CronRules
from hub.domain.workloads.states import State
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from shared.documents import Json, JsonView

_HELD: Final = "Held"
_MAY_RUN: Final = "MayRunInMember"
_ENDED = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED})


@dataclass(frozen=True, slots=True)
class Child:
    """A Job of a CronJob. `succeeded`: whether it ended so."""

    name: str
    uid: str
    succeeded: bool = False


@dataclass(frozen=True, slots=True)
class CronStatus:
    """The status of a CronJob, read."""

    active: tuple[Child, ...] = ()
    ended: tuple[Child, ...] = ()
    decided_until: dt.datetime | None = None
    last_scheduled: dt.datetime | None = None
    last_succeeded: dt.datetime | None = None
    blocked_at: dt.datetime | None = None
    next_at: dt.datetime | None = None
    last_result: str = ""
    held: str = ""  # why; "": it is not
    held_since: dt.datetime | None = None
    rest: Json = field(default_factory=dict)  # what others keep there

    @property
    def children(self) -> list[str]:
        """The uids of all children that it knows."""
        return [each.uid for each in (*self.active, *self.ended)]


def read_status(status: JsonView | None) -> CronStatus:
    """The status as it is stored."""
    given = dict(status or {})
    conditions = given.pop("conditions", ())
    held: Json = next((each for each in conditions if each.get("type") == _HELD), {})
    if others := [each for each in conditions if each.get("type") != _HELD]:
        given["conditions"] = others
    return CronStatus(
        tuple(_child(each) for each in given.pop("active", ())),
        tuple(_child(each) for each in given.pop("ended", ())),
        _instant(given.pop("decidedUntil", None)),
        _instant(given.pop("lastScheduleTime", None)),
        _instant(given.pop("lastSuccessfulTime", None)),
        _instant(given.pop("blockedAt", None)),
        _instant(given.pop("nextScheduleTime", None)),
        given.pop("lastResult", ""),
        held.get("message", ""),
        _instant(held.get("lastTransitionTime")),
        given,
    )


def told(status: CronStatus, namespace: str) -> Json:
    """The status as it is stored and shown; absent where there is nothing."""
    times = {
        "decidedUntil": status.decided_until,
        "lastScheduleTime": status.last_scheduled,
        "lastSuccessfulTime": status.last_succeeded,
        "blockedAt": status.blocked_at,
        "nextScheduleTime": status.next_at,
    }
    found: Json = {name: _text(at) for name, at in times.items() if at is not None}
    if status.last_result:
        found["lastResult"] = status.last_result
    if status.held and status.held_since is not None:
        found["conditions"] = [
            *status.rest.get("conditions", ()),
            {
                "type": _HELD,
                "status": "True",
                "reason": _MAY_RUN,
                "message": status.held,
                "lastTransitionTime": _text(status.held_since),
            },
        ]
    if status.active:
        found["active"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "namespace": namespace} | _named(each)
            for each in status.active
        ]
    if status.ended:
        found["ended"] = [_named(each) | {"succeeded": each.succeeded} for each in status.ended]
    return {**status.rest, **found}


def settled(
    status: CronStatus, rows: dict[str, Workload]
) -> tuple[CronStatus, list[tuple[Child, Workload | None]]]:
    """The status once the ends of its children are in it; and the children that have ended since.

    `rows`: workloads by uid. A child that is deleted, or whose record is gone, is no child any more.
    """
    active, new = [], []
    for each in status.active:
        row = rows.get(each.uid)
        if row is None or row.live is None:
            new.append((each, row))
        elif row.state in _ENDED:
            new.append((replace(each, succeeded=row.state == State.SUCCEEDED), row))
        else:
            active.append(each)
    kept = [each for each in status.ended if (row := rows.get(each.uid)) is not None and row.live]
    kept += [each for each, row in new if row is not None and row.live]
    succeeded = [row.finished_at for _, row in new if row is not None and row.finished_at
                 and row.state == State.SUCCEEDED]  # fmt: skip
    latest = max([at for at in (status.last_succeeded, *succeeded) if at], default=None)
    results = [str(row.state) for _, row in new if row is not None and row.state in _ENDED]
    settled_status = replace(
        status,
        active=tuple(active),
        ended=tuple(kept),
        last_succeeded=latest,
        last_result=results[-1] if results else status.last_result,
    )
    return settled_status, new


def beyond_limits(status: CronStatus, rules: CronRules) -> tuple[CronStatus, list[Child]]:
    """The status without the oldest ended children beyond the limits, and those children."""
    kept: list[Child] = []
    gone: list[Child] = []
    left = {True: rules.keep_succeeded, False: rules.keep_failed}
    for each in reversed(status.ended):
        left[each.succeeded] -= 1
        (kept if left[each.succeeded] >= 0 else gone).append(each)
    return replace(status, ended=tuple(reversed(kept))), gone


def held(status: CronStatus, why: str, now: dt.datetime) -> CronStatus:
    """The status while members may run one of its name; `why`: "" once none may."""
    since = (status.held_since or now) if why else None
    return replace(status, held=why, held_since=since)


def given_up(status: CronStatus, now: dt.datetime) -> CronStatus:
    """The status with every time up to now decided; a clock that was set back decides no time again."""
    until = max(now, status.decided_until or now)
    return replace(status, decided_until=until, blocked_at=None, next_at=None)


def since(row: StoredObject, status: CronStatus) -> dt.datetime:
    """From when on scheduled times count."""
    created: dt.datetime = row.created_at
    return status.decided_until or created


def _child(value: JsonView) -> Child:
    return Child(value["name"], value["uid"], bool(value.get("succeeded")))


def _named(child: Child) -> Json:
    return {"name": child.name, "uid": child.uid}


def _instant(text: str | None) -> dt.datetime | None:
    return None if text is None else dt.datetime.fromisoformat(text)


def _text(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
