"""Previews where a few documents would go if applied now. Stores nothing, takes nothing.

The code of the controller of placements decides placements; the engine answers for Jobs. Each is evaluated
alone: of two Jobs neither sees the room that the other would take.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement import registry
from hub.domain.placement.pick import MOST_NAMED, Decision, Decisions, Scores, pick
from hub.domain.placement.status import Resource
from hub.domain.workloads.placement_policy import Policy, read_policy
from hub.services.consent import namespaces as consents
from hub.services.consent.namespaces import AskedNamespaces
from hub.services.consent.placed import namespaces_of, planned_acceptance
from hub.services.context.hub import Hub
from hub.services.context.settings import Settings
from hub.services.explain import plan_jobs, plan_manifests
from hub.services.explain.plan_jobs import PlannedFacts, PlannedQueues
from hub.services.index.index import FindIndex
from hub.services.placements.bindings import FOR_A_JOB
from hub.services.placements.fleet import read_fleet
from hub.services.placements.place_jobs import NEEDS_ONE, is_per_object, one_cluster
from hub.services.placements.selecting import (
    SelectionRules,
    read_rules,
    resource_of_job,
    select,
)
from hub.services.placements.snapshots import policy_hashes
from hub.services.reading.draft import Draft
from hub.services.removals import before
from hub.store import objects, placements
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared import labels
from shared.documents import Json
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.placement_v1 import PLACEMENT_KINDS
from shared.reject_codes import RejectCode

MOST_DOCUMENTS: Final = 200
MOST_CLUSTERS: Final = 200  # that are told of one placement, or of one Job
MOST_SELECTED: Final = 100


@dataclass(frozen=True, slots=True)
class WantedManifests:
    """True if manifests are shown, of one cluster or of all picked ones."""

    manifests: bool = False
    cluster: str = ""


NOTHING: Final = WantedManifests()
Promised = Mapping[str, Mapping[str, int]]  # by cluster and resource


async def plan(
    hub: Hub, drafts: Sequence[Draft], find_index: FindIndex, wanted: WantedManifests = NOTHING
) -> Json:
    """{"placements", "jobs", "complete"}, as `hub.api.models.plan` has them.

    `wanted`: what is told of manifests. Raises Rejected (InvalidValue) where its cluster is not there.
    """
    index = find_index()
    promised: Promised = {} if index is None else index.members.all_promised()
    told = await hub.read(_placements, drafts, promised, hub.settings, wanted)
    given = [each for each in drafts if each.is_job or each.child is not None]
    jobs = [each.child or each for each in given]
    facts = await hub.read(_facts, jobs, drafts, hub.settings.intake.unqueued_jobs)
    planned = PlannedQueues.among(drafts)
    found, complete = await plan_jobs.plan_jobs(hub, jobs, facts, find_index(), planned)
    found = [_run_of(each, one) for each, one in zip(given, found, strict=True)]
    return {"placements": told, "jobs": found, "complete": complete}


def _run_of(given: Draft, found: Json) -> Json:
    """The answer about a CronJob's run now, under the CronJob's name; that of a Job as it is."""
    return found if given.child is None else {**found, "kind": "CronJob", "name": given.name}


def _placements(
    tx: Transaction,
    drafts: Sequence[Draft],
    promised: Promised,
    settings: Settings,
    wanted: WantedManifests,
) -> list[Json]:
    given = [each for each in drafts if _is_placement(each)]
    fleet = read_fleet(tx, promised=promised) if given else {}
    if wanted.cluster and wanted.cluster not in fleet:
        text = f"there is no cluster {wanted.cluster[:64]}"
        raise Rejected(RejectCode.INVALID_VALUE, text, "cluster")
    told: list[Json] = []
    for each in given:
        found, chosen = _placement(tx, each, drafts, fleet, settings)
        shown = plan_manifests.NONE
        if wanted.manifests:
            meant = [name for name in chosen if wanted.cluster in ("", name)]
            labels = {name: fleet[name].labels for name in meant}
            shown = plan_manifests.of_placement(tx, each, drafts, labels)
        told.append(found | shown)
    return told


def _is_placement(given: Draft) -> bool:
    return given.parsed.kind in PLACEMENT_KINDS and given.parsed.group == PLACEMENT


def _rules_of(given: Draft) -> SelectionRules:
    return read_rules(given.parsed.kind, given.parsed.namespace, given.parsed.spec)


def _placement(
    tx: Transaction,
    given: Draft,
    drafts: Sequence[Draft],
    fleet: Mapping[str, Cluster],
    settings: Settings,
) -> tuple[Json, list[str]]:
    """What is told of it, and the clusters that are chosen for its objects."""
    policy, rules = read_policy(given.parsed.spec.get("policy")), _rules_of(given)
    chosen = select(tx, rules)
    given_too = plan_manifests.taken(rules, chosen, drafts)
    new = plan_manifests.resources_of(given_too)
    resources = sorted({*chosen.resources(), *new}, key=lambda r: (r.kind, r.namespace, r.name))
    run = {resource_of_job(row) for row in chosen.jobs.values()}
    run.update(plan_manifests.resources_of([each for each in given_too if each.is_job]))
    jobs = [each for each in resources if each in run]
    view = {
        "kind": given.parsed.kind,
        "namespace": given.parsed.namespace if rules.namespace else "",
        "name": given.name,
        "selected": [_resource(each) for each in resources[:MOST_SELECTED]],
        "selectedCount": len(resources),
        "members": [],
    }
    may = one_cluster(policy, per_object=is_per_object(given.parsed.annotations))
    if jobs and rules.selects_jobs and not may and _by_name(rules, jobs):
        text = (
            "a Job runs in one cluster: PickN with numberOfClusters 1, PickFixed with one name, or "
            f'annotation {labels.PER_OBJECT}: "true"'
        )
        left = {"fulfilled": False, "reason": NEEDS_ONE, "message": text, "clusters": []}
        return view | left, []
    if jobs and len(jobs) == len(resources):
        text = "it selects Jobs alone: their queues admit them: see there"
        alone = {"fulfilled": True, "reason": "JobsAlone", "message": text, "clusters": []}
        back = _taken_back(tx, given, (), resources, keeps_jobs=may)
        return view | alone | {"members": back}, []
    objects_of_it = [each for each in resources if each not in jobs]
    spaces = namespaces_of((r.group, r.kind, r.namespace, r.name) for r in objects_of_it)
    asked = consents.load(tx)
    decided = _decide(tx, given, policy, fleet, settings, asked, spaces)
    text = decided.message if resources else f"it selects nothing; {decided.message}"
    text += _unasked(spaces - asked.names, fleet)
    found = {
        "fulfilled": decided.fulfilled,
        "reason": "Scheduled" if decided.fulfilled else "ScheduleFailed",
        "message": text,
        "clusters": _clusters(decided),
        "members": _taken_back(tx, given, decided.selected, resources, keeps_jobs=may),
    }
    return view | found, sorted(decided.selected)


def _unasked(namespaces: Collection[str], fleet: Mapping[str, Cluster]) -> str:
    """The namespaces that agents were not asked about yet, in words, or ""."""
    if not namespaces or all(each.consent is None for each in fleet.values()):
        return ""
    named = sorted(namespaces)
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return (
        f"; where namespace {', '.join(named[:MOST_NAMED])}{more} accepts this hub: agents report that once "
        "the placement is stored"
    )


def _taken_back(
    tx: Transaction,
    given: Draft,
    chosen: Collection[str],
    resources: Sequence[Resource],
    *,
    keeps_jobs: bool,
) -> list[Json]:
    """Objects and Jobs of the placement that members lose once it is applied."""
    row = _stored(tx, given)
    if row is None:
        return []
    wanted = {(each.group, each.kind, each.namespace, each.name) for each in resources}
    spec = given.parsed.spec
    return before.told(before.of_change(tx, row, spec, chosen, wanted, keeps_jobs=keeps_jobs))


def _stored(tx: Transaction, given: Draft) -> StoredObject | None:
    """The placement of that name, as it is stored."""
    namespace = given.parsed.namespace if given.parsed.kind == "ResourcePlacement" else ""
    return objects.find(tx, PLACEMENT, given.parsed.kind, namespace, given.name)


def _by_name(rules: SelectionRules, jobs: Sequence[Resource]) -> bool:
    named = {(rule.group, rule.kind, rule.name) for rule in rules.rules if rule.name}
    return any((job.group, job.kind, job.name) in named for job in jobs)


def _decide(
    tx: Transaction,
    given: Draft,
    policy: Policy,
    fleet: Mapping[str, Cluster],
    settings: Settings,
    asked: AskedNamespaces,
    namespaces: Collection[str],
) -> Decisions:
    """As the controller would: who is chosen under this very policy stays."""
    row = _stored(tx, given)
    bound = [] if row is None else placements.bindings_of(tx, row.uid)
    versions = policy_hashes(given.parsed.spec)
    mine = [each for each in bound if each.selected and each.policy_snapshot != FOR_A_JOB]
    holding = [each.cluster for each in mine if each.resource_snapshot]
    accepts = planned_acceptance(asked, namespaces, tx.now, holding)
    return pick(
        policy,
        list(fleet.values()),
        tx.now,
        chosen={
            each.cluster: Scores(each.affinity_score, each.topology_score)
            for each in mine
            if each.policy_snapshot in versions
        },
        obsolete=[each.cluster for each in mine if each.policy_snapshot not in versions],
        filters=(*registry.filters(settings.scheduling.suspect_after_s), accepts),
        compatible=settings.scheduling.profile == "KubeFleet",
    )


def _clusters(decided: Decisions) -> list[Json]:
    by_name: dict[str, Decision] = {each.cluster: each for each in decided.decisions}
    return [
        {
            "name": name,
            "selected": by_name[name].selected,
            "affinityScore": by_name[name].affinity_score,
            "topologySpreadScore": by_name[name].topology_score,
            "message": by_name[name].message,
        }
        for name in decided.order[:MOST_CLUSTERS]
    ]


def _resource(found: Resource) -> Json:
    return {
        "group": found.group,
        "version": found.version,
        "kind": found.kind,
        "namespace": found.namespace,
        "name": found.name,
    }


def _facts(
    tx: Transaction, jobs: Sequence[Draft], drafts: Sequence[Draft], unqueued_jobs: str
) -> list[PlannedFacts]:
    """Stored facts about each Job: priority, holder of its name, the policy that would place it."""
    if not jobs:
        return []
    given = [
        (_rules_of(each), each.parsed.spec.get("policy"), is_per_object(each.parsed.annotations))
        for each in drafts
        if _is_placement(each)
    ]
    given += [
        (
            read_rules(row.kind, row.namespace, row.spec or {}),
            (row.spec or {}).get("policy"),
            is_per_object(row.annotations),
        )
        for row in placements.list_all(tx)
        if row.deleted_at is None
    ]
    known = [
        (rules, policy)
        for rules, spec, per_object in given
        if rules.selects_jobs and one_cluster(policy := read_policy(spec), per_object=per_object)
    ]
    policies = [
        next(
            (policy for rules, policy in known if plan_manifests.may_select(rules, job)),
            None,
        )
        for job in jobs
    ]
    return plan_jobs.facts_of(tx, jobs, policies, unqueued_jobs)
