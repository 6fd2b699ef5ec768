"""Decisions that no longer hold in the transaction that writes them: rule 23 of exactly-once.md.

The change feed says whether there is anything to ask (`Grounds.in_transaction`); decisions of a cycle are
then held against the present by `hub.domain.cycle.recheck`. A decision beside a cycle is not carried out
if its grounds changed: the next turn decides.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace

import orjson

from hub.domain.cycle.recheck import Recheck
from hub.domain.placement.framework import first_rejection
from hub.domain.placement.plugins.consent import AWAITING_REPORT
from hub.domain.plan import Lapse, Plan, Reason
from hub.domain.workloads.demand import Constraints, Demand
from hub.services.scheduling.grounds import Concerns, Grounds, Present
from hub.store.schedule import SchedulingRow
from hub.store.transaction import Transaction

Checks = Mapping[str, tuple[str, ...]]  # admission checks that were found to be required, by uid
Stopped = Mapping[tuple[str, str], Sequence[str]]  # uids of what leaves, by reason and message
_ANYTHING = Constraints()


def of_plan(
    tx: Transaction, grounds: Grounds, plan: Plan, checks: Checks, reserved: frozenset[str]
) -> dict[str, Lapse]:
    """Placements and preemptors of a plan that lapsed, by uid. `reserved`: those that wait for checks."""
    decided = {p.uid: (p.epoch, p.generation) for p in plan.placements}
    decided |= {
        n.uid: (n.who.epoch, n.who.generation) for n in plan.nominated if n.who is not None
    }
    if not decided:
        return {}
    present = grounds.in_transaction(tx, decided, _concerns(grounds, plan))
    if present is None:
        return {}
    standing = present.standing(decided, _demands(grounds, plan))
    picture, moved = present.snapshot(), present.moved
    moved = replace(moved, roomy=present.roomy(picture.room))
    lapsed = Recheck(plan, picture, moved, standing, grounds.profile, tx.now).lapsed()
    return _other_checks(present, plan, checks, reserved) | lapsed


def _concerns(grounds: Grounds, plan: Plan) -> Concerns | None:
    """Selects the holders of quota that a preemption rests on: victims, others of the tree or the cluster."""
    if not plan.evictions:
        return None
    victims, by = {e.uid for e in plan.evictions}, {e.by for e in plan.evictions}
    claims = [claim for claim in plan.nominated if claim.uid in by]
    clusters = {claim.cluster for claim in claims if claim.cluster}
    nodes = [grounds.ledger.node(claim.who.queue) for claim in claims if claim.who is not None]
    roots = {node.root().name: node.root() for node in nodes if node is not None}
    queues = {queue.name for root in roots.values() for queue in root.queues()}
    return lambda holder: (
        holder.queue in queues or holder.cluster in clusters or holder.uid in victims
    )


def _demands(grounds: Grounds, plan: Plan) -> dict[str, Demand]:
    """Demands as in the plan, by uid."""
    assert grounds.snapshot is not None
    by_key = {
        lane.demand.key: lane.demand for _, lanes in grounds.snapshot.queues for lane in lanes
    }
    found = {p.uid: by_key[p.demand] for p in plan.placements if p.demand in by_key}
    for nominated in plan.nominated:
        if nominated.who is not None and nominated.who.demand is not None:
            found[nominated.uid] = nominated.who.demand
    return found


def _other_checks(
    present: Present, plan: Plan, checks: Checks, reserved: frozenset[str]
) -> dict[str, Lapse]:
    """Placements whose ClusterQueue asks for other admission checks by now."""
    if not present.routes_moved:
        return {}
    gate = present.routes.gate()
    found = {}
    for placement in plan.placements:
        uid = placement.uid
        required = gate.required(placement.queue, placement.assignment)
        if required != checks.get(uid, ()) or gate.waits(required) != (uid in reserved):
            message = f"the admission checks of ClusterQueue {placement.queue} changed after the decision"
            found[uid] = Lapse(Reason.PENDING_EVALUATION, message)
    return found


def of_reservations(tx: Transaction, grounds: Grounds, rows: Sequence[SchedulingRow]) -> set[str]:
    """Reserved workloads that may not be placed as was decided, by uid. Their quota is charged already."""
    present = grounds.in_transaction(tx, [row.uid for row in rows]) if rows else None
    if present is None:
        return set()
    return {row.uid for row in rows if not _still_ready(present, grounds, row, tx.now)}


def _still_ready(present: Present, grounds: Grounds, row: SchedulingRow, now: dt.datetime) -> bool:
    """A misconfigured queue holds no reservation back; a stopped one does."""
    route, demand = present.route(row)
    if route.stopped:
        return False
    given = orjson.loads(row.admission or b"null") or {}
    used = frozenset(
        f for p in given.get("podSets") or () for f in (p.get("flavors") or {}).values()
    )
    policy = present.routes.queue_policies.get(row.cluster_queue)
    required = policy.required_checks(used) if policy is not None and policy.checks else ()
    if used & present.moved.flavors or set(required) != set(orjson.loads(row.checks or b"{}")):
        return False
    if not row.cluster or row.cluster not in present.moved.clusters:
        return True
    cluster = present.clusters.get(row.cluster)
    constraints = _ANYTHING if demand is None else demand.constraints
    if cluster is None:
        return False
    why = first_rejection(grounds.profile.filters, constraints, cluster, now)
    return why is None or why.reason == AWAITING_REPORT


def still_drained(tx: Transaction, grounds: Grounds, drained: Stopped) -> Stopped:
    """Of workloads that leave drained queues, those whose queues are drained in this transaction."""
    present = grounds.in_transaction(tx, ())
    if present is None or not present.rules_moved:
        return drained
    routes = present.routes
    found: dict[tuple[str, str], list[str]] = {}
    for row in present.rows([uid for uids in drained.values() for uid in uids]):
        why = routes.drained_by(row.cluster_queue, row.namespace, row.queue)
        if why is not None:
            found.setdefault(why, []).append(row.uid)
    return found


def still_stopped(tx: Transaction, grounds: Grounds, stopped: Stopped) -> Stopped:
    """Of reserved workloads of stopped queues, those whose queues are stopped in this transaction."""
    present = grounds.in_transaction(tx, ()) if stopped else None
    if present is None or not present.rules_moved:
        return stopped
    every = [uid for uids in stopped.values() for uid in uids]
    left = {row.uid for row in present.rows(every) if present.route(row)[0].stopped}
    return {why: [uid for uid in uids if uid in left] for why, uids in stopped.items()}
