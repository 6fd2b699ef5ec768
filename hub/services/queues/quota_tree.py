"""The quota tree as the store has it, and how a node of it is shown."""

from collections.abc import Mapping

from hub.domain.quota.declared import ClusterQueue, FlavorResource, read_cluster_queue
from hub.domain.quota.tree import UNLIMITED, Cohort, Node, QuotaTree, read_cohort
from hub.store import objects
from hub.store.transaction import Transaction
from shared import quantity
from shared.documents import Json
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE


def cohorts_of(tx: Transaction) -> list[Cohort]:
    """Cohorts as declared."""
    rows = objects.list_kind(tx, KUEUE, "Cohort")
    return [read_cohort(row.name, row.spec) for row in rows if row.deleted_at is None]


def cycles(tx: Transaction) -> Mapping[str, tuple[str, ...]]:
    """Cohorts that lead into a cycle of parents, each with the cycle as a path."""
    return QuotaTree((), cohorts_of(tx)).circling


def queues_of(tx: Transaction) -> list[ClusterQueue]:
    """ClusterQueues as declared; one that can not be read is left out."""
    found = []
    for row in objects.list_kind(tx, KUEUE, "ClusterQueue"):
        try:
            found.append(read_cluster_queue(row.name, row.labels or {}, row.spec))
        except Exception:  # noqa: BLE001, S112 - the others keep their quota; the list says what is wrong
            continue
    return found


def quota_view(tree: QuotaTree, node: Node, of: FlavorResource) -> Json:
    """One flavor and resource of a queue or cohort, in canonical texts; unlimited is null."""
    quota = node.quotas.get(of)
    used = tree.used_of(node, of)
    free = max(0, tree.available(node, of))
    unlimited = node.subtree.get(of, 0) >= UNLIMITED
    return {
        "flavor": of.flavor,
        "resource": of.resource,
        "nominal": _text(of, node.nominal(of)),
        "used": _text(of, used),
        "borrowed": _text(of, max(0, used - node.subtree.get(of, 0))),
        "available": None if unlimited else _text(of, free),
        "potential": _text(of, node.potential.get(of, 0)),
        "borrowingLimit": _text(of, None if quota is None else quota.borrowing_limit),
        "lendingLimit": _text(of, None if quota is None else quota.lending_limit),
    }


def cohort_view(tree: QuotaTree, node: Node) -> Json:
    """A cohort with the quota of its subtree."""
    return {
        "kind": "Cohort",
        "name": node.name,
        "parent": node.parent.name if node.parent else "",
        "queues": [child.name for child in node.children if child.is_queue],
        "cohorts": [child.name for child in node.children if not child.is_queue],
        "quotas": [
            quota_view(tree, node, of) | {"subtree": _text(of, amount)}
            for of, amount in sorted(node.subtree.items())
        ],
    }


def _text(of: FlavorResource, amount: int | None) -> str | None:
    if amount is None or amount >= UNLIMITED:
        return None
    return quantity.canonical(of.resource, amount)
