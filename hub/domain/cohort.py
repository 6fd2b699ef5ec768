"""The quota tree: cohorts of any depth over ClusterQueues, and what each node is charged with.

Formulas are those of queueing 2.2: what a node may lend beyond its `local` part lives in its parent;
charging moves up only what no longer fits locally. Amounts are exact; a quota at 63 bits, or a sum of
quotas that reaches it, means *unlimited* and stays so whatever is charged.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from hub.domain.quota import ClusterQueue, FlavorResource, Quota, Usage, read_cluster_queue
from shared import quantity

UNLIMITED: Final = quantity.MAX


@dataclass(frozen=True, slots=True, eq=False)
class Cohort:
    """A Cohort object: where it hangs, the quota it adds for its subtree, and its weight."""

    name: str
    parent: str = ""
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    weight: str = "1"


def read_cohort(name: str, spec: Mapping[str, Any] | None) -> Cohort:
    """A Cohort from its normalised spec; raises `Rejected` on a bad quantity."""
    spec = spec or {}
    quotas = read_cluster_queue(name, {}, {"resourceGroups": spec.get("resourceGroups")}).quotas
    weight = str((spec.get("fairSharing") or {}).get("weight") or "1")
    return Cohort(name, spec.get("parentName") or "", quotas, weight)


class Node:
    """A ClusterQueue or cohort in its tree. Nothing here changes while usage does.

    `local`: of `subtree`, what is never lent. `limits`: borrowing limits. `height`: 0 for a queue, else
    one more than the tallest child.
    """

    __slots__ = (
        "children", "height", "index", "is_queue", "lendable", "limits", "local", "name",
        "parent", "potential", "quotas", "subtree", "weight",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        index: int,
        quotas: Mapping[FlavorResource, Quota],
        weight: str,
        *,
        is_queue: bool,
    ) -> None:
        self.name = name
        self.index = index
        self.is_queue = is_queue
        self.quotas = quotas
        self.weight = weight
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.height = 0
        self.subtree: dict[FlavorResource, int] = {}
        self.local: dict[FlavorResource, int] = {}
        self.limits = {
            of: q.borrowing_limit for of, q in quotas.items() if q.borrowing_limit is not None
        }
        self.potential: dict[FlavorResource, int] = {}
        self.lendable: dict[str, int] = {}  # by resource, over all flavors of the tree

    def path(self) -> Iterator["Node"]:
        """The cohorts above, from the parent to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def root(self) -> "Node":
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def nominal(self, of: FlavorResource) -> int:
        quota = self.quotas.get(of)
        return quota.nominal if quota else 0

    def queues(self) -> Iterator["Node"]:
        """Every ClusterQueue below, in order of name."""
        for child in self.children:
            if child.is_queue:
                yield child
            else:
                yield from child.queues()


def find_cycle(parents: Mapping[str, str]) -> tuple[str, ...]:
    """The first cycle among cohorts as a path that ends where it starts; () where there is none."""
    for start in sorted(parents):
        path, at = [start], parents[start]
        while at and at not in path:
            path.append(at)
            at = parents.get(at, "")
        if at == start:
            return (*path, start)
    return ()


class QuotaTree:
    """All queues and cohorts, and what is charged. Only `charge` and `release` change it."""

    __slots__ = ("circling", "cohorts", "inactive", "nodes", "queues", "used")

    def __init__(self, queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort] = ()) -> None:
        self.nodes: list[Node] = []
        self.queues: dict[str, Node] = {}
        self.cohorts: dict[str, Node] = {}
        self.inactive: dict[str, tuple[str, ...]] = {}  # queue → the cycle of cohorts above it
        self.circling: dict[str, tuple[str, ...]] = {}  # cohort → the cycle it leads into
        self._grow(list(queues), {c.name: c for c in cohorts})
        self.used: list[dict[FlavorResource, int]] = [{} for _ in self.nodes]
        for root in self.roots():
            _total(root)
            _reach(root)

    def _grow(self, queues: list[ClusterQueue], cohorts: Mapping[str, Cohort]) -> None:
        named = {q.cohort for q in queues} | {c.parent for c in cohorts.values()} | cohorts.keys()
        for name in sorted(named - {""}):
            declared = cohorts.get(name) or Cohort(name)  # one that is only named is implicit
            node = Node(name, len(self.nodes), declared.quotas, declared.weight, is_queue=False)
            self.nodes.append(node)
            self.cohorts[name] = node
        circling = self.circling = self._hang(
            {name: c.parent for name, c in cohorts.items() if c.parent}
        )
        for queue in sorted(queues, key=lambda q: q.name):
            node = Node(queue.name, len(self.nodes), queue.quotas, queue.weight, is_queue=True)
            self.nodes.append(node)
            self.queues[queue.name] = node
            if queue.cohort in circling:
                self.inactive[queue.name] = circling[queue.cohort]
            elif queue.cohort:
                _adopt(self.cohorts[queue.cohort], node)

    def _hang(self, parents: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Join cohorts to their parents; those that lead into a cycle stay apart, with its path."""
        circling: dict[str, tuple[str, ...]] = {}
        for name in self.cohorts:
            seen = [name]
            while (above := parents.get(seen[-1], "")) and above not in seen:
                seen.append(above)
            if above:
                circling[name] = (*seen[seen.index(above) :], above)
        for name, parent in sorted(parents.items()):
            if name not in circling:
                _adopt(self.cohorts[parent], self.cohorts[name])
        return circling

    def copy(self) -> "QuotaTree":
        """Another tree to charge, over the same nodes; this one stays as it is."""
        other = QuotaTree.__new__(QuotaTree)
        other.nodes, other.queues, other.cohorts = self.nodes, self.queues, self.cohorts
        other.inactive, other.circling = self.inactive, self.circling
        other.used = [dict(used) for used in self.used]
        return other

    def roots(self) -> Iterator[Node]:
        return (n for n in self.nodes if n.parent is None)

    def usage(self, queue: str) -> dict[FlavorResource, int]:
        """Everything charged to a queue."""
        return self.used[self.queues[queue].index]

    def used_of(self, node: Node, of: FlavorResource) -> int:
        return self.used[node.index].get(of, 0)

    def available(self, node: Node, of: FlavorResource) -> int:
        """What a queue may still take now; negative only for a cohort that is over its quota."""
        free = self._available(node, of)
        return max(0, free) if node.is_queue else free

    def _available(self, node: Node, of: FlavorResource) -> int:
        used = self.used[node.index].get(of, 0)
        subtree = node.subtree.get(of, 0)
        if subtree >= UNLIMITED:
            return UNLIMITED
        if node.parent is None:
            return subtree - used
        local = node.local.get(of, 0)
        above = self._available(node.parent, of)
        limit = node.limits.get(of)
        if limit is not None:
            capped = _plus(subtree - local, limit) - (used - local if used > local else 0)
            above = min(above, capped)
        return _plus(local - used, above) if local > used else above

    def local_available(self, node: Node, of: FlavorResource) -> int:
        """Of what the node never lends, what is unused."""
        return max(0, node.local.get(of, 0) - self.used[node.index].get(of, 0))

    def borrows(self, node: Node, of: FlavorResource, more: int = 0) -> bool:
        """Would the node exceed its own quota (a cohort: that of its subtree) with `more`?"""
        return self.used[node.index].get(of, 0) + more > node.subtree.get(of, 0)

    def within(self, node: Node, these: Iterable[FlavorResource]) -> bool:
        """Is the node inside its own quota on all of these?"""
        used, subtree = self.used[node.index], node.subtree
        for of in these:  # noqa: SIM110 - this is asked most of all, and a generator costs as much again
            if used.get(of, 0) > subtree.get(of, 0):
                return False
        return True

    def level(self, node: Node, of: FlavorResource, amount: int) -> tuple[int, bool]:
        """Height of the lowest subtree that holds `amount` more inside its quota (0: the queue itself),
        and whether that subtree is less than the whole tree (queueing 2.1, borrowing level).
        """
        if node.parent is None or not self.borrows(node, of, amount):
            return 0, node.parent is not None
        left = amount - self.local_available(node, of)
        for cohort in node.path():
            if not self.borrows(cohort, of, left):
                return cohort.height, cohort.parent is not None
            left -= self.local_available(cohort, of)
        return node.root().height, False

    def fits(self, node: Node, amounts: Usage) -> bool:
        """May the queue take all of this now?"""
        return all(amount <= self.available(node, of) for of, amount in amounts.items())

    def charge(self, queue: str, amounts: Usage) -> None:
        """Add to what is charged, in the queue and as far up as it reaches."""
        for of, rest in amounts.items():
            node: Node | None = self.queues[queue]
            while node is not None and rest > 0:
                used = self.used[node.index]
                before = used.get(of, 0)
                used[of] = before + rest
                if node.local and (unused := node.local.get(of, 0) - before) > 0:
                    rest -= unused  # noqa: PLW2901 - of what is charged, the part that moves up
                node = node.parent

    def release(self, queue: str, amounts: Usage) -> None:
        """Take back what was charged."""
        for of, rest in amounts.items():
            node: Node | None = self.queues[queue]
            while node is not None and rest > 0:
                used = self.used[node.index]
                before = used.get(of, 0)
                used[of] = before - rest
                beyond = before - node.local.get(of, 0) if node.local else before
                rest = min(rest, beyond)  # noqa: PLW2901 - the part that had moved up
                node = node.parent

    @contextmanager
    def with_charge(self, queue: str, amounts: Usage) -> Iterator[None]:
        """What if this were charged too?"""
        self.charge(queue, amounts)
        try:
            yield
        finally:
            self.release(queue, amounts)


def _adopt(parent: Node, child: Node) -> None:
    child.parent = parent
    parent.children.append(child)


def _plus(a: int, b: int) -> int:
    """A sum of what may be unlimited; an unlimited part makes it so."""
    return UNLIMITED if a >= UNLIMITED or b >= UNLIMITED else min(UNLIMITED, a + b)


def _total(node: Node) -> None:
    """Sum quotas from the leaves up, and split each node's into what it lends and what it keeps."""
    subtree = {of: q.nominal for of, q in node.quotas.items()}
    for child in node.children:
        _total(child)
        node.height = max(node.height, child.height + 1)
        for of, amount in child.subtree.items():
            subtree[of] = _plus(subtree.get(of, 0), amount - child.local.get(of, 0))
    node.subtree = subtree
    for of, quota in node.quotas.items():
        if quota.lending_limit is not None and quota.lending_limit < UNLIMITED:
            node.local[of] = max(0, subtree[of] - quota.lending_limit)


def _reach(node: Node) -> None:
    """The most each node could ever have, from the root down (queueing 2.2, potential)."""
    above = node.parent.potential if node.parent else {}
    for of in {*node.subtree, *above}:
        subtree = node.subtree.get(of, 0)
        if node.parent is None or subtree >= UNLIMITED:
            node.potential[of] = subtree
            continue
        most = _plus(node.local.get(of, 0), above.get(of, 0))
        limit = node.limits.get(of)
        node.potential[of] = most if limit is None else min(most, _plus(subtree, limit))
    for of in node.root().subtree:
        node.lendable[of.resource] = _plus(
            node.lendable.get(of.resource, 0), node.potential.get(of, 0)
        )
    for child in node.children:
        _reach(child)
