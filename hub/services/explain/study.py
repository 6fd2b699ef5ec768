"""Studies a waiting job: remedies and the expected start, by the engine itself.

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
from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import State
from hub.services.context import timeline
from hub.services.context.decisions import survey_view
from hub.services.context.hub import Hub
from hub.services.explain import avoided, case as cases
from hub.services.explain.as_it_is_now import quota_view, stopped_queue, waiting_view
from hub.services.explain.case import Case, Findings
from hub.services.explain.growing import growing
from hub.services.explain.job import explain_job
from hub.services.explain.wording import LISTED, Names, Wording
from hub.services.index.index import FindIndex, ScheduleIndex
from hub.services.queues.stop_commands import ADMITS, stop_command
from hub.store import objects, runtimes as stored, workloads
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.groups import KUEUE
from shared.kinds.user_annotations import seconds_of

_SECOND: Final = 1_000_000  # microseconds
_NAMED: Final = 3  # members named in advice

_WAYS: Final = {
    timeline.CODE: "an administrator checks the members' Jobs, then accepts: roadstead restored --accept",
    "QueueNotFound": "create the LocalQueue that it names, or its ClusterQueue",
    "QueueStopped": "set the stopPolicy of the named queue to None",
    "NamespaceMismatch": "label its namespace so that the namespaceSelector of its ClusterQueue matches",
    "AwaitingPlacement": "let a ResourcePlacement in its namespace select the Job by name or labels, or "
    "submit it to a LocalQueue whose ClusterQueue no placement selects",
    "NoMatchingFlavor": "give its ClusterQueue a flavor that covers all it asks for and has the node labels "
    "and tolerations that its pods need, or ask for less: the message says what none has",
    "Misconfigured": "fix its ClusterQueue: the message names the fault",
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
        return told | await growing(hub, index, told)
    case = cases.case_of(index, uid, hub.settings, hub.clock.now())
    if case is None:
        return told | {"remedies": avoided.remedies(told, await _ways(hub, index, told))}
    known = await hub.read(runtimes_of, case)
    async with hub.studying:
        found = await asyncio.to_thread(
            cases.study, case, known, hub.clock.monotonic, surveyed=surveyed
        )
    names, discreet = await hub.read(_names, _mentioned(found))
    teller = Wording(case.who.queue, names, known.ends, case.now, discreet=discreet)
    told |= _told(case, found, known, teller)
    told["message"] = _in_full(told, found)
    if found.survey is not None:
        told["survey"] = survey_view(found.survey)
    told["remedies"] = avoided.remedies(told, told["remedies"])
    if not_served := _not_served(case):
        return told | {"remedies": [*not_served, *told["remedies"]]}
    if told["remedies"]:
        return told
    return told | {"remedies": await _ways(hub, index, told)}


def _not_served(case: Case) -> list[Json]:
    """Return advice for a job whose kind no member serves, as all members report."""
    kind = case.who.demand.constraints.kind if case.who.demand is not None else ""
    members = case.snapshot.clusters
    lacking = [
        n for n, each in members.items() if each.kinds is not None and kind not in each.kinds
    ]
    if not kind or not members or len(lacking) < len(members):
        return []
    name, where = kind.rpartition("/")[2], " or ".join(sorted(lacking)[:_NAMED])
    text = (
        f"install the CustomResourceDefinition of {name} and its operator in a member, such as {where}: "
        "its agent reports the kind within a minute, then the job is placed"
    )
    return [{"kind": "Rule", "message": text}]


async def _ways(hub: Hub, index: ScheduleIndex, told: Json) -> list[Json]:
    """Return advice for its reason, and the command that resumes a stopped queue."""
    typed = ""
    if (place := _stopped(index, told)) is not None:
        typed = await hub.read(_to_resume, *place)
    return _by_rule(told["reason"], typed)


def _by_rule(reason: str, typed: str = "") -> list[Json]:
    """Return advice for a reason that no other picture of queues and fleet would change."""
    way = _WAYS.get(reason)
    if way and typed:
        way = f"{way}: {typed}"
    return [{"kind": "Rule", "message": way}] if way else []


def _stopped(index: ScheduleIndex, told: Json) -> tuple[str, str] | None:
    """Namespace and name of the queue that keeps this job, "" for a ClusterQueue's; None where none is."""
    route = index.routes.route(told["namespace"], told["queue"], placed=True)
    places = {
        "LocalQueue": (told["namespace"], route.local_queue),
        "ClusterQueue": ("", route.cluster_queue),
    }
    return places.get(route.stopped)


def _to_resume(tx: Transaction, namespace: str, name: str) -> str:
    kind = "LocalQueue" if namespace else "ClusterQueue"
    row = objects.find(tx, KUEUE, kind, namespace, name)
    return stop_command(Origin.REST if row is None else row.origin, namespace, name, ADMITS)


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


def _in_full(told: Json, found: Findings) -> str:
    """Its message; of one that waits for quota also that no member could ever hold it."""
    waiting = told["waiting"] or {}
    if not found.never or not waiting.get("quota") or waiting.get("never"):
        return str(told["message"])
    return f"{told['message']}; quota aside, no member could ever hold it: {found.never}"


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
    """Its expected start and the evidence; without an instant, the reason why there is none."""
    held = [uid for held in case.snapshot.holders.values() for uid in held]
    rests_on = [teller.job(uid) for uid in foreseen.ends[-LISTED:] if teller.tells(uid)]
    if foreseen.at is None and not held:
        message = "no forecast: no running workload's end would free enough for it"
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
