"""The quota tree: cohorts of any depth over ClusterQueues, and what each node is charged with.

Formulas are Kueue's (resource_node.go): what a node may lend beyond its `local` part lives in its parent;
charging moves up only what no longer fits locally. Amounts are exact; a quota at 63 bits, or a sum of
quotas that reaches it, means *unlimited* and stays so whatever is charged.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hub.domain.quota import tree_columns
from hub.domain.quota.declared import (
    ClusterQueue,
    FlavorResource,
    Quota,
    Usage,
    read_cluster_queue,
)
from hub.domain.quota.tree_columns import Column, available, charge, plus, release
from shared.documents import JsonView

UNLIMITED: Final = tree_columns.UNLIMITED


@dataclass(frozen=True, slots=True, eq=False)
class Cohort:
    """A Cohort object: where it hangs, the quota it adds for its subtree, and its weight."""

    name: str
    parent: str = ""
    quotas: Mapping[FlavorResource, Quota] = field(default_factory=dict)
    weight: str = "1"


def read_cohort(name: str, spec: JsonView | None) -> Cohort:
    """A Cohort from its normalised spec; raises `Rejected` on a bad quantity."""
    spec = spec or {}
    quotas = read_cluster_queue(name, {}, {"resourceGroups": spec.get("resourceGroups")}).quotas
    weight = str((spec.get("fairSharing") or {}).get("weight") or "1")
    return Cohort(name, spec.get("parentName") or "", quotas, weight)


class Node:
    """A ClusterQueue or cohort in its tree. Nothing here changes while usage does.

    `local`: of `subtree`, what is never lent. `limits`: borrowing limits. `height`: 0 for a queue, else
    one more than the tallest child. `chain`: itself and the cohorts above, as far as the root. `tree`:
    the number of its tree; `place`: its own in the columns of that tree; `places`: those of `chain`.
    """

    __slots__ = (
        "chain", "children", "height", "index", "is_queue", "lendable", "limits", "local", "name",
        "parent", "place", "places", "potential", "quotas", "subtree", "tree", "weight",
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
        self.chain: tuple[Node, ...] = (self,)
        self.tree = self.place = 0
        self.places: tuple[int, ...] = (0,)
        self.height = 0
        self.subtree: dict[FlavorResource, int] = {}
        self.local: dict[FlavorResource, int] = {}
        self.limits = {
            of: q.borrowing_limit for of, q in quotas.items() if q.borrowing_limit is not None
        }
        self.potential: dict[FlavorResource, int] = {}
        self.lendable: dict[str, int] = {}  # by resource, over all flavors of the tree

    def path(self) -> tuple["Node", ...]:
        """The cohorts above, from the parent to the root."""
        return self.chain[1:]

    def root(self) -> "Node":
        return self.chain[-1]

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


def find_cycle(start: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    """The cycle of cohorts that the way up from `start` leads into; () where it ends at a root.

    A path that ends where it starts: with `start` itself, if that is part of the cycle.
    """
    way = [start]
    while (above := parents.get(way[-1], "")) and above not in way:
        way.append(above)
    return (*way[way.index(above) :], above) if above else ()


_Over = dict[tuple[int, FlavorResource], dict[Node, None]]


class QuotaTree:
    """All queues and cohorts, and what is charged. Only `charge` and `release` change it."""

    __slots__ = ("_over", "_quotas", "circling", "cohorts", "inactive", "nodes", "queues", "used")

    def __init__(self, queues: Iterable[ClusterQueue], cohorts: Iterable[Cohort] = ()) -> None:
        self.nodes: list[Node] = []
        self.queues: dict[str, Node] = {}
        self.cohorts: dict[str, Node] = {}
        self.inactive: dict[str, tuple[str, ...]] = {}  # queue → the cycle of cohorts above it
        self.circling: dict[str, tuple[str, ...]] = {}  # cohort → the cycle it leads into
        self._grow(list(queues), {c.name: c for c in cohorts})
        self.used: list[dict[FlavorResource, list[int]]] = []  # by tree and place
        self._quotas: list[dict[FlavorResource, Column]] = []
        self._over: _Over = {}
        for number, root in enumerate(list(self.roots())):
            members = _link(root, number, [])
            _total(root)
            _reach(root)
            self.used.append({})
            self._quotas.append({of: _column(members, of) for of in sorted(root.subtree)})

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
        found = ((name, find_cycle(name, parents)) for name in self.cohorts)
        circling = {name: cycle for name, cycle in found if cycle}
        for name, parent in sorted(parents.items()):
            if name not in circling:
                _adopt(self.cohorts[parent], self.cohorts[name])
        return circling

    def copy(self) -> "QuotaTree":
        """Another tree to charge, over the same nodes; this one stays as it is."""
        other = QuotaTree.__new__(QuotaTree)
        other.nodes, other.queues, other.cohorts = self.nodes, self.queues, self.cohorts
        other.inactive, other.circling = self.inactive, self.circling
        other._quotas = self._quotas  # noqa: SLF001 - of its own kind
        other.used = [{of: column.copy() for of, column in used.items()} for used in self.used]
        other._over = {}  # noqa: SLF001 - of its own kind
        return other

    def roots(self) -> Iterator[Node]:
        return (n for n in self.nodes if n.parent is None)

    def usage(self, queue: str) -> dict[FlavorResource, int]:
        """Everything charged to a queue, and what it has quota for."""
        node = self.queues[queue]
        charged = {of: used[node.place] for of, used in self.used[node.tree].items()}
        return {of: charged.get(of, 0) for of in {**node.quotas, **charged}
                if of in node.quotas or charged[of]}  # fmt: skip

    def used_of(self, node: Node, of: FlavorResource) -> int:
        used = self.used[node.tree].get(of)
        return used[node.place] if used else 0

    def _charged(self, node: Node, of: FlavorResource) -> list[int]:
        """By place what is charged in a tree of one flavor and resource."""
        used = self.used[node.tree].get(of)
        if used is None:
            used = self.used[node.tree][of] = [0] * len(self._quota(node, of).subtree)
        return used

    def _quota(self, node: Node, of: FlavorResource) -> Column:
        found = self._quotas[node.tree].get(of)
        if found is None:  # no node has quota for it
            members = _link(node.root(), node.tree, [])
            found = self._quotas[node.tree][of] = _column(members, of)
        return found

    def available(self, node: Node, of: FlavorResource) -> int:
        """The remaining quota of a queue now; negative only for a cohort that is over its quota."""
        column = self._quotas[node.tree].get(of) or self._quota(node, of)
        used = self.used[node.tree].get(of) or self._charged(node, of)
        free = (
            column.subtree[0] - used[0] if column.plain else available(column, used, node.places)
        )
        return 0 if free < 0 and node.is_queue else free

    def left(self, node: Node, of: FlavorResource) -> int:
        """The same, where a queue may be over too: below 0 so much must go before it may take anything."""
        column = self._quotas[node.tree].get(of) or self._quota(node, of)
        used = self.used[node.tree].get(of) or self._charged(node, of)
        return available(column, used, node.places)

    def local_available(self, node: Node, of: FlavorResource) -> int:
        """Of what the node never lends, what is unused."""
        return max(0, node.local.get(of, 0) - self.used_of(node, of))

    def borrows(self, node: Node, of: FlavorResource, more: int = 0) -> bool:
        """Would the node exceed its own quota (a cohort: that of its subtree) with `more`?"""
        return self.used_of(node, of) + more > node.subtree.get(of, 0)

    def within(self, node: Node, these: Iterable[FlavorResource]) -> bool:
        """Is the node inside its own quota on all of these?"""
        return not any(self.borrows(node, of) for of in these)

    def level(self, node: Node, of: FlavorResource, amount: int) -> tuple[int, bool]:
        """Height of the lowest subtree that holds `amount` more inside its quota (0: the queue itself),
        and whether that subtree is less than the whole tree (Kueue's borrowing level).
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

    def over(self, root: Node, of: FlavorResource) -> Collection[Node]:
        """The queues of a tree that exceed their own quota. Kept while quota is charged and released."""
        found = self._over.get((root.tree, of))
        if found is None:
            queues = root.queues() if not root.is_queue else (root,)
            found = dict.fromkeys(q for q in queues if self.borrows(q, of))
            self._over[root.tree, of] = found
        return found.keys()

    def charge(self, queue: str, amounts: Usage) -> None:
        """Add to what is charged, in the queue and as far up as it reaches."""
        node = self.queues[queue]
        columns, charged = self._quotas[node.tree], self.used[node.tree]
        for of, amount in amounts.items():
            if self._over:
                self._note_over(node, of, amount)
            column = columns.get(of) or self._quota(node, of)
            used = charged.get(of) or self._charged(node, of)
            if column.local is None:  # everything moves up
                for at in node.places:
                    used[at] += amount
            else:
                charge(column.local, used, node.places, amount)

    def release(self, queue: str, amounts: Usage) -> None:
        """Take back what was charged."""
        node = self.queues[queue]
        columns, charged = self._quotas[node.tree], self.used[node.tree]
        for of, amount in amounts.items():
            if self._over:
                self._note_over(node, of, -amount)
            column = columns.get(of) or self._quota(node, of)
            used = charged.get(of) or self._charged(node, of)
            if column.local is None:
                for at in node.places:
                    used[at] -= amount
            else:
                release(column.local, used, node.places, amount)

    def _note_over(self, node: Node, of: FlavorResource, change: int) -> None:
        """A queue's usage is about to change: does it exceed its quota then?"""
        over = self._over.get((node.tree, of))
        if over is not None:
            if self.borrows(node, of, change):
                over[node] = None
            else:
                over.pop(node, None)

    def apart(self) -> "Charged":
        """The charges, to be changed alone with `seen_as`."""
        used = [{of: column.copy() for of, column in used.items()} for used in self.used]
        return Charged(used, {})

    @contextmanager
    def seen_as(self, charged: "Charged") -> Iterator[None]:
        """What if this were charged? Charges and releases inside the block change only this copy."""
        before, over = self.used, self._over
        self.used, self._over = charged
        try:
            yield
        finally:
            self.used, self._over = before, over

    @contextmanager
    def on_trial(self, node: Node) -> Iterator[None]:
        """Charges and releases inside the block are undone at its end."""
        used = self.used.copy()
        used[node.tree] = {of: column.copy() for of, column in used[node.tree].items()}
        with self.seen_as(Charged(used, {})):
            yield

    @contextmanager
    def with_charge(self, queue: str, amounts: Usage) -> Iterator[None]:
        """What if this were charged too?"""
        self.charge(queue, amounts)
        try:
            yield
        finally:
            self.release(queue, amounts)


class Charged(NamedTuple):
    """By tree and place what is charged, and which queues are known to exceed their quota by that."""

    used: list[dict[FlavorResource, list[int]]]
    over: _Over


def _link(node: Node, number: int, members: list[Node]) -> list[Node]:
    """Give a node and all below it their places in the tree of that number; `members` by place."""
    above = node.parent.chain if node.parent else ()
    node.chain, node.tree, node.place = (node, *above), number, len(members)
    node.places = tuple(each.place for each in node.chain)
    members.append(node)
    for child in node.children:
        _link(child, number, members)
    return members


def _column(members: list[Node], of: FlavorResource) -> Column:
    return Column.of(
        [node.subtree.get(of, 0) for node in members],
        [node.local.get(of, 0) for node in members],
        [node.limits.get(of) for node in members],
    )


def _adopt(parent: Node, child: Node) -> None:
    child.parent = parent
    parent.children.append(child)


def _total(node: Node) -> None:
    """Sum quotas from the leaves up, and split each node's into what it lends and what it keeps."""
    subtree = {of: q.nominal for of, q in node.quotas.items()}
    for child in node.children:
        _total(child)
        node.height = max(node.height, child.height + 1)
        for of, amount in child.subtree.items():
            subtree[of] = plus(subtree.get(of, 0), amount - child.local.get(of, 0))
    node.subtree = subtree
    for of, quota in node.quotas.items():
        if quota.lending_limit is not None and quota.lending_limit < UNLIMITED:
            node.local[of] = max(0, subtree[of] - quota.lending_limit)


def _reach(node: Node) -> None:
    """The most each node could ever have, from the root down (Kueue's potential available)."""
    above = node.parent.potential if node.parent else {}
    for of in {*node.subtree, *above}:
        subtree = node.subtree.get(of, 0)
        if node.parent is None or subtree >= UNLIMITED:
            node.potential[of] = subtree
            continue
        most = plus(node.local.get(of, 0), above.get(of, 0))
        limit = node.limits.get(of)
        node.potential[of] = most if limit is None else min(most, plus(subtree, limit))
    for of in node.root().subtree:
        node.lendable[of.resource] = plus(
            node.lendable.get(of.resource, 0), node.potential.get(of, 0)
        )
    for child in node.children:
        _reach(child)
