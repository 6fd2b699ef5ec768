"""The status of an object of another kind than Job on the hub cluster.

It is that of its member's object, as that one's operator wrote it. While the object waits it says so in its
kind's own way: condition Suspended, or the phase of a RayJob or RayCluster; an end of which no member told is
its condition Failed. A status that says that it has ended is never written again.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Final

from hub.bridge.job_status import has_ended as is_over
from hub.bridge.sources import Place, Source
from hub.bridge.work_kinds import PHASES, has_ended, is_other_work
from hub.domain.workloads.states import QUEUED, State
from hub.services.mirror.objects import JobFacts
from hub.store.records.workloads import Workload
from shared.conditions import Condition, set_condition
from shared.documents import Json, JsonView
from shared.kube.client import Object

_WAITING: Final = frozenset({*QUEUED, State.RESERVED, State.DEACTIVATED})


def works_among(places: Mapping[str, Place]) -> list[str]:
    """The uids of those that may be work of other kinds than Job."""
    return [uid for uid, place in places.items() if is_other_work(place[:2])]


def work_writes(
    source: Source, obj: Object, fact: JobFacts, now: dt.datetime
) -> list[tuple[Source, Object, Json]]:
    """The status to write to one of them; none where it stays."""
    wanted = work_status(source.kind.kind, obj.get("status"), fact.row, fact.status, now)
    return [] if wanted is None else [(source, obj, wanted)]


def work_status(
    kind: str,
    live: JsonView | None,
    row: Workload,
    of_member: JsonView | None,
    now: dt.datetime,
) -> Json | None:
    """A merge patch of the status; None where `live` stays. `of_member`: what its member said last."""
    live = live or {}
    if has_ended(live):
        return None
    if of_member is not None and row.state not in _WAITING:
        wanted = dict(of_member)
        if has_ended(of_member) and not is_over(row):
            return None  # it is tried again, or its end is not stored: once written it would stand
    elif is_over(row):
        wanted = _ended(kind, live, row, now)
    elif row.state in _WAITING:
        wanted = _waiting(kind, live, row, now)
    else:
        return None
    gone = dict.fromkeys(live.keys() - wanted.keys())
    changed = {name: value for name, value in wanted.items() if live.get(name) != value}
    patch = {**gone, **changed}
    return patch or None


def _waiting(kind: str, live: JsonView, row: Workload, now: dt.datetime) -> Json:
    reason, message = row.reason or "Queued", row.message or "waits in its queue"
    if kind == "RayCluster":
        return {"state": "suspended", "reason": message}
    told: Json = {}
    if phases := PHASES.get(kind):
        told = {phases.field: phases.waiting}
        if phases.has_message:
            return {**told, "message": message}
    return {**told, "conditions": _one(live, "Suspended", reason, message, now)}


def _ended(kind: str, live: JsonView, row: Workload, now: dt.datetime) -> Json:
    done = row.state is State.SUCCEEDED
    reason = row.reason or row.state.value
    message = row.message or f"the job is {row.state.value.lower()}"
    told: Json = {}
    if phases := PHASES.get(kind):
        told = {phases.field: phases.succeeded if done else phases.failed}
        if done and kind == "RayJob":
            told["jobStatus"] = "SUCCEEDED"
        if phases.has_message:
            return {**told, "message": message}
    success = "Completed" if kind == "JobSet" else "Succeeded"
    at = row.finished_at or now
    return {**told, "conditions": _one(live, success if done else "Failed", reason, message, at)}


def _one(
    live: JsonView, kind: str, reason: str, message: str, now: dt.datetime
) -> list[Condition]:
    """The one condition, since when it is so kept where it was so before."""
    before = [each for each in live.get("conditions") or () if each.get("type") == kind]
    made = set_condition(before, kind, "True", reason, message, now)
    return [{k: v for k, v in each.items() if k != "observedGeneration"} for each in made]
