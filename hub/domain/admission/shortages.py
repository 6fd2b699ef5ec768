"""Shortages of a queue for a request, in numbers of the current tree, and the rule that causes each. Pure."""

from collections.abc import Sequence

from hub.domain.plan import Shortage
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.queue_policy import NEVER, QueuePolicy
from hub.domain.quota.tree import Node, QuotaTree
from hub.domain.quota.tree_columns import plus


def shortage(tree: QuotaTree, node: Node, of: FlavorResource, asked: int) -> Shortage:
    """The missing quota of `asked`; in a cohort the root counts, unless a borrowingLimit stops it."""
    limit, used = node.potential.get(of, 0), tree.used_of(node, of)
    gone = max(used, limit - tree.left(node, of))
    own = node.limits.get(of)
    bounded = own is not None and gone == used and limit == plus(node.subtree.get(of, 0), own)
    alone = bounded or node.parent is None
    return Shortage(of, asked, gone, limit, "" if alone else node.root().name, bounded=bounded)


def no_preemption_while_borrowing(
    policy: QueuePolicy, shortages: Sequence[Shortage], node: Node
) -> list[str]:
    """A message if a request above the nominal quota preempts nothing; else []."""
    beyond = [s for s in shortages if s.asked > node.nominal(s.of)]
    if (
        not beyond
        or policy.borrow_within != NEVER
        or (policy.within, policy.reclaim) == (NEVER,) * 2
    ):
        return []
    resources = " and ".join(s.of.resource for s in beyond)
    rule = "with borrowWithinCohort.policy: Never such a request preempts nobody"
    return [f"more {resources} than nominalQuota is asked, and {rule}"]
