"""Behaviours of a simulated cluster: composition and the one loop.

`attach` builds the behaviours of a cluster on its store. They learn of changes synchronously, only
note what to look at, and act in passes: one pass per turn of the event loop, nothing awaited inside,
so that a pass is a consistent step and many changes cost one look.
"""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import structlog

from shared.clock import Clock
from shared.kubesim.agenda import Agenda, WorkList
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.deployments.controller import DEPLOYMENTS, REPLICA_SETS, SERVICES, Workloads
from shared.kubesim.jobs.controller import JOBS, Jobs
from shared.kubesim.jobs.queueing import CLUSTER_QUEUES, FLAVORS, LOCAL_QUEUES, QueueManager
from shared.kubesim.kubelet.kubelets import Pace, Pods
from shared.kubesim.kubelet.nodes import Nodes
from shared.kubesim.kubelet.pod_log import PodLogs
from shared.kubesim.operators.operators import Operators
from shared.kubesim.operators.scripts import SCRIPTS
from shared.kubesim.recorder import Recorder, Verbosity
from shared.kubesim.scheduler.autoscaler import Autoscaler
from shared.kubesim.scheduler.binder import Binder
from shared.kubesim.store.objects import Event, ObjectStore

_log = structlog.get_logger(__name__)
See = Callable[[Event], None]


class Behaviour(Protocol):
    """Something that acts in passes."""

    def run(self, now: float) -> None:
        """Do what is due at `now`, in seconds since 1970; never await, never raise."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """How a cluster behaves. Times are in seconds.

    `hub`: no nodes, no scheduler; Jobs still run their course, so that a test of "never runs here"
    can fail. `queue_manager`: suspended Jobs with the queue-name label wait for quota as under Kueue.
    `events`: how many ordinary Events are written; warnings always are, unless "none".
    """

    hub: bool = False
    queue_manager: bool = False
    events: Verbosity = "few"
    event_ttl_s: float = 3600.0
    most_events: int = 5000
    start_s: float = Pace.start_s
    terminate_s: float = Pace.terminate_s
    restart_s: float = Pace.restart_s
    job_backoff_s: float = 10.0
    pools: list[dict[str, Any]] = field(default_factory=list)


class Behaviours:
    """All that goes on in one cluster."""

    def __init__(self, store: ObjectStore, clock: Clock, options: Options) -> None:
        self._store = store
        self._clock = clock
        self._agenda = Agenda(clock)
        self._task: asyncio.Task[None] | None = None
        self._following = False
        self._chores: WorkList[str] = WorkList(self._agenda)
        self._next_expiry: float | None = None
        self._sees: dict[str, list[See]] = {}
        self._passes: list[Behaviour] = []
        self.recorder = Recorder(
            store, options.events, ttl_s=options.event_ttl_s, most=options.most_events
        )
        self._logs = PodLogs(store, clock)
        self.nodes = Nodes(store, clock, self._agenda, [] if options.hub else options.pools)
        self._build(options)

    def _build(self, options: Options) -> None:
        store, clock, agenda, recorder = self._store, self._clock, self._agenda, self.recorder
        jobs = Jobs(store, clock, agenda, recorder, options.job_backoff_s)
        pace = Pace(options.start_s, options.terminate_s, options.restart_s)
        pods = Pods(store, clock, agenda, recorder, self.nodes, jobs.settles, pace)
        self._sees = {
            JOBS: [jobs.see_job],
            "nodes": [self.nodes.see_node, pods.see_node],
            "pods": [jobs.see_pod, pods.see_pod],
        }
        # A pod's end is written before its Job's status, a new pod before it is bound: one pass each.
        workloads = Workloads(store, clock, agenda, recorder)
        self._sees[DEPLOYMENTS] = [workloads.see_deployment]
        self._sees[REPLICA_SETS] = [workloads.see_replica_set]
        self._sees[SERVICES] = [workloads.see_service]
        self._sees["pods"].append(workloads.see_pod)
        self._passes = [self.nodes, pods]
        if options.queue_manager:
            queues = QueueManager(store, clock, agenda, recorder)
            self._sees[JOBS].append(queues.see_job)
            for key in (CLUSTER_QUEUES, LOCAL_QUEUES, FLAVORS):
                self._sees[key] = [queues.see_kind]
            self._passes.append(queues)
        operators = Operators(store, clock, agenda, recorder)
        self._sees |= {key: [operators.see_parent] for key in SCRIPTS}
        for key in (JOBS, "pods", *SCRIPTS):
            self._sees[key].append(operators.see_child)
        self._passes += [operators, jobs, workloads]
        if not options.hub:
            binder = Binder(store, clock, agenda, recorder, self.nodes.address)
            self._sees["nodes"].append(binder.see_node)
            self._sees["pods"].append(binder.see_pod)
            self._passes.append(binder)
            self._passes.append(Autoscaler(clock, agenda, binder, self.nodes, options.pools))

    # --- life --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Look at everything there is, then follow changes and act until `stop`."""
        self.follow()
        self._task = asyncio.create_task(self._run(), name="kubesim-behaviours")

    def follow(self) -> None:
        """Look at everything there is and follow changes, without acting: passes are run by hand."""
        self.recorder.adopt()
        for key, sees in self._sees.items():
            for obj in self._store.list(key):
                self._dispatch(sees, Event("ADDED", key, obj, None, self._store.rv))
        self._store.subscribe(self._see)
        self._following = True
        self.nodes.start()
        self._agenda.ring()

    async def stop(self) -> None:
        """Stop acting; safe to call twice."""
        self._following = False
        self._agenda.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def run_pass(self) -> None:
        """Do once what is due now: what the loop does at every turn."""
        now = self._clock.now().timestamp()
        self._agenda.release_due(now)
        for behaviour in self._passes:
            behaviour.run(now)
        self._chores.each(lambda _: self.recorder.expire(now), now)
        next_expiry = self.recorder.next_expiry()
        if next_expiry is not None and next_expiry != self._next_expiry:
            self._next_expiry = next_expiry
            self._chores.add_at("expire events", next_expiry)

    async def _run(self) -> None:
        while True:
            await self._agenda.wait()
            try:
                self.run_pass()
            except Exception:  # noqa: BLE001 - the cluster lives on whatever one pass ran into
                _log.exception("behaviours_pass_failed")
                await self._clock.sleep(0.1)
                self._agenda.ring()
            await self._clock.sleep(0)  # let requests in between passes

    def _see(self, event: Event) -> None:
        sees = self._sees.get(event.resource_key)
        if sees is not None and self._following:
            self._dispatch(sees, event)

    def _dispatch(self, sees: list[See], event: Event) -> None:
        for see in sees:
            try:
                see(event)
            except Exception:  # noqa: BLE001 - inside somebody's write, which must not fail of it
                _log.exception("event_not_understood", resource=event.resource_key)

    # --- from outside ------------------------------------------------------------------------------

    def pod_log(
        self,
        namespace: str,
        name: str,
        container: str | None = None,
        follow: bool = False,
        tail: int | None = None,
        timestamps: bool = False,
        previous: bool = False,
        since: dt.datetime | None = None,
    ) -> str | AsyncIterator[str]:
        """A container's log: a text, or its parts as they come with `follow`. Raises ApiError."""
        if follow and not previous:
            return self._logs.follow(
                namespace, name, container, tail=tail, timestamps=timestamps, since=since
            )
        return self._logs.read(
            namespace,
            name,
            container,
            tail=tail,
            timestamps=timestamps,
            previous=previous,
            since=since,
        )

    def add_node(self, name: str, **node: Any) -> Object:
        """Add a node: `allocatable`, `labels`, `taints`. Raises ApiError."""
        return self.nodes.add(name, **node)

    def remove_node(self, name: str) -> None:
        """Remove a node; what ran there fails. Raises ApiError NotFound."""
        self.nodes.remove(name)

    def nodes_request(self, action: str, body: Mapping[str, Any]) -> Object | None:
        """A request of the private endpoint `/_sim/nodes`: see `Nodes.request`."""
        return self.nodes.request(action, body)


def attach(
    store: ObjectStore,
    clock: Clock,
    pools: Iterable[Mapping[str, Any]] = (),
    options: Mapping[str, Any] | None = None,
    *,
    hub: bool = False,
    queue_manager: bool = False,
) -> Behaviours:
    """Build the behaviours of a cluster; nothing happens before `start`.

    `options` are fields of `Options`, by name (`kueue` is read as `queue_manager`). Raises ValueError
    on unknown ones.
    """
    given = dict(options or {})
    given["hub"] = bool(given.get("hub", hub) or hub)
    given["queue_manager"] = bool(
        given.pop("kueue", False) or given.get("queue_manager") or queue_manager
    )
    given["pools"] = [dict(pool) for pool in pools]
    unknown = set(given) - {one.name for one in fields(Options)}
    if unknown:
        raise ValueError(f"unknown options of a simulated cluster: {', '.join(sorted(unknown))}")
    return Behaviours(store, clock, Options(**given))
