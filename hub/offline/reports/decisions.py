"""Decisions and figures in the fixed JSON shape of `roadstead simulate cycle`.

Quantities are canonical texts, what is unlimited is null, an infinite share is 2**63 - 1. Figures of
queues and cohorts are those before the rounds.
"""

from collections.abc import Callable

from hub.domain.cycle.attempt import Attempt, Ending
from hub.domain.plan import Assignment
from hub.domain.queueing.eligibility import Hold
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.dominant_share import dominant_share
from hub.domain.quota.holders import PendingWorkload
from hub.domain.quota.tree import UNLIMITED, Node, QuotaTree
from hub.offline.inputs.scene import Scene
from hub.offline.play.engine import play
from shared import quantity
from shared.documents import Json


def cycle_report(scene: Scene, rounds: int) -> Json:
    """Play `rounds` rounds on a scene and report."""
    before = figures(scene)
    _, told = play(scene, rounds)
    decisions = [
        _attempted(t) if isinstance(t, Attempt) else _not_attempted(*t)
        for t in sorted(told, key=_place)
    ]
    return {"decisions": decisions, **before}


def figures(scene: Scene) -> Json:
    """The nominal, potential and used quota and the share of each queue and cohort, in the present scene."""
    tree = scene.tree()
    for holder in scene.holders:
        if holder.queue in tree.queues:
            tree.charge(holder.queue, holder.usage)
    return {
        "queues": [_queue(tree, tree.queues[name]) for name in sorted(tree.queues)],
        "cohorts": [
            {
                "name": name,
                "weightedShare": dominant_share(tree, tree.cohorts[name]).reported(),
            }
            for name in sorted(tree.cohorts)
        ],
    }


def _queue(tree: QuotaTree, node: Node) -> Json:
    return {
        "clusterQueue": node.name,
        "available": _table(node, lambda of: tree.available(node, of)),
        "potential": _table(node, lambda of: node.potential.get(of, 0)),
        "usage": _table(node, lambda of: tree.used_of(node, of), limited=True),
        "weightedShare": dominant_share(tree, node).reported(),
    }


def _table(node: Node, amount: Callable[[FlavorResource], int], *, limited: bool = False) -> Json:
    table: dict[str, dict[str, str | None]] = {}
    for of in node.quotas:
        value = amount(of)
        unlimited = value >= UNLIMITED and not limited
        text = None if unlimited else quantity.canonical(of.resource, value)
        table.setdefault(of.flavor, {})[of.resource] = text
    return table


def _attempted(attempt: Attempt) -> Json:
    assignment = attempt.search.assignment if attempt.ending is not Ending.PENDING else None
    return {
        **_who(attempt.who),
        "decision": attempt.ending.value,
        "cluster": attempt.cluster,
        "podSets": _pod_sets(assignment),
        "victims": sorted(
            (
                {
                    "namespace": v.holder.namespace,
                    "name": v.holder.name,
                    "reason": v.cause.value,
                }
                for v in attempt.victims
                if attempt.ending is not Ending.PENDING
            ),
            key=lambda v: (v["namespace"], v["name"]),
        ),
        "requeue": attempt.where.value if attempt.where else None,
        "reason": attempt.reason.value,
        "message": attempt.message,
    }


def _not_attempted(who: PendingWorkload, hold: Hold) -> Json:
    return {
        **_who(who),
        "decision": Ending.PENDING.value,
        "cluster": None,
        "podSets": [],
        "victims": [],
        "requeue": None,
        "reason": hold.reason.value,
        "message": hold.message,
    }


def _who(who: PendingWorkload) -> Json:
    return {"namespace": who.namespace, "name": who.name, "clusterQueue": who.queue}


def _pod_sets(assignment: Assignment | None) -> list[Json]:
    return [
        {
            "name": each.name,
            "count": each.count,
            "flavors": dict(each.flavors),
            "usage": {r: quantity.canonical(r, amount) for r, amount in each.usage},
        }
        for each in (assignment.pod_sets if assignment else ())
    ]


def _place(told: Attempt | tuple[PendingWorkload, Hold]) -> tuple[str, str, str]:
    who = told.who if isinstance(told, Attempt) else told[0]
    return who.queue, who.namespace, who.name
