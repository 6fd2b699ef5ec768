"""Whether a Job would be let in, were it submitted now, and where it would go: the engine's own answer."""

import asyncio
import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hub.domain.admission.flavor_assigner import Mode
from hub.domain.admission.nomination import Nominee
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.instants import to_micros
from hub.domain.placement.cluster_search import ClusterSearch, Survey
from hub.domain.plan import Reason, Score
from hub.domain.queueing.lanes import Lane
from hub.domain.quota.declared import ClusterQueue
from hub.domain.quota.holders import PendingWorkload
from hub.domain.whatif.trial import Trial
from hub.domain.workloads import demand as demands
from hub.domain.workloads.demand import Demand
from hub.domain.workloads.placement_policy import Policy
from hub.services.context.hub import Hub
from hub.services.explain import case as cases
from hub.services.index.catalog import Route
from hub.services.index.index import ScheduleIndex
from hub.services.queues import class_values
from hub.services.queues.unqueued import without_limits
from hub.services.reading.draft import Draft, name_taken, read_by_the_hub
from hub.store import workloads
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared import labels
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

MOST_CLUSTERS: Final = 200
QUEUE_NOT_FOUND: Final = "QueueNotFound"
_DEFAULT_CLASS: Final = "default"  # of Jobs that name none
STUDY_S: Final = 1.0  # for all Jobs of one plan


@dataclass(frozen=True, slots=True)
class PlannedFacts:
    """What the store knows of a Job that is planned. `policy`: of the placement that would select it."""

    priority: int
    policy: Policy | None
    taken: str  # why its name is not free; ""
    refused: str = ""  # why it is not taken without a queue


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """One Job for the engine. Without `who` no queue takes it now; without `demand` nothing is asked."""

    view: Json
    demand: Demand | None = None
    who: PendingWorkload | None = None
    consent_unknown: bool = False
    """The hub has asked no agent whether the namespace accepts it."""


def _taken(job: Draft, holder: Workload | None) -> str:
    """Why the name of a Job is not free; "" where it is. Of a job that is hidden from its sender no more."""
    if holder is None:
        return ""
    if not job.sees.shows(holder.namespace, holder.queue, holder.owner):
        return name_taken(job)
    return f"a job of this name is there (uid {holder.uid}): it would be changed, not placed anew"


def facts_of(
    tx: Transaction, jobs: Sequence[Draft], policies: Sequence[Policy | None], unqueued_jobs: str
) -> list[PlannedFacts]:
    """Facts of each Job, in order."""
    named = sorted({_class_of(job) for job in jobs})
    values = class_values.values(tx, named) if named else {}
    names = [(job.parsed.namespace, job.name) for job in jobs]
    live = workloads.live_by_name(tx, names)
    refused = without_limits(tx, jobs, unqueued_jobs)
    return [
        PlannedFacts(
            values.get(_class_of(job), 0),
            policy,
            _taken(job, live.get(name)),
            refused.get(job.uid, ""),
        )
        for job, policy, name in zip(jobs, policies, names, strict=True)
    ]


def _class_of(job: Draft) -> str:
    return str(job.parsed.labels.get(labels.PRIORITY_CLASS) or _DEFAULT_CLASS)


async def plan_jobs(
    hub: Hub, jobs: Sequence[Draft], facts: Sequence[PlannedFacts], index: ScheduleIndex | None
) -> tuple[list[Json], bool]:
    """What is told of each Job, and whether there was time for all of them."""
    now, balanced = hub.clock.now(), hub.settings.scheduling.profile != "KubeFleet"
    makes_queues = hub.settings.intake.unqueued_jobs != "Reject"
    asked = [
        _question(index, job, fact, now, balanced=balanced, makes_queues=makes_queues)
        for job, fact in zip(jobs, facts, strict=True)
    ]
    if index is None or not any(each.demand for each in asked):
        return [each.view for each in asked], True
    queues: list[tuple[ClusterQueue, list[Lane]]] = [
        (queue, []) for _, queue in sorted(index.routes.queues.items())
    ]
    snapshot = cases.snapshot_of(index, queues, now)
    profile = cases.profile_of(hub.settings, now)
    until = hub.clock.monotonic() + STUDY_S

    def may_go_on() -> bool:
        return hub.clock.monotonic() < until

    async with hub.studying:
        return await asyncio.to_thread(_answers, asked, snapshot, profile, now, may_go_on)


def _question(
    index: ScheduleIndex | None,
    job: Draft,
    fact: PlannedFacts,
    now: dt.datetime,
    *,
    balanced: bool,
    makes_queues: bool,
) -> _Question:
    view: Json = {
        "namespace": job.parsed.namespace,
        "name": job.name,
        "queue": job.queue,
        "clusterQueue": "",
        "priority": fact.priority,
        "admitted": False,
        "cluster": "",
        "reason": "",
        "message": "",
        "waitingBefore": 0,
        "preempts": 0,
        "clusters": [],
    }
    if fact.taken:
        return _Question(view | {"reason": "AlreadyExists", "message": fact.taken})
    if job.parsed.hindrance is not None:
        why = job.parsed.hindrance
        text = f"{why.field}: {why.message}"
        return _Question(view | {"reason": "NeverAdmitted", "message": text})
    if fact.refused:
        return _Question(view | {"reason": RejectCode.QUEUE_REQUIRED, "message": fact.refused})
    if index is None:
        return _Question(view | {"reason": "NotReady", "message": "the hub does not schedule yet"})
    place = (job.parsed.namespace, job.queue)
    route = index.routes.route(*place, placed=False)
    policy = fact.policy
    if route.cluster_queue and not index.routes.is_placed(route.cluster_queue):
        policy = None  # its queue chooses, as `place_jobs` decides
    if route.reason == Reason.AWAITING_PLACEMENT and policy is not None:
        route = index.routes.route(*place, placed=True)
    view |= {"clusterQueue": route.cluster_queue, "reason": route.reason, "message": route.message}
    try:
        consent = index.consents.would_be(job.parsed.namespace)
        demand = _demand(job, fact.priority, policy, route, consent, balanced=balanced)
    except Rejected as refusal:
        return _Question(view | {"reason": str(refusal.code), "message": refusal.detail})
    if route.reason:
        if route.reason == QUEUE_NOT_FOUND and not job.queue and makes_queues:
            text = "its namespace gets the default queue with it, which lets everything in"
            view |= {"reason": "DefaultQueue", "message": text}
        return _Question(view, demand)
    view |= {"waitingBefore": _waiting_before(index, route.cluster_queue, fact.priority)}
    who = PendingWorkload(
        uid=job.uid, namespace=job.parsed.namespace, name=job.name, queue=route.cluster_queue,
        pod_sets=demand.pod_sets, priority=fact.priority, queued_at=to_micros(now),
        local_queue=route.local_queue, demand=demand,
    )  # fmt: skip
    return _Question(view, demand, who, index.consents.is_unasked(job.parsed.namespace))


def _demand(
    job: Draft,
    priority: int,
    policy: Policy | None,
    route: Route,
    consent: tuple[str, str] | None,
    *,
    balanced: bool,
) -> Demand:
    pod_sets = tuple(job.parsed.pod_sets)
    constraints = demands.read_constraints(
        read_by_the_hub(job.parsed.annotations), None, policy, pod_sets
    )
    if route.members is not None:
        constraints = replace(constraints, members=route.members)
    constraints = replace(constraints, avoided=route.avoided, consent=consent)
    return Demand(
        key=job.uid,
        queue=route.cluster_queue,
        priority=priority,
        shape=job.shape,
        pod_sets=pod_sets,
        constraints=constraints,
        profile=() if balanced else demands.queue_profile(pod_sets),
    )


def _waiting_before(index: ScheduleIndex, queue: str, priority: int) -> int:
    """Who waits in the same ClusterQueue and goes first."""
    lanes = index.waiting.lanes(queue)
    return sum(len(lane) for lane in lanes if lane.demand.priority >= priority)


def _answers(
    asked: Sequence[_Question],
    snapshot: Snapshot,
    profile: Profile,
    now: dt.datetime,
    may_go_on: Callable[[], bool],
) -> tuple[list[Json], bool]:
    told, complete = [], True
    for each in asked:
        if each.demand is None:
            told.append(each.view)
        elif not may_go_on():
            complete = False
            text = "there was no time to look at it: plan fewer Jobs at once"
            told.append(each.view | {"reason": "NotLookedAt", "message": text})
        else:
            told.append(_answer(each, snapshot, profile, now))
    return told, complete


def _answer(asked: _Question, snapshot: Snapshot, profile: Profile, now: dt.datetime) -> Json:
    demand = asked.demand
    assert demand is not None
    if asked.who is None:
        search = ClusterSearch(
            snapshot.clusters, snapshot.room, profile.filters, now, snapshot.starts
        )
        asks = tuple(snapshot.catalog.ask(each) for each in demand.pod_sets)
        return asked.view | {"clusters": _clusters(search.survey(demand, asks, demand.key))}
    trial = Trial(snapshot, asked.who, now, profile)
    found = trial.ask()
    survey = trial.survey(found)
    fits = found.search.mode is Mode.FIT
    said = _said(asked.view, found, survey, fits=fits)
    if fits and asked.consent_unknown:
        said["message"] += (
            f", if namespace {asked.view['namespace']} accepts this hub there: "
            "agents report that once a job waits in it"
        )
    return asked.view | said | {"clusters": _clusters(survey)}


def _said(view: Json, found: Nominee, survey: Survey, *, fits: bool) -> Json:
    cluster = survey.scores[0].cluster if survey.scores else ""
    if fits and survey.scores:
        before = view["waitingBefore"]
        text = f"it would be admitted now, to {cluster}"
        if before:
            text += f", once the {before} that wait before it in its queue were looked at"
        return {"admitted": True, "cluster": cluster, "reason": "Fits", "message": text}
    if found.victims:
        text = f"it would wait for {len(found.victims)} workloads that are preempted for it"
        return {"preempts": len(found.victims), "reason": "Preempts", "message": text}
    return {"reason": str(found.search.reason), "message": found.search.message}


def _clusters(survey: Survey) -> list[Json]:
    """Those that could hold it, best first, with their scores; then the others with why not."""
    listed = [
        {"name": score.cluster, "fits": True, "score": score.score, "message": _terms(score)}
        for score in survey.scores
    ]
    listed += [
        {"name": each.cluster, "fits": False, "score": None, "message": each.rejection.message}
        for each in survey.refused
    ]
    return listed[:MOST_CLUSTERS]


def _terms(score: Score) -> str:
    """What a score is made of."""
    return ", ".join(f"{term.name}: {term.score}" for term in score.terms)
