"""What would change a waiting job's lot, and when it is expected to start: the engine's own answers.

The case is taken from the index in the event loop, runtimes are read, the engine is asked in a thread;
then what it found is told with the names of the jobs concerned. One study at a time.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from hub.domain.admission.flavor_assigner import Mode
from hub.domain.admission.nomination import Nominee
from hub.domain.instants import stamp, to_micros
from hub.domain.whatif.forecast import Forecast, Runtimes
from hub.domain.workloads.states import State
from hub.services.context import timeline
from hub.services.context.decisions import survey_view
from hub.services.context.hub import Hub
from hub.services.explain import avoided, case as cases
from hub.services.explain.as_it_is_now import quota_view, stopped_queue, waiting_view
from hub.services.explain.case import Case, Findings
from hub.services.explain.job import explain_job
from hub.services.explain.wording import LISTED, Names, Wording
from hub.services.index.index import FindIndex, ScheduleIndex
from hub.store import runtimes as stored, workloads
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.kinds.user_annotations import seconds_of

_SECOND: Final = 1_000_000  # microseconds

_WAYS: Final = {
    timeline.CODE: "see what the members still run, then: roadstead restored --accept",
    "QueueNotFound": "create the LocalQueue that it names, or its ClusterQueue",
    "QueueStopped": "set the stopPolicy of the queue that is named to None",
    "NamespaceMismatch": "label its namespace so that the namespaceSelector of its ClusterQueue matches",
    "AwaitingPlacement": "let a ResourcePlacement in its namespace select the Job by name or labels, or "
    "submit it to a LocalQueue whose ClusterQueue no placement selects",
    "NoMatchingFlavor": "give its ClusterQueue a flavor that covers all it asks for and has the node labels "
    "and tolerations that its pods need, or ask for less: the message says what none has",
    "Misconfigured": "mend its ClusterQueue: the message says what is wrong",
}


async def explain(hub: Hub, uid: str, find_index: FindIndex, *, surveyed: bool = False) -> Json:
    """The whole story of one job, with what would change it. Raises Rejected(NotFound).

    `surveyed`: of one that waits, `survey` has how every cluster stands for it (`decisions.survey_view`).
    """
    told = await _explained(hub, uid, find_index())
    index = find_index()
    told |= {"remedies": [], "flavors": [], "fleet": [], "forecast": None, "complete": True}
    if told["reason"] == timeline.CODE:
        return told | {"remedies": _by_rule(timeline.CODE)}
    if index is None or told["state"] != State.PENDING or told["nomination"]:
        return told
    case = cases.case_of(index, uid, hub.settings, hub.clock.now())
    if case is None:
        return told | {
            "remedies": avoided.remedies(told, _by_rule(told["reason"], _stopped(index, told)))
        }
    known = await hub.read(runtimes_of, case)
    async with hub.studying:
        found = await asyncio.to_thread(
            cases.study, case, known, hub.clock.monotonic, surveyed=surveyed
        )
    names, discreet = await hub.read(_names, _mentioned(found))
    teller = Wording(case.who.queue, names, known.ends, case.now, discreet=discreet)
    told |= _told(case, found, known, teller)
    if found.survey is not None:
        told["survey"] = survey_view(found.survey)
    told["remedies"] = avoided.remedies(told, told["remedies"])
    if told["remedies"]:
        return told
    return told | {"remedies": _by_rule(told["reason"], _stopped(index, told))}


def _by_rule(reason: str, stopped: str = "") -> list[Json]:
    """What to do about a reason that no other picture of queues and fleet would change.

    `stopped`: the queue that is, as commands name it.
    """
    way = _WAYS.get(reason)
    if way and reason == "QueueStopped" and stopped:
        way = f"{way}: roadstead queues resume {stopped}"
    return [{"kind": "Rule", "message": way}] if way else []


def _stopped(index: ScheduleIndex, told: Json) -> str:
    """The queue that keeps this job, as commands name it; "" where none is stopped."""
    route = index.routes.route(told["namespace"], told["queue"], placed=True)
    names = {
        "LocalQueue": f"{told['namespace']}/{route.local_queue}",
        "ClusterQueue": route.cluster_queue,
    }
    return names.get(route.stopped, "")


async def _explained(hub: Hub, uid: str, index: ScheduleIndex | None) -> Json:
    suspect_after_s = hub.settings.scheduling.suspect_after_s
    waiting, quota = waiting_view(index, uid), quota_view(index, uid)
    told = await hub.read(explain_job, uid, waiting, quota, suspect_after_s)
    unread = index is not None and waiting is None and told["state"] == State.PENDING
    if index is not None and unread and told["reason"] != timeline.CODE:
        told |= stopped_queue(index, told["namespace"], told["queue"])
    return told


def runtimes_of(tx: Transaction, case: Case) -> Runtimes:
    """When holders end and how long others will run, as they say or as they are limited to: by
    max-exec-time-seconds over all their runs, by activeDeadlineSeconds from the start of one.

    One that has run for longer than it said ends when its limit ends it, if it has one.
    """
    ends: dict[str, int] = {}
    lasting: dict[str, int] = {}
    now = to_micros(case.now)
    for each in stored.timed(tx, case.concerned()):
        said = seconds_of(each.expected) if each.expected else None
        limit = None if each.max_runtime_s is None else max(0, each.max_runtime_s - each.ran_s)
        if each.placed_at is None:
            least = min((s for s in (said, limit, each.deadline_s) if s is not None), default=None)
            if least is not None:
                lasting[each.uid] = least * _SECOND
            continue
        placed, started = to_micros(each.placed_at), to_micros(each.started_at or each.placed_at)
        possible = [] if said is None else [started + said * _SECOND]
        possible += [] if limit is None else [placed + limit * _SECOND]
        possible += [] if each.deadline_s is None else [started + each.deadline_s * _SECOND]
        coming = [at for at in possible if at > now]
        if coming:
            ends[each.uid] = min(coming)
    return Runtimes(ends, lasting)


def _names(tx: Transaction, uids: Iterable[str]) -> tuple[Names, bool]:
    """Names of the jobs that whoever asks may see; are there jobs that they may not?"""
    rows = workloads.get_many(tx, uids)
    return {
        uid: (row.namespace, row.name)
        for uid, row in rows.items()
        if tx.scope.shows(row.namespace, row.queue, row.owner)
    }, not tx.scope.is_everything


def _mentioned(found: Findings) -> set[str]:
    uids = {h.uid for remedy in found.remedies for h in remedy.holders[:LISTED]}
    return uids | set(found.forecast.ends[-LISTED:])


def _told(case: Case, found: Findings, known: Runtimes, teller: Wording) -> Json:
    return {
        "remedies": [teller.remedy(remedy) for remedy in found.remedies],
        "flavors": [_flavor(flavor, nominee) for flavor, nominee in found.flavors],
        "fleet": [
            {"cluster": v.cluster, "fits": v.message == "", "message": v.message}
            for v in found.fleet
        ],
        "forecast": _forecast(found.forecast, teller, case, known),
        "complete": found.complete,
    }


def _flavor(flavor: str, nominee: Nominee) -> Json:
    search = nominee.search
    if search.mode is Mode.FIT:
        outcome, message = "Fits", "borrowing" if search.borrowing else ""
    elif nominee.victims:
        outcome, message = "Preempts", search.message
    else:
        outcome, message = str(search.reason), search.message
    return {
        "flavor": flavor,
        "outcome": outcome,
        "message": message,
        "preempts": len(nominee.victims),
    }


def _forecast(foreseen: Forecast, teller: Wording, case: Case, known: Runtimes) -> Json:
    """When it starts and what that rests on; without an instant, why there is none."""
    held = [uid for held in case.snapshot.holders.values() for uid in held]
    rests_on = [teller.job(uid) for uid in foreseen.ends[-LISTED:] if teller.tells(uid)]
    if foreseen.at is None and not held:
        message = "no forecast: nothing runs whose end would let it in"
    elif foreseen.at is None:
        sure = sum(1 for uid in held if uid in known.ends)
        message = (
            f"no forecast: {foreseen.why} (of {len(held)} admitted the end of {sure} is known)"
        )
    else:
        parts = [_count(len(foreseen.ends), "known end") if foreseen.ends else "what is free now"]
        if foreseen.admitted:
            parts.append(f"{_count(foreseen.admitted, 'other')} admitted before it")
        if foreseen.preempted:
            parts.append(f"{len(foreseen.preempted)} preempted")
        message = f"rests on {', '.join(parts)}"
    return {
        "at": stamp(foreseen.at),
        "notBefore": stamp(foreseen.not_before),
        "message": message,
        "restsOn": rests_on,
        "restsOnTotal": len(foreseen.ends),
        "admittedBefore": foreseen.admitted,
        "preempted": len(foreseen.preempted),
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
