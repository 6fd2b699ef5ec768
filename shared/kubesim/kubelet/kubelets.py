"""The kubelets of a simulated cluster: pods that are bound start, run, end, fail and stop.

A pod runs for `sim.roadstead.dev/run-seconds`, counted from its containers' start, so that the time
goes on while the simulator is down; then it ends with `sim.roadstead.dev/exit-code`. Pods of Jobs, and of
other objects that a hub runs as jobs, run for three seconds unless told otherwise, all others for ever.
Nothing of an image is executed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shared import labels
from shared.clock import Clock
from shared.kubesim.agenda import Agenda, WorkList
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.pods import TERMINAL, TRACKING_FINALIZER, without_finalizer
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.kubelet import pod_start, pod_status
from shared.kubesim.kubelet.nodes import Nodes
from shared.kubesim.recorder import Recorder
from shared.kubesim.store.objects import Event, ObjectStore

_SOURCE = "kubelet"
_DEFAULT_RUN_S = 3.0
_TERMINATED = 143  # SIGTERM: 128 + 15
_PULL_RETRY_S = 2.0
_LONGEST_CRASH_WAIT_S = 300.0
_SERVES = ("RayCluster", "ReplicaSet", "StatefulSet")
_FOR_EVER = float("inf")


@dataclass(frozen=True)
class Pace:
    """How fast kubelets are, in seconds.

    `start_s`: from bound to running. `terminate_s`: the longest a pod takes to stop, whatever grace
    it has. `restart_s`: before the first restart of a container, doubling.
    """

    start_s: float = 0.1
    terminate_s: float = 0.5
    restart_s: float = 1.0


@dataclass(slots=True)
class _Life:
    """The exact times of one pod, in seconds since 1970: stamps only keep whole seconds."""

    accepted_at: float
    started_at: float | None = None
    restart_at: float | None = None
    stop_at: float | None = None


class Pods:
    """Lets the pods of all nodes live. `settles` asks the Job controller: see `jobs`."""

    def __init__(
        self,
        store: ObjectStore,
        clock: Clock,
        agenda: Agenda,
        recorder: Recorder,
        nodes: Nodes,
        settles: Callable[[Object], bool],
        pace: Pace,
    ) -> None:
        self._store = store
        self._clock = clock
        self._recorder = recorder
        self._nodes = nodes
        self._settles = settles
        self._pace = pace
        self._work: WorkList[str] = WorkList(agenda, self._report)
        self._lives: dict[str, _Life] = {}
        self._on_node: dict[str, set[str]] = {}

    # --- what happens in the cluster ---------------------------------------------------------------

    def see_pod(self, event: Event) -> None:
        """Note a pod that its node has to look at."""
        pod = event.object
        meta = pod["metadata"]
        uid = meta["uid"]
        node = pod["spec"].get("nodeName")
        if event.type == "DELETED":
            self._lives.pop(uid, None)
            if node:
                self._on_node.get(node, set()).discard(uid)
            return
        if node:
            self._on_node.setdefault(node, set()).add(uid)
        old = event.old
        stopping = "deletionTimestamp" in meta
        if stopping or (node and (old is None or pod["spec"] is not old["spec"])):
            self._work.add(uid)

    def see_node(self, event: Event) -> None:
        """A node that came, went, was lost or found: its pods are looked at."""
        for uid in self._on_node.get(event.object["metadata"]["name"], ()):
            self._work.add(uid)

    def run(self, now: float) -> None:
        """Take every pod that is due one step further."""
        self._work.each(lambda uid: self._step(uid, now), now)

    # --- one pod -----------------------------------------------------------------------------------

    def _step(self, uid: str, now: float) -> None:
        place = self._store.by_uid(uid)
        pod = self._store.get(*place) if place is not None else None
        if pod is None:
            return
        node = pod["spec"].get("nodeName")
        terminal = (pod.get("status") or {}).get("phase") in TERMINAL
        if node and not self._nodes.exists(node):
            self._orphan(pod, terminal=terminal)
        elif "deletionTimestamp" in pod["metadata"]:
            self._stop(pod, now, terminal=terminal)
        elif node and not terminal and self._nodes.answers(node):
            self._live(pod, now)

    def _live(self, pod: Object, now: float) -> None:
        """A bound pod that nobody deletes: accept, start, restart or end it, whatever is due."""
        uid = pod["metadata"]["uid"]
        if not (pod.get("status") or {}).get("startTime"):
            address = self._nodes.address(pod["spec"]["nodeName"])
            pod = self._write(pod_status.accepted(pod, address, self._stamp()))
        life = self._lives.get(uid)
        if life is None:
            life = self._lives[uid] = _recall(pod, now)
        deadline = _deadline(pod, life)
        ends_at = life.started_at + run_seconds(pod) if life.started_at is not None else _FOR_EVER
        if now >= deadline and deadline <= ends_at:
            why = "Pod was active on the node longer than the specified deadline"
            self._end_for_good(pod, _TERMINATED, reason="DeadlineExceeded", message=why)
            return
        if deadline < _FOR_EVER:
            self._work.add_at(uid, deadline)
        if life.started_at is not None:
            self._end_if_due(pod, life, ends_at, now)
        else:
            self._start_if_due(pod, life, now)

    def _start_if_due(self, pod: Object, life: _Life, now: float) -> None:
        uid = pod["metadata"]["uid"]
        due = life.restart_at or life.accepted_at + self._pace.start_s
        if now + 0.001 < due:
            self._work.add_at(uid, due)
            return
        if self._is_held_up(pod, now):
            return
        again = life.restart_at is not None
        life.started_at, life.restart_at = now, None
        move = pod_status.restarted if again else pod_status.running
        pod = self._write(move(pod, self._stamp()))
        for container in pod["spec"]["containers"]:
            self._tell_start(pod, container)
        self._end_if_due(pod, life, now + run_seconds(pod), now)

    def _end_if_due(self, pod: Object, life: _Life, ends_at: float, now: float) -> None:
        if ends_at == _FOR_EVER:
            return
        if now + 0.001 < ends_at:
            self._work.add_at(pod["metadata"]["uid"], ends_at)
            return
        code = exit_code(pod)
        policy = pod["spec"].get("restartPolicy", "Always")
        if policy == "Never" or (policy == "OnFailure" and code == 0):
            self._end_for_good(pod, code)
            return
        restarts = pod_status.restart_count(pod)
        wait_s = min(self._pace.restart_s * 2.0 ** min(restarts, 20), _LONGEST_CRASH_WAIT_S)
        life.started_at, life.restart_at = None, now + wait_s
        self._write(pod_status.crashed(pod, code, wait_s, self._stamp()))
        self._work.add_at(pod["metadata"]["uid"], life.restart_at)
        for container in pod["spec"]["containers"]:
            message = f"Back-off restarting failed container {container['name']}"
            self._recorder.warning(pod, "BackOff", message, _SOURCE)

    def _end_for_good(
        self, pod: Object, code: int, *, reason: str = "", message: str = ""
    ) -> None:
        """End a pod that stays; its Job counts it in this pass, which saves one write."""
        finalizers = pod["metadata"].get("finalizers") or ()
        if TRACKING_FINALIZER in finalizers and self._settles(pod):
            pod = without_finalizer(pod)
        self._end(pod, code, reason=reason, message=message)

    def _end(self, pod: Object, code: int, *, reason: str = "", message: str = "") -> None:
        self._lives.pop(pod["metadata"]["uid"], None)
        self._write(pod_status.ended(pod, code, self._stamp(), reason=reason, message=message))

    def _stop(self, pod: Object, now: float, *, terminal: bool) -> None:
        """A pod that is being deleted: its node stops it, then it goes."""
        meta, node = pod["metadata"], pod["spec"].get("nodeName")
        if node and not terminal:
            if not self._nodes.answers(node):
                return  # nobody there to stop it
            life = self._lives.setdefault(meta["uid"], _recall(pod, now))
            grace_s = min(meta.get("deletionGracePeriodSeconds") or 0, self._pace.terminate_s)
            life.stop_at = min(life.stop_at or _FOR_EVER, now + grace_s)
            if now + 0.001 < life.stop_at:
                self._work.add_at(meta["uid"], life.stop_at)
                return
            for container in pod["spec"]["containers"]:
                message = f"Stopping container {container['name']}"
                self._recorder.normal(pod, "Killing", message, _SOURCE)
        if not terminal:
            self._end(pod, _TERMINATED)
        self._remove(pod)

    def _orphan(self, pod: Object, *, terminal: bool) -> None:
        """A pod whose node is gone: the pod garbage collector fails and deletes it."""
        if not terminal:
            why = "PodGC: node no longer exists"
            pod = pod_status.disrupted(pod, "DeletionByPodGC", why, self._stamp())
            self._end(pod, _TERMINATED)
        self._remove(pod)

    def _remove(self, pod: Object) -> None:
        meta = pod["metadata"]
        live = self._store.get("pods", meta["namespace"], meta["name"])
        if live is not None and live["metadata"]["uid"] == meta["uid"]:
            self._store.delete("pods", meta["namespace"], meta["name"], uid=meta["uid"], grace=0)

    # --- what keeps containers from starting ---------------------------------------------------------

    def _is_held_up(self, pod: Object, now: float) -> bool:
        namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
        held = pod_start.obstacle(
            pod["spec"], lambda key, name: self._store.get(key, namespace, name) is not None
        )
        if held is None:
            return False
        image = pod_start.unpullable(pod["spec"])
        if held.reason == pod_start.PULL_FAILED and _was_waiting_for(pod, pod_start.PULL_FAILED):
            held = pod_start.back_off(held, image)
            self._recorder.normal(pod, "BackOff", f'Back-off pulling image "{image}"', _SOURCE)
        elif held.reason == pod_start.PULL_FAILED:
            if _was_waiting_for(pod, pod_start.PULL_BACK_OFF):
                return True
            self._work.add_at(uid, now + _PULL_RETRY_S)
            self._recorder.normal(pod, "Pulling", f'Pulling image "{image}"', _SOURCE)
            message = f'Failed to pull image "{image}": {held.message}'
            self._recorder.warning(pod, "Failed", message, _SOURCE)
        else:
            self._recorder.warning(pod, "Failed", f"Error: {held.message}", _SOURCE)
        if held.may_pass:
            self._work.add_at(uid, now + _PULL_RETRY_S)
        waiting = pod_status.waiting(pod, held.reason, held.message)
        if waiting is not None:
            self._write(waiting)
        return True

    # --- small things --------------------------------------------------------------------------------

    def _write(self, pod: Object) -> Object:
        return self._store.update("pods", pod, subresource="*", trusted=True)

    def _stamp(self) -> str:
        return metadata.stamp(self._clock.now())

    def _tell_start(self, pod: Object, container: Mapping[str, Any]) -> None:
        image, name = container.get("image", ""), container["name"]
        present = f'Container image "{image}" already present on machine'
        self._recorder.normal(pod, "Pulled", present, _SOURCE)
        self._recorder.normal(pod, "Created", f"Created container: {name}", _SOURCE)
        self._recorder.normal(pod, "Started", f"Started container {name}", _SOURCE)

    def _report(self, uid: str, fault: Exception) -> None:
        place = self._store.by_uid(uid)
        pod = self._store.get(*place) if place is not None else None
        if pod is not None:
            message = f"The pod cannot be run: {type(fault).__name__}: {fault}"
            self._recorder.warning(pod, "FailedSync", message, _SOURCE)


def run_seconds(pod: Object) -> float:
    """How long the pod's containers run; infinite for pods that only end when they are deleted."""
    text = (pod["metadata"].get("annotations") or {}).get(labels.SIM_RUN_SECONDS)
    if text is not None:
        try:
            asked = float(text)
        except ValueError:
            asked = -1.0
        if 0 <= asked < _FOR_EVER:
            return asked
    owner = (metadata.controller_of(pod) or {}).get("kind")
    of_job = labels.JOB_UID in (pod["metadata"].get("labels") or {})
    # A RayCluster serves until the RayJob that made it has ended; the others serve for ever.
    ends = owner == "Job" or (of_job and owner not in {None, *_SERVES})
    return _DEFAULT_RUN_S if ends else _FOR_EVER


def exit_code(pod: Object) -> int:
    """The exit code of every container of the pod: 0 unless annotated with 1 to 255."""
    text = (pod["metadata"].get("annotations") or {}).get(labels.SIM_EXIT_CODE, "0")
    return int(text) % 256 if text.isdecimal() and len(text) <= 3 else 0


def _recall(pod: Object, now: float) -> _Life:
    """A pod's times as its status has them: after a restart of the simulator."""
    status = pod.get("status") or {}
    text = status.get("startTime")
    stamp = metadata.parse_stamp(text).timestamp() if text else now
    # A stamp of this very second was written just now; what it lost of the second is now's.
    life = _Life(accepted_at=now if 0 <= now - stamp < 1 else stamp)
    started = pod_status.started_at(pod)
    if started is not None:
        life.started_at = metadata.parse_stamp(started).timestamp()
    elif _was_waiting_for(pod, "CrashLoopBackOff"):
        life.restart_at = now
    return life


def _deadline(pod: Object, life: _Life) -> float:
    limit = pod["spec"].get("activeDeadlineSeconds")
    return _FOR_EVER if limit is None else life.accepted_at + float(limit)


def _was_waiting_for(pod: Object, reason: str) -> bool:
    return any(
        ((container.get("state") or {}).get("waiting") or {}).get("reason") == reason
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
    )
