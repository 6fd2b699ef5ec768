"""The scheduler of a simulated cluster: binds waiting pods to nodes that have room for them.

Equal pods are one shape. A shape that fits nowhere is set aside as a whole until room appears, so that
a thousand waiting pods cost no more than one. Respects what `fitting` knows; inter-pod affinity,
topology spread, host ports and volumes are not looked at.
"""

import heapq
import itertools
from collections.abc import Callable

from shared import quantity
from shared.clock import Clock
from shared.errors import Rejected
from shared.kubesim.agenda import Agenda, WorkList
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.pods import TERMINAL
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.kubelet import pod_status
from shared.kubesim.recorder import Recorder
from shared.kubesim.scheduler.fitting import Room, Rooms, shape_of
from shared.kubesim.store.objects import Event, ObjectStore
from shared.resources import PodSet

_SOURCE = "default-scheduler"
_MOST_BINDS_PER_PASS = 250
_RETELL_S = 5.0
_MOST_EVENTS_PER_TELLING = 20

_Place = tuple[int, int, str]  # (minus priority, arrival, uid): who comes first


class _Line:
    """The pods of one shape that wait, best first; uids that left are passed over.

    `untold`: those who were not told yet why they wait.
    """

    __slots__ = ("message", "places", "told_at", "untold")

    def __init__(self) -> None:
        self.places: list[_Place] = []
        self.message = ""
        self.untold: set[str] = set()
        self.told_at = 0.0


class Binder:
    """Binds pods. `address` gives a node's host IP."""

    def __init__(
        self,
        store: ObjectStore,
        clock: Clock,
        agenda: Agenda,
        recorder: Recorder,
        address: Callable[[str], str],
    ) -> None:
        self._store = store
        self._clock = clock
        self._agenda = agenda
        self._recorder = recorder
        self._address = address
        self._rooms = Rooms()
        self._new: WorkList[str] = WorkList(agenda, self._report)
        self._lines: dict[PodSet, _Line] = {}
        self._waiting: dict[str, PodSet] = {}
        self._set_aside: set[PodSet] = set()
        self._arrivals = itertools.count()

    # --- what happens in the cluster ---------------------------------------------------------------

    def see_node(self, event: Event) -> None:
        """Note a node's room, labels and taints."""
        node = event.object
        if event.type == "DELETED":
            self._rooms.drop(node["metadata"]["name"])
            return
        if self._rooms.put(node_room(node)):
            self._look_again()

    def see_pod(self, event: Event) -> None:
        """Note a pod that waits for a node, holds room, or gives it back."""
        pod = event.object
        meta, spec = pod["metadata"], pod["spec"]
        uid: str = meta["uid"]
        gone = event.type == "DELETED"
        if gone or (pod.get("status") or {}).get("phase") in TERMINAL:
            self._leave_line(uid)
            if self._rooms.release(uid):
                self._look_again()
        elif spec.get("nodeName"):
            self._leave_line(uid)
            if not self._rooms.holds(uid):
                self._new.add(uid)
        elif uid not in self._waiting:
            self._new.add(uid)

    def run(self, now: float) -> None:
        """Bind what fits; say why the rest does not."""
        self._new.each(self._receive, now, limit=1000)
        heads = [
            (line.places[0], number, shape)
            for number, (shape, line) in enumerate(self._lines.items())
            if shape not in self._set_aside and self._tidy(line)
        ]
        heapq.heapify(heads)
        for _ in range(_MOST_BINDS_PER_PASS):
            if not heads:
                break
            (_, _, uid), number, shape = heapq.heappop(heads)
            line = self._lines[shape]
            node = self._rooms.best(shape)
            if node is None:
                self._set_aside.add(shape)
                continue
            heapq.heappop(line.places)
            self._bind(uid, shape, node)
            if self._tidy(line):
                heapq.heappush(heads, (line.places[0], number, shape))
        else:
            self._agenda.ring()
        for shape in list(self._set_aside):
            self._explain(shape, now)
        self._forget_empty_lines()

    def stuck(self) -> dict[PodSet, int]:
        """Shapes that fit on no node, with how many pods of each wait."""
        waiting: dict[PodSet, int] = {}
        for shape in self._waiting.values() if self._set_aside else ():
            if shape in self._set_aside:
                waiting[shape] = waiting.get(shape, 0) + 1
        return waiting

    # --- inside ------------------------------------------------------------------------------------

    def _live(self, uid: str) -> Object | None:
        place = self._store.by_uid(uid)
        return self._store.get(*place) if place is not None and place[0] == "pods" else None

    def _receive(self, uid: str) -> None:
        """Put a new pod in line, or take account of one that is bound already."""
        pod = self._live(uid)
        if pod is None or (pod.get("status") or {}).get("phase") in TERMINAL:
            return
        spec = pod["spec"]
        node = spec.get("nodeName")
        if node:
            self._rooms.hold(uid, node, _requests(_shape_or_nothing(spec)))
            return
        if "deletionTimestamp" in pod["metadata"] or uid in self._waiting:
            return
        if spec.get("schedulerName", _SOURCE) != _SOURCE:
            return
        if spec.get("schedulingGates"):
            message = "Scheduling is blocked due to non-empty scheduling gates"
            self._tell(pod, "SchedulingGated", message)
            return
        try:
            shape = shape_of(spec)
        except Rejected as refusal:
            self._recorder.warning(pod, "FailedScheduling", refusal.detail, _SOURCE)
            self._tell(pod, "SchedulerError", refusal.detail)
            return
        line = self._lines.setdefault(shape, _Line())
        place = (-int(spec.get("priority") or 0), next(self._arrivals), uid)
        heapq.heappush(line.places, place)
        line.untold.add(uid)
        self._waiting[uid] = shape

    def _bind(self, uid: str, shape: PodSet, node: str) -> None:
        pod = self._live(uid)
        self._leave_line(uid)
        if pod is None or pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
            return
        self._rooms.hold(uid, node, _requests(shape))
        stamp = metadata.stamp(self._clock.now())
        bound = pod_status.scheduled(pod, node, self._address(node), stamp)
        self._store.update("pods", bound, subresource="*", trusted=True)
        namespace, name = metadata.identity(pod)
        message = f"Successfully assigned {namespace}/{name} to {node}"
        self._recorder.normal(pod, "Scheduled", message, _SOURCE)

    def _leave_line(self, uid: str) -> None:
        shape = self._waiting.pop(uid, None)
        if shape is not None and shape in self._lines:
            self._lines[shape].untold.discard(uid)

    def _tidy(self, line: _Line) -> bool:
        """Drop those from the head of a line who left it; whether anybody is in it."""
        while line.places and line.places[0][2] not in self._waiting:
            heapq.heappop(line.places)
        return bool(line.places)

    def _look_again(self) -> None:
        if self._set_aside:
            self._set_aside.clear()
            self._agenda.ring()

    def _explain(self, shape: PodSet, now: float) -> None:
        """Tell the waiting pods of a shape what is lacking: new ones at once, old ones on change."""
        line = self._lines[shape]
        if not line.untold and now < line.told_at + _RETELL_S:
            return
        message = self._rooms.why_not(shape)
        audience = [
            uid
            for _, _, uid in sorted(line.places)
            if uid in self._waiting and (message != line.message or uid in line.untold)
        ]
        line.message, line.told_at = message, now
        line.untold.clear()
        for number, uid in enumerate(audience):
            pod = self._live(uid)
            if pod is None:
                continue
            self._tell(pod, "Unschedulable", message)
            if number < _MOST_EVENTS_PER_TELLING:
                self._recorder.warning(pod, "FailedScheduling", message, _SOURCE)

    def _tell(self, pod: Object, reason: str, message: str) -> None:
        stamp = metadata.stamp(self._clock.now())
        told = pod_status.unschedulable(pod, reason, message, stamp)
        if told is not None:
            self._store.update("pods", told, subresource="status", trusted=True)

    def _forget_empty_lines(self) -> None:
        for shape in [shape for shape, line in self._lines.items() if not self._tidy(line)]:
            del self._lines[shape]
            self._set_aside.discard(shape)

    def _report(self, uid: str, fault: Exception) -> None:
        pod = self._live(uid)
        if pod is not None:
            message = f"The pod cannot be scheduled: {type(fault).__name__}: {fault}"
            self._recorder.warning(pod, "FailedScheduling", message, _SOURCE)


def _requests(shape: PodSet | None) -> dict[str, int]:
    return {**(shape.requests if shape else {}), "pods": 1}


def _shape_or_nothing(spec: Object) -> PodSet | None:
    """The shape of a pod that somebody else bound; one that cannot be read takes no room."""
    try:
        return shape_of(spec)
    except Rejected:
        return None


def node_room(node: Object) -> Room:
    """What a node has, empty."""
    status, spec = node.get("status") or {}, node.get("spec") or {}
    allocatable: dict[str, int] = {}
    for name, text in (status.get("allocatable") or {}).items():
        try:
            allocatable[name] = quantity.parse(name, text)
        except Rejected:
            continue  # a node that cannot say how much it has, has none of it
    return Room(
        node["metadata"]["name"],
        node["metadata"].get("labels") or {},
        spec.get("taints") or (),
        allocatable,
        unschedulable=bool(spec.get("unschedulable")),
    )
