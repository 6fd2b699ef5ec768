"""Previews whether a submitted Job would be admitted now, and where it would go: the engine's own answer."""

import asyncio
import copy
import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from hub.domain.admission.flavor_assigner import Mode
from hub.domain.admission.nomination import Nominee
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.instants import to_micros
from hub.domain.placement.cluster_search import ClusterSearch, Survey
from hub.domain.plan import Reason, Score
from hub.domain.queueing.lanes import Lane
from hub.domain.quota.declared import ClusterQueue, LocalQueue, read_local_queue
from hub.domain.quota.holders import PendingWorkload
from hub.domain.whatif.trial import Trial
from hub.domain.workloads import demand as demands
from hub.domain.workloads.demand import Demand
from hub.domain.workloads.placement_policy import Policy
from hub.services.context.hub import Hub
from hub.services.explain import case as cases
from hub.services.index.catalog import Route, Routes
from hub.services.index.index import ScheduleIndex
from hub.services.queues import class_values
from hub.services.queues.defaults import DEFAULT
from hub.services.queues.unqueued import without_limits
from hub.services.reading.draft import Draft, name_taken, read_by_the_hub
from hub.store import workloads
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared import labels
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode

MOST_CLUSTERS: Final = 200
QUEUE_NOT_FOUND: Final = "QueueNotFound"
_DEFAULT_CLASS: Final = "default"  # of Jobs that name none
STUDY_S: Final = 1.0  # for all Jobs of one plan


@dataclass(frozen=True, slots=True)
class PlannedFacts:
    """The stored facts about a planned Job. `policy`: of the placement that would select it."""

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
    """The reason why the name of a Job is not free; "" if it is. Hides jobs that the sender may not see."""
    if holder is None:
        return ""
    if not job.sees.shows(holder.namespace, holder.queue, holder.owner):
        return name_taken(job)
    return f"a job of this name is there (uid {holder.uid}): apply would change it, not place it again"


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


@dataclass(frozen=True, slots=True)
class PlannedQueues:
    """Queues among the documents of a plan: LocalQueues by namespace and name, and names of ClusterQueues."""

    local: Mapping[tuple[str, str], LocalQueue]
    cluster: frozenset[str]

    @classmethod
    def among(cls, drafts: Sequence[Draft]) -> Self:
        """Those of `drafts`."""
        found = [each.parsed for each in drafts if each.parsed.group == KUEUE]
        local = {
            (each.namespace, each.name): read_local_queue(each.namespace, each.name, each.spec)
            for each in found
            if each.kind == "LocalQueue"
        }
        return cls(local, frozenset(e.name for e in found if e.kind == "ClusterQueue"))

    def routes(self, known: Routes) -> Routes:
        """The hub's routes, with the LocalQueues of these documents."""
        if not self.local:
            return known
        routes = copy.copy(known)
        routes.local = {**known.local, **self.local}
        return routes

    def why_not(self, namespace: str, queue: str, routes: Routes) -> str:
        """Of a Job whose ClusterQueue is only among the documents; "" otherwise."""
        local = routes.local.get((namespace, queue))
        if local is None or local.cluster_queue in routes.queues:
            return ""
        if local.cluster_queue not in self.cluster:
            return ""
        return (
            f"its ClusterQueue {local.cluster_queue} is among these documents and not on the hub yet: a plan "
            "knows the quota that is there; apply the queues, then plan the Jobs"
        )


NO_QUEUES: Final = PlannedQueues({}, frozenset())


async def plan_jobs(
    hub: Hub,
    jobs: Sequence[Draft],
    facts: Sequence[PlannedFacts],
    index: ScheduleIndex | None,
    planned: PlannedQueues = NO_QUEUES,
) -> tuple[list[Json], bool]:
    """What is told of each Job, and whether there was time for all of them."""
    now, balanced = hub.clock.now(), hub.settings.scheduling.profile != "KubeFleet"
    makes_queues = hub.settings.intake.unqueued_jobs != "Reject"
    asked = [
        _question(index, job, fact, planned, now, balanced=balanced, makes_queues=makes_queues)
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
    planned: PlannedQueues,
    now: dt.datetime,
    *,
    balanced: bool,
    makes_queues: bool,
) -> _Question:
    view: Json = {
        "kind": job.parsed.kind,
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
    routes = planned.routes(index.routes)
    route = routes.route(*place, placed=False)
    policy = fact.policy
    if route.cluster_queue and not index.routes.is_placed(route.cluster_queue):
        policy = None  # its queue chooses, as `place_jobs` decides
    if route.reason == Reason.AWAITING_PLACEMENT and policy is not None:
        route = routes.route(*place, placed=True)
    view |= {"clusterQueue": route.cluster_queue, "reason": route.reason, "message": route.message}
    try:
        consent = index.consents.would_be(job.parsed.namespace)
        demand = _demand(job, fact.priority, policy, route, consent, balanced=balanced)
    except Rejected as refusal:
        return _Question(view | {"reason": str(refusal.code), "message": refusal.detail})
    if route.reason:
        if text := planned.why_not(*place, routes):
            view |= {"reason": "QueuePlanned", "message": text}
        return _Question(view | _default_queue(job, route, makes_queues=makes_queues), demand)
    view |= {"waitingBefore": _waiting_before(index, route.cluster_queue, fact.priority)}
    who = PendingWorkload(
        uid=job.uid, namespace=job.parsed.namespace, name=job.name, queue=route.cluster_queue,
        pod_sets=demand.pod_sets, priority=fact.priority, queued_at=to_micros(now),
        local_queue=route.local_queue, demand=demand,
    )  # fmt: skip
    return _Question(view, demand, who, index.consents.is_unasked(job.parsed.namespace))


def _default_queue(job: Draft, route: Route, *, makes_queues: bool) -> Json:
    """Reason and message of a job for the default queue where the hub makes that; {} of any other."""
    if route.reason != QUEUE_NOT_FOUND or job.queue not in ("", DEFAULT) or not makes_queues:
        return {}
    text = "its namespace gets the default queue with it, which admits every job"
    return {"reason": "DefaultQueue", "message": text}


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
    kind = demands.kind_constraint(job.parsed.api_version, job.parsed.kind)
    constraints = replace(constraints, kind=kind, avoided=route.avoided, consent=consent)
    if route.members is not None:
        constraints = replace(constraints, members=route.members)
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
    """The waiting jobs ahead of it in the same ClusterQueue."""
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
            text = "no time was left to evaluate it: plan fewer Jobs at once"
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
            text += f", once the {before} that wait before it in its queue were evaluated"
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
    """The terms of a score."""
    return ", ".join(f"{term.name}: {term.score}" for term in score.terms)
