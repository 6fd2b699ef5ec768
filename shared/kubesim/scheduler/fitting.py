"""Fits a pod to a node: an index of the room on nodes, updated change by change. Pure.

Filters and their words are kube-scheduler's (NodeUnschedulable, TaintToleration, NodeAffinity,
NodeResourcesFit); the score is the mean free share that would be left of what the pod asks for
(LeastAllocated) and, twice as heavy, the share of its node preferences that a node meets; ties go to the
first name in natural order. Equal pods are one shape: each shape keeps a heap of the nodes that fit it, to
which a changed node is added anew, so that a placement costs a few heap operations however many nodes there
are.
"""

import heapq
import re
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from shared.resources import (
    Expression,
    NodeTerm,
    PodSet,
    Toleration,
    expressions,
    pod_set_of,
)

_MOST_SHAPES = 256
_LONGEST_LOG = 20_000
_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"
_PREFERENCES = 2  # kube-scheduler's weight of NodeAffinity, where that of NodeResourcesFit is 1
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Preferring(PodSet):
    """A pod with preferred node affinity: weights and what they are for."""

    preferred: tuple[tuple[int, NodeTerm], ...] = ()

    def share_met(self, room: "Room") -> float:
        """What part of all its weights a node has."""
        whole = sum(weight for weight, _ in self.preferred)
        met = sum(w for w, term in self.preferred if matches(term, room.labels, room.name))
        return met / whole if whole else 0.0


def shape_of(spec: Mapping[str, Any]) -> PodSet:
    """The shape of a pod; raises as `pod_set_of` does."""
    shape = pod_set_of("", 1, {"spec": spec})
    of_nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    given = of_nodes.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    if not given:
        return shape
    terms = [(int(each.get("weight") or 0), each.get("preference") or {}) for each in given]
    preferred = tuple(
        (
            weight,
            NodeTerm(expressions(t.get("matchExpressions")), expressions(t.get("matchFields"))),
        )
        for weight, t in terms
    )
    kept = {each.name: getattr(shape, each.name) for each in fields(PodSet)}
    return Preferring(**kept, preferred=preferred)


class Room:
    """What one node has, and has left."""

    __slots__ = (
        "allocatable",
        "free",
        "labels",
        "name",
        "order",
        "taints",
        "unschedulable",
        "version",
    )

    def __init__(
        self,
        name: str,
        labels: Mapping[str, str],
        taints: Sequence[Mapping[str, Any]],
        allocatable: Mapping[str, int],
        *,
        unschedulable: bool = False,
    ) -> None:
        self.name = name
        self.labels = labels
        self.taints = [taint for taint in taints if taint.get("effect") in _EFFECTS]
        self.allocatable = dict(allocatable)
        self.unschedulable = unschedulable
        self.free = dict(allocatable)
        self.version = 0
        parts = _DIGITS.split(name)
        self.order = tuple(int(part) if part.isdecimal() else part for part in parts)

    def layout(self) -> tuple[Any, ...]:
        """What decides which shapes may go here at all."""
        return (self.labels, self.taints, self.unschedulable, self.allocatable)


class _Candidates:
    """The nodes that fit one shape, best first; entries of older node versions are stale."""

    __slots__ = ("cursor", "heap", "layout")

    def __init__(self, layout: int, cursor: int) -> None:
        self.layout = layout
        self.cursor = cursor
        self.heap: list[tuple[float, tuple[Any, ...], str, int]] = []


class Rooms:
    """All nodes of a cluster, what pods hold on them, and who fits where."""

    def __init__(self) -> None:
        self._rooms: dict[str, Room] = {}
        self._held: dict[str, tuple[str, Mapping[str, int]]] = {}
        self._on_node: dict[str, set[str]] = {}
        self._layout = 0
        self._log: list[str] = []  # nodes whose free room changed, in order
        self._log_start = 0
        self._shapes: OrderedDict[PodSet, _Candidates] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rooms)

    def put(self, room: Room) -> bool:
        """Add a node or replace what is known of it; whether that can let more pods in."""
        old = self._rooms.get(room.name)
        if old is not None and old.layout() == room.layout():
            return False
        for uid in self._on_node.get(room.name, ()):
            _take(room.free, self._held[uid][1])
        self._rooms[room.name] = room
        self._layout += 1
        return True

    def drop(self, name: str) -> None:
        """Forget a node; what its pods hold is kept, in case it comes back."""
        if self._rooms.pop(name, None) is not None:
            self._layout += 1

    def hold(self, uid: str, node: str, requests: Mapping[str, int]) -> None:
        """A pod takes room on a node; a second time changes nothing."""
        if uid in self._held:
            return
        self._held[uid] = (node, requests)
        self._on_node.setdefault(node, set()).add(uid)
        room = self._rooms.get(node)
        if room is not None:
            _take(room.free, requests)
            self._changed(room)

    def release(self, uid: str) -> bool:
        """A pod gives its room back; whether it held any."""
        held = self._held.pop(uid, None)
        if held is None:
            return False
        node, requests = held
        self._on_node[node].discard(uid)
        room = self._rooms.get(node)
        if room is not None:
            for name, amount in requests.items():
                room.free[name] = room.free.get(name, 0) + amount
            self._changed(room)
        return True

    def pods_on(self, node: str) -> list[str]:
        """The uids of the pods that hold room on a node."""
        return sorted(self._on_node.get(node, ()))

    def holds(self, uid: str) -> bool:
        return uid in self._held

    def best(self, shape: PodSet) -> str | None:
        """The node to put a pod of this shape on, or None."""
        candidates = self._candidates(shape)
        heap = candidates.heap
        while heap:
            _, _, name, version = heap[0]
            if self._rooms[name].version == version:
                return name
            heapq.heappop(heap)
        return None

    def why_not(self, shape: PodSet) -> str:
        """kube-scheduler's message for a pod that fits nowhere."""
        if not self._rooms:
            return "no nodes available to schedule pods"
        reasons: Counter[str] = Counter()
        for room in self._rooms.values():
            fault = static_fault(shape, room)
            reasons.update([fault] if fault else lacking(shape.requests, room.free))
        told = sorted(f"{count} {reason}" for reason, count in reasons.items())
        return f"0/{len(self._rooms)} nodes are available: {', '.join(told)}."

    def _changed(self, room: Room) -> None:
        room.version += 1
        self._log.append(room.name)
        if len(self._log) > _LONGEST_LOG:
            half = _LONGEST_LOG // 2
            del self._log[:half]
            self._log_start += half

    def _candidates(self, shape: PodSet) -> _Candidates:
        known = self._shapes.get(shape)
        end = self._log_start + len(self._log)
        if (
            known is None
            or known.layout != self._layout
            or known.cursor < self._log_start
            or len(known.heap) > 8 * len(self._rooms) + 64
        ):
            known = self._shapes[shape] = _Candidates(self._layout, end)
            for room in self._rooms.values():
                _offer(known, shape, room)
            if len(self._shapes) > _MOST_SHAPES:
                self._shapes.popitem(last=False)
        elif known.cursor < end:
            for name in set(self._log[known.cursor - self._log_start :]):
                if name in self._rooms:
                    _offer(known, shape, self._rooms[name])
            known.cursor = end
        self._shapes.move_to_end(shape)
        return known


def static_fault(shape: PodSet, room: Room) -> str:
    """Why a node is out of the question whatever is free on it, or ""."""
    if room.unschedulable and not _tolerated(
        shape.tolerations, {"key": UNSCHEDULABLE_TAINT, "effect": "NoSchedule"}
    ):
        return "node(s) were unschedulable"
    if not all(_tolerated(shape.tolerations, taint) for taint in room.taints):
        return "node(s) had untolerated taint(s)"
    if not _selected(shape, room):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


def lacking(requests: Mapping[str, int], free: Mapping[str, int]) -> list[str]:
    """What a node has too little of, in the scheduler's words."""
    short = [] if free.get("pods", 0) >= 1 else ["Too many pods"]
    short += [
        f"Insufficient {name}"
        for name, amount in requests.items()
        if amount and name != "pods" and amount > free.get(name, 0)
    ]
    return short


def matches(term: NodeTerm, labels: Mapping[str, str], name: str) -> bool:
    """Whether a node satisfies a nodeSelectorTerm; one that asks nothing matches no node."""
    if not term.expressions and not term.fields:
        return False
    fields = {"metadata.name": name}
    return all(holds(e, labels) for e in term.expressions) and all(
        holds(e, fields) for e in term.fields
    )


def holds(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Whether one requirement holds: In, NotIn, Exists, DoesNotExist, Gt or Lt."""
    value = labels.get(expression.key)
    match expression.operator:
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "In":
            return value in expression.values
        case "NotIn":
            return value not in expression.values
        case "Gt" | "Lt":
            return _compares(value, expression)
        case _:
            return False


def _compares(value: str | None, expression: Expression) -> bool:
    try:
        have, bound = int(value or ""), int(expression.values[0])
    except (ValueError, IndexError):
        return False
    return have > bound if expression.operator == "Gt" else have < bound


def _selected(shape: PodSet, room: Room) -> bool:
    if any(room.labels.get(key) != value for key, value in shape.node_selector):
        return False
    terms = shape.affinity_terms
    return terms is None or any(matches(term, room.labels, room.name) for term in terms)


def _tolerated(tolerations: Sequence[Toleration], taint: Mapping[str, Any]) -> bool:
    return any(
        (not t.effect or t.effect == taint.get("effect"))
        and (not t.key or t.key == taint.get("key"))
        and (t.operator == "Exists" or (t.key and t.value == (taint.get("value") or "")))
        for t in tolerations
    )


def _offer(candidates: _Candidates, shape: PodSet, room: Room) -> None:
    """Enter a node that fits, with its present version."""
    if lacking(shape.requests, room.free) or static_fault(shape, room):
        return
    shares = [
        (room.free[name] - amount) / room.allocatable[name]
        for name, amount in shape.requests.items()
        if amount and room.allocatable.get(name)
    ]
    shares.append((room.free["pods"] - 1) / room.allocatable["pods"])
    score = sum(shares) / len(shares)
    if isinstance(shape, Preferring):
        score += _PREFERENCES * shape.share_met(room)
    heapq.heappush(candidates.heap, (-score, room.order, room.name, room.version))


def _take(free: dict[str, int], requests: Mapping[str, int]) -> None:
    for name, amount in requests.items():
        free[name] = free.get(name, 0) - amount
