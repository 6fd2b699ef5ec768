"""Rebalance: where objects of a placement would go were nothing chosen yet, and moving them there.

Only objects move, and only of PickN; Jobs that run are never moved. Carrying it out marks the decisions that
stand: they compete anew, ties go to who has the objects, and who leaves goes once who comes is available.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from hub.domain.placement import registry
from hub.domain.placement.pick import Decisions, pick
from hub.domain.placement.plugins.consent import NamespacesAccepted
from hub.domain.workloads.placement_policy import Policy, read_policy
from hub.services.consent import namespaces as consents
from hub.services.consent.placed import namespaces_of_rows, planned_acceptance
from hub.services.context.settings import Settings
from hub.services.placements.bindings import FOR_A_JOB, REBALANCED
from hub.services.placements.fleet import read_fleet
from hub.services.placements.history.revisions import find_placement
from hub.services.placements.selecting import read_rules, select
from hub.store import audit, placements, works
from hub.store.records.objects import StoredObject
from hub.store.records.placements import Binding
from hub.store.transaction import Transaction
from shared.documents import Json

MOST_CLUSTERS: Final = 200


def rebalance(
    tx: Transaction,
    namespace: str,
    name: str,
    promised: Mapping[str, Mapping[str, int]],
    settings: Settings,
    principal: str,
    *,
    carry_out: bool,
) -> Json:
    """The moves; with `carry_out` they begin. Raises Rejected: NotFound."""
    row = find_placement(tx, namespace, name)
    spec = row.spec or {}
    policy = read_policy(spec.get("policy"))
    selection = select(tx, read_rules(row.kind, row.namespace, spec))
    bound = [
        b
        for b in placements.bindings_of(tx, row.uid)
        if b.selected and b.policy_snapshot != FOR_A_JOB
    ]
    why = _nothing_to_do(policy, has_objects=bool(selection.objects), bound=bound)
    if why:
        here = sorted(each.cluster for each in bound)
        return _answer(row, here, here, why, carried_out=False)
    holding = [each.cluster for each in bound if each.resource_snapshot]
    spaces = namespaces_of_rows(selection.objects.values())
    accepts = planned_acceptance(consents.load(tx), spaces, tx.now, holding)
    decided = _picked_anew(tx, policy, bound, promised, settings, accepts)
    now, then = sorted(each.cluster for each in bound), sorted(decided.selected)
    moves = now != then
    if carry_out and moves:
        placements.bind(tx, [each._replace(policy_snapshot=REBALANCED) for each in bound])
        held = works.of_placement(tx, row.uid)
        tx.touch("observed", *(works.key(work.cluster, work.uid) for work in held))  # look again
        place = "/".join(part for part in (row.namespace, row.name) if part)
        audit.add(tx, principal, "rebalance", f"{row.kind} {place} {row.uid}", ", ".join(then))
        text = f"from {', '.join(now)} to {', '.join(then)}, as {principal} asked"
        tx.say(row, "PlacementRebalanced", text)
    text = decided.message if moves else "a new pick would choose the same clusters"
    return _answer(row, now, then, text, carried_out=carry_out and moves, decided=decided)


def _nothing_to_do(policy: Policy, *, has_objects: bool, bound: Sequence[Binding]) -> str:
    """The reason why nothing can move; "" if something may."""
    if policy.type != "PickN":
        return f"{policy.type} has no choice to make: only PickN is rebalanced"
    if not has_objects:
        return "it places no objects, and Jobs that run are never moved"
    return "" if bound else "nothing of it is placed yet"


def _picked_anew(
    tx: Transaction,
    policy: Policy,
    bound: Sequence[Binding],
    promised: Mapping[str, Mapping[str, int]],
    settings: Settings,
    accepts: NamespacesAccepted,
) -> Decisions:
    return pick(
        policy,
        list(read_fleet(tx, promised=promised).values()),
        tx.now,
        obsolete=[each.cluster for each in bound],
        filters=(*registry.filters(settings.scheduling.suspect_after_s), accepts),
        compatible=settings.scheduling.profile == "KubeFleet",
    )


def _answer(
    row: StoredObject,
    now: Sequence[str],
    then: Sequence[str],
    message: str,
    *,
    carried_out: bool,
    decided: Decisions | None = None,
) -> Json:
    by_name = {each.cluster: each for each in decided.decisions} if decided else {}
    return {
        "kind": row.kind,
        "namespace": row.namespace if row.kind == "ResourcePlacement" else "",
        "name": row.name,
        "carriedOut": carried_out,
        "stays": [name for name in now if name in then],
        "goes": [name for name in now if name not in then],
        "comes": [name for name in then if name not in now],
        "message": message,
        "clusters": [
            {
                "name": name,
                "selected": by_name[name].selected,
                "affinityScore": by_name[name].affinity_score,
                "topologySpreadScore": by_name[name].topology_score,
                "message": by_name[name].message,
            }
            for name in (decided.order[:MOST_CLUSTERS] if decided else ())
        ],
    }
