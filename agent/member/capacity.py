"""The cluster's total and free capacity, updated pod by pod and node by node.

No sums over all pods: an event costs what its pod requests. A snapshot groups the ready, schedulable
nodes by the label keys that the hub asks for and by taints, and counts from the same state how many
pods of each work are bound and on which nodes, so that the hub counts every promise exactly once and
knows what becomes free where.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from agent.member.properties import of_nodes
from agent.objects.pods import PodView
from shared import labels, quantity
from shared.errors import Rejected
from shared.wire.agent_v1 import (
    MOST_POD_NODES,
    Bound,
    Capacity,
    GrowingPool,
    NodeFree,
    Pool,
    Pools,
    Taint,
)

Object = dict[str, Any]
WorkKey = tuple[str, int]  # job uid, epoch

LIFECYCLE: Final = "node.kubernetes.io/"  # taints that come and go with a node's state


@dataclass(slots=True)
class NodeView:
    """One node. `usable`: ready and not cordoned."""

    name: str
    labels: dict[str, str]
    taints: tuple[tuple[str, str, str], ...]
    allocatable: dict[str, int]
    capacity: dict[str, int]
    usable: bool


def node_view(node: Object, _previous: NodeView | None) -> NodeView:
    """Slim a node. An amount that can not be read counts as nothing."""
    metadata, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    ready = any(
        c.get("type") == "Ready" and c.get("status") == "True"
        for c in status.get("conditions") or ()
    )
    return NodeView(
        name=metadata["name"],
        labels=metadata.get("labels") or {},
        taints=tuple(
            sorted(
                (t.get("key") or "", t.get("value") or "", t.get("effect") or "")
                for t in spec.get("taints") or ()
            )
        ),
        allocatable=_amounts(status.get("allocatable") or status.get("capacity")),
        capacity=_amounts(status.get("capacity")),
        usable=ready and not spec.get("unschedulable") and not metadata.get("deletionTimestamp"),
    )


def _amounts(listed: Object | None) -> dict[str, int]:
    amounts = {}
    for name, text in (listed or {}).items():
        try:
            amounts[name] = quantity.parse(name, text)
        except Rejected:
            continue
    return amounts


@dataclass(slots=True)
class _Count:
    bound: int = 0
    succeeded: int = 0
    nodes: dict[str, int] = field(default_factory=dict)  # bound pods by node

    def move(self, node: str, by: int) -> None:
        """Change the number of pods on a node."""
        there = self.nodes.get(node, 0) + by
        if there:
            self.nodes[node] = there
        else:
            self.nodes.pop(node, None)


@dataclass(slots=True)
class Ledger:
    """The account: nodes, what pods use on each, and pods per work. `revision` grows with changes."""

    nodes: dict[str, NodeView] = field(default_factory=dict)
    used: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    works: dict[WorkKey, _Count] = field(default_factory=dict)
    revision: int = 0

    def node_changed(self, old: NodeView | None, new: NodeView | None) -> None:
        """Take in a node event; `new` None: the node is gone."""
        if new is not None:
            if old == new:
                return
            self.nodes[new.name] = new
        elif old is not None:
            self.nodes.pop(old.name, None)
        self.revision += 1

    def pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        """Take in a pod event; `new` None: the pod is gone."""
        before, after = _stand(old), _stand(new)
        if before == after and (old is None or new is None or _same_account(old, new)):
            return
        if old is not None:
            self._enter(old, before, -1)
        if new is not None:
            self._enter(new, after, 1)
        self.revision += 1

    def pod_made(self, pod: PodView) -> None:
        """A pod that was taken in before its Job turns out to be of a Job that the agent made."""
        self._enter_work(pod, _stand(pod), 1)
        self.revision += 1

    def _enter(self, pod: PodView, stand: tuple[str, bool], sign: int) -> None:
        if stand[0]:
            self._charge(stand[0], pod.requests, sign)
        if pod.made:
            self._enter_work(pod, stand, sign)

    def _enter_work(self, pod: PodView, stand: tuple[str, bool], sign: int) -> None:
        node, succeeded = stand
        if node or succeeded:
            work = (pod.job_uid, pod.epoch)
            count = self.works.setdefault(work, _Count())
            count.bound += sign * bool(node)
            count.succeeded += sign * succeeded
            if node:
                count.move(node, sign)
            if not count.bound and not count.succeeded:
                del self.works[work]

    def _charge(self, node: str, requests: dict[str, int], sign: int) -> None:
        used = self.used[node]
        for name, amount in requests.items():
            used[name] = used.get(name, 0) + sign * amount
        if not used.get("pods"):
            del self.used[node]  # the last one: drop zeros of resources long gone

    def snapshot(
        self, pools: Pools, unfinished: Callable[[str], bool], *, with_nodes: bool = True
    ) -> Capacity:
        """The capacity as it is now. Works whose job has ended are left out: they reserve nothing.

        `with_nodes`: the hub understands on which nodes pods are.
        """
        groups: dict[tuple[Any, ...], list[NodeView]] = defaultdict(list)
        for node in self.nodes.values():
            wanted = tuple((k, node.labels[k]) for k in pools.keys if k in node.labels)
            groups[(wanted, node.taints)].append(node)
        bound = [
            Bound.model_construct(uid=uid, epoch=epoch, bound=c.bound, succeeded=c.succeeded)
            for (uid, epoch), c in self.works.items()
            if c.bound or unfinished(uid)
        ]
        told = [self._pool(wanted, taints, nodes) for (wanted, taints), nodes in groups.items()]
        if with_nodes:
            self._tell_nodes(bound, told)
        return Capacity.model_construct(
            pools_revision=pools.revision,
            pools=told,
            bound=bound,
            node_count=len(self.nodes),
            growing=self._growing(pools),
            kubernetes_version="",
            properties=of_nodes(self.nodes.values()),
            property_faults=[],
            queue_managers=[],
            kinds=None,
            api_server=None,
        )

    def _tell_nodes(self, bound: list[Bound], pools: list[Pool]) -> None:
        """Add on which of the listed nodes the bound pods of each work are, as far as a report has room."""
        listed = (node.name for pool in pools for node in pool.nodes)
        numbers = {name: number for number, name in enumerate(listed)}
        left = MOST_POD_NODES
        for each in bound:
            there = self.works[each.uid, each.epoch].nodes
            left -= len(there)
            if left < 0:
                break
            each.nodes = [
                told
                for name, count in there.items()
                if name in numbers
                for told in (numbers[name], count)
            ]

    def _pool(
        self,
        wanted: tuple[tuple[str, str], ...],
        taints: tuple[tuple[str, str, str], ...],
        nodes: list[NodeView],
    ) -> Pool:
        usable = [node for node in nodes if node.usable]
        names = sorted({name for node in usable for name in node.allocatable})
        members = []
        for node in sorted(usable, key=lambda n: n.name):
            used = self.used.get(node.name) or {}
            have = [node.allocatable.get(name, 0) for name in names]
            members.append(
                NodeFree.model_construct(
                    name=node.name,
                    allocatable=have,
                    free=[a - used.get(n, 0) for n, a in zip(names, have, strict=True)],
                )
            )
        return Pool.model_construct(
            labels=dict(wanted),
            taints=[Taint(key=key, value=value, effect=effect) for key, value, effect in taints],
            resources=names,
            nodes=members,
            unusable=len(nodes) - len(usable),
        )

    def _growing(self, pools: Pools) -> list[GrowingPool]:
        """Pools that may add nodes, as labels on the nodes they have say; a new node is like the last."""
        members: dict[str, list[NodeView]] = defaultdict(list)
        for node in self.nodes.values():
            if node.labels.get(labels.NODE_POOL_MAX, "").isdecimal():
                members[node.labels.get(labels.NODE_POOL, "")].append(node)
        found = []
        for name, nodes in sorted(members.items()):
            last = max(nodes, key=lambda n: (n.usable, n.name))
            names = sorted(last.allocatable)
            found.append(
                GrowingPool.model_construct(
                    name=name or "pool",
                    max_nodes=int(last.labels[labels.NODE_POOL_MAX][:9]),
                    nodes=len(nodes),
                    labels={k: last.labels[k] for k in pools.keys if k in last.labels},
                    taints=[
                        Taint(key=key, value=value, effect=effect)
                        for key, value, effect in last.taints
                        if not key.startswith(LIFECYCLE)
                    ],
                    resources=names,
                    shape=[last.allocatable[name] for name in names],
                )
            )
        return found


def _same_account(old: PodView, new: PodView) -> bool:
    """True if two states of a pod are charged alike: a resize or a late owner makes a difference."""
    charged = old.job_uid, old.epoch, old.made
    return charged == (new.job_uid, new.epoch, new.made) and old.requests == new.requests


def _stand(pod: PodView | None) -> tuple[str, bool]:
    """The node whose room a pod takes ("" for none), and whether it ended well."""
    if pod is None:
        return "", False
    return (pod.node if pod.holds_node else ""), pod.phase == "Succeeded"
