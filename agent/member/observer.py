"""Caches of the member's objects, pods, nodes and queues, by list and watch.

Nothing is polled. Every callback costs the same however much the cluster holds; what it finds it
tells a listener, and keeps in the indexes that decisions and capacity read.
"""

import asyncio
from collections.abc import Iterable
from typing import Protocol

import structlog

from agent.member.capacity import Ledger, NodeView, node_view
from agent.member.held_jobs import MadeJobs
from agent.objects.facts import Object, epoch_of, has_our_fields, owner_of
from agent.objects.holds import JOB
from agent.objects.makers import may_be_child
from agent.objects.pods import JobPods, PodView, view
from agent.objects.slim import slim_job, whole
from shared import labels
from shared.clock import Clock
from shared.conditions import find
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kube.informer import EventType, Informer
from shared.node_preferences import HOSTNAME

log = structlog.get_logger(__name__)

_LOCAL_QUEUE = "LocalQueue"
_ACTIVE, _STOPPED = "active", "stopped"
# Kueue's reasons of Active=False by which people stop a queue; others mean that no one serves it.
_STOPPED_REASONS = frozenset({"Stopped", "ClusterQueueIsInactive"})
_KUEUE_VERSIONS = ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
_DISCOVERY_S = 30.0

KindKey = tuple[str, str]


class Listener(Protocol):
    """The listeners for changes."""

    def object_changed(self, uid: str, obj: Object) -> None:
        """An object that carries our labels with this uid is there or changed."""
        ...

    def object_gone(self, uid: str, obj: Object) -> None:
        """It is not there any more; `obj` is the last state known."""
        ...

    def pods_changed(self, uid: str) -> None:
        """Something that is reported of this job's pods changed."""
        ...

    def kind_changed(self, key: KindKey) -> None:
        """A kind's cache became complete, or the kind came or went."""
        ...


class Observer:
    """All caches of one member cluster."""

    def __init__(self, client: KubeClient, hub_id: str, listener: Listener, clock: Clock) -> None:
        self._client = client
        self._hub_id = hub_id
        self._listener = listener
        self._clock = clock
        self._tasks: dict[KindKey, asyncio.Task[None]] = {}
        self._informers: dict[KindKey, Informer[Object]] = {}
        self._helpers: list[asyncio.Task[None]] = []
        self._job_of_object: dict[str, tuple[str, int]] = {}  # member Job uid → job uid, epoch
        self._parents: dict[str, Object] = {}  # job uid → its object, where that is no Job
        self._job_kinds: set[KindKey] = {JOB}
        self._watched: frozenset[KindKey] | None = None  # … of jobs, where they are served
        self._queues: Informer[str] | None = None
        self._rediscover = asyncio.Event()
        self.pods: dict[str, JobPods] = {}
        self.ledger = Ledger()
        self.kinds: list[str] = []
        self.kubernetes_version = ""
        self.made_jobs = MadeJobs(hub_id)
        self.revision = 0  # grows when queue managers, kinds or the version change

    async def start(self) -> None:
        """Open the caches that every agent needs. They fill in the background."""
        self.want(*JOB)
        self._nodes: Informer[NodeView] = Informer(
            self._client, "v1", "Node", transform=node_view, on_event=self._node
        )
        self._all_pods: Informer[PodView] = Informer(
            self._client,
            "v1",
            "Pod",
            transform=self._pod_view,
            on_event=self._pod,
            every_state=True,
        )
        for run in (self._nodes.run(), self._all_pods.run(), self._discover()):
            self._helpers.append(asyncio.create_task(run))

    async def stop(self) -> None:
        """Close all caches."""
        tasks = [*self._tasks.values(), *self._helpers]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- queries -------------------------------------------------------------------------------

    def hostname_of(self, node: str) -> str:
        """The hostname label of a node, by its name; the name where it has none or is unknown."""
        found = self.ledger.nodes.get(node)
        return node if found is None else found.labels.get(HOSTNAME) or node

    def want(self, api_version: str, kind: str) -> None:
        """Keep our objects of this kind in view from now on."""
        key = (api_version, kind)
        if key in self._informers:
            return
        informer: Informer[Object] = Informer(
            self._client,
            api_version,
            kind,
            transform=self._job_view if key == JOB else whole,
            on_event=self._object,
            label_selector=f"{labels.MANAGED_BY}={self._hub_id}",
            clock=self._clock,
            on_served=lambda: self._listener.kind_changed(key),
        )
        self._informers[key] = informer
        self._tasks[key] = asyncio.create_task(informer.run())
        self._helpers.append(asyncio.create_task(self._announce(key, informer)))

    def want_jobs(self, api_version: str, kind: str) -> None:
        """The same of a kind whose objects are jobs: their pods are theirs, too."""
        self._job_kinds.add((api_version, kind))
        self.want(api_version, kind)

    def watch_served(self, kinds: Iterable[KindKey]) -> None:
        """Keep objects of these kinds in view wherever they are served, though no work names the kind yet."""
        self._watched = frozenset(kinds)
        self._watch_served()

    def _watch_served(self) -> None:
        for key in sorted(self._watched or ()):
            if "/".join(key) in self.kinds:
                self.want_jobs(*key)

    def job_kinds(self, *, served: bool = True) -> list[KindKey] | None:
        """Kinds of which this member may hold objects of jobs; None: it is not known yet what it serves."""
        if self._watched is None or not self.kinds:
            return None
        found = self._job_kinds | self._watched
        return sorted(k for k in found if not served or k == JOB or "/".join(k) in self.kinds)

    def parent_kind(self, uid: str) -> KindKey:
        """The kind of a job's object, by the uid of its work: Job, unless another one is in view."""
        parent = self._parents.get(uid)
        return JOB if parent is None else (parent["apiVersion"], parent["kind"])

    def namespaces_of_jobs(self) -> set[str]:
        """Namespaces that hold objects of jobs which the agent made."""
        parents = (each for each in self._parents.values() if has_our_fields(each))
        return self.made_jobs.namespaces() | {each["metadata"]["namespace"] for each in parents}

    def is_wanted(self, api_version: str, kind: str) -> bool:
        """Whether this kind is kept in view, in this version or another one."""
        group = api_version.rpartition("/")[0]
        return any(
            (known.rpartition("/")[0], of) == (group, kind) for known, of in self._informers
        )

    def is_synced(self, api_version: str, kind: str) -> bool:
        """Tell if this kind's cache has been complete once (for kinds of jobs: the pods' too)."""
        informer = self._informers.get((api_version, kind))
        if informer is None or not informer.synced.is_set():
            return False
        return (api_version, kind) not in self._job_kinds or self._all_pods.synced.is_set()

    def is_served(self, api_version: str, kind: str) -> bool:
        """False only if the member is known not to serve the kind."""
        informer = self._informers.get((api_version, kind))
        return informer is None or informer.served is not False

    def refused(self, api_version: str, kind: str) -> str:
        """The reason why this kind may not be read; "" if it may."""
        informer = self._informers.get((api_version, kind))
        return informer.refused if informer is not None else ""

    @property
    def capacity_known(self) -> bool:
        """True if nodes, pods and our Jobs have been read completely once."""
        return self._nodes.synced.is_set() and self.is_synced(*JOB)

    def live(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """Our object of this address, as cached."""
        informer = self._informers.get((api_version, kind))
        return informer.cache.get((namespace, name)) if informer else None

    def queue_managers(self) -> list[str]:
        """`namespace/name` of the LocalQueues that a queue manager serves, stopped ones included."""
        return self._queues_that(_ACTIVE, _STOPPED)

    def stopped_queues(self) -> list[str]:
        """`namespace/name` of those of them that the cluster's people have stopped."""
        return self._queues_that(_STOPPED)

    def _queues_that(self, *states: str) -> list[str]:
        cache = self._queues.cache if self._queues is not None else {}
        return sorted(f"{ns}/{name}" for (ns, name), state in cache.items() if state in states)

    def rediscover(self) -> None:
        """Look soon what the member serves now: something that adds kinds was applied."""
        self._rediscover.set()

    # --- events ----------------------------------------------------------------------------------

    def _object(self, event: EventType, old: Object | None, new: Object | None) -> None:
        obj = new or old
        assert obj is not None
        uid = owner_of(obj, self._hub_id) or (owner_of(old, self._hub_id) if old else None)
        if (obj.get("apiVersion"), obj.get("kind")) == JOB:
            self._index_job(event, obj, uid)
        if uid is None:
            return
        if (obj.get("apiVersion"), obj.get("kind")) != JOB and epoch_of(obj):
            self._index_parent(event, obj, uid)
        if event == "DELETED":
            self._listener.object_gone(uid, obj)
        else:
            self._listener.object_changed(uid, obj)

    def _index_job(self, event: EventType, job: Object, uid: str | None) -> None:
        member_uid = job["metadata"].get("uid") or ""
        if event == "DELETED":
            self._job_of_object.pop(member_uid, None)
            self.made_jobs.gone(member_uid)
        elif uid is not None and member_uid not in self._job_of_object:
            self._job_of_object[member_uid] = (uid, epoch_of(job))

    def _index_parent(self, event: EventType, parent: Object, uid: str) -> None:
        """Note an object whose operator makes pods for a job; pods may have been seen before it."""
        held = self._parents.get(uid)
        same = held is not None and held["metadata"]["uid"] == parent["metadata"]["uid"]
        if event == "DELETED":
            if same:
                del self._parents[uid]
            return
        self._parents[uid] = parent
        pods = self.pods.get(uid)
        if same or pods is None or not has_our_fields(parent):
            return
        for pod in list(pods.views.values()):
            if not pod.made and self._is_of_parent(pod):
                pods.found_made(pod, pod.epoch, by_operator=True)
                self.ledger.pod_made(pod)

    def _is_of_parent(self, pod: PodView) -> bool:
        """Tell if a pod counts for an object that the agent made. A Job in view is no child, but a copy."""
        parent = self._parents.get(pod.job_uid)
        if parent is None or pod.owner in self._job_of_object or not has_our_fields(parent):
            return False
        return may_be_child(parent, pod.namespace, pod.maker)

    def _pod_view(self, pod: Object, previous: PodView | None) -> PodView:
        seen = view(pod, previous)
        if not seen.job_uid and seen.owner:
            # A template without our labels: its owner says whose it is.
            known = self._job_of_object.get(seen.owner)
            if known is not None:
                seen.job_uid, seen.epoch = known
        self._note_maker(seen, previous)
        if seen.phase == "Failed" and (previous is None or previous.phase != "Failed"):
            self._tell_failed(seen, pod)
        return seen

    def _tell_failed(self, seen: PodView, pod: Object) -> None:
        if seen.by_operator:
            self.made_jobs.tell_of(seen.job_uid, seen.epoch, pod)
        else:
            self.made_jobs.failed(pod)

    def _note_maker(self, pod: PodView, previous: PodView | None) -> None:
        """Note if the agent made the pod's Job. It stays so once the Job is gone, or gives the pod up."""
        epoch = self.made_jobs.epoch(pod.owner, pod.job_uid)
        if epoch is not None:
            pod.made, pod.epoch = True, epoch
        elif previous is not None and (previous.uid, previous.job_uid) == (pod.uid, pod.job_uid):
            pod.made, pod.epoch = previous.made, previous.epoch
            pod.by_operator = previous.by_operator
        if not pod.made and pod.job_uid and self._is_of_parent(pod):
            pod.made = pod.by_operator = True

    def _job_view(self, job: Object, previous: Object | None) -> Object:
        self.job_seen(job)
        return slim_job(job, previous)

    def job_seen(self, job: Object) -> None:
        """Note who made a Job, as long as it has its managed fields; pods may have been seen before it."""
        if not self.made_jobs.seen(job):
            return
        pods = self.pods.get(owner_of(job, self._hub_id) or "")
        if pods is not None:
            for pod in pods.owned_by(job["metadata"]["uid"]):
                if not pod.made:
                    pods.found_made(pod, epoch_of(job))
                    self.ledger.pod_made(pod)

    def _pod(self, event: EventType, old: PodView | None, new: PodView | None) -> None:
        if event == "DELETED":
            self.ledger.pod_changed(old, None)
            if old is not None and old.job_uid:
                self._forget_pod(old)
            return
        assert new is not None
        self.ledger.pod_changed(old, new)
        if not new.job_uid:
            return
        pods = self.pods.get(new.job_uid)
        if pods is None:
            pods = self.pods[new.job_uid] = JobPods()
        if pods.put(new):
            self._listener.pods_changed(new.job_uid)

    def _forget_pod(self, pod: PodView) -> None:
        pods = self.pods.get(pod.job_uid)
        if pods is None:
            return
        pods.remove(pod)
        if not pods:
            del self.pods[pod.job_uid]
        if not pods or pod.reason or pod.by_operator:
            self._listener.pods_changed(pod.job_uid)

    def _node(self, event: EventType, old: NodeView | None, new: NodeView | None) -> None:
        self.ledger.node_changed(old, None if event == "DELETED" else new)

    def _queue(self, event: EventType, old: str | None, new: str | None) -> None:
        if event == "DELETED" or old != new:
            self.revision += 1

    # --- discovery -------------------------------------------------------------------------------

    async def _announce(self, key: KindKey, informer: Informer[Object]) -> None:
        await informer.synced.wait()
        if key in self._job_kinds:
            await self._all_pods.synced.wait()
        self._listener.kind_changed(key)

    async def _discover(self) -> None:
        """Keep the list of served kinds fresh, and watch LocalQueues once they are served."""
        while True:
            try:
                await self._look()
            except errors.KubeError as failure:
                log.info("discovery.retry", reason=failure.reason, error=failure.message)
            try:
                await asyncio.wait_for(self._rediscover.wait(), _DISCOVERY_S)
            except TimeoutError:
                pass
            else:
                # The API server needs a moment to establish a new kind.
                await self._clock.sleep(0.5)
            self._rediscover.clear()

    async def _look(self) -> None:
        if not self.kubernetes_version:
            self.kubernetes_version = (await self._client.version()).git_version
            self.revision += 1
        kinds = (await self._client.server_resources(refresh=True)).names()
        if kinds == self.kinds:
            return
        self.kinds = kinds
        self.revision += 1
        served = set(kinds)
        self._watch_served()
        for key, informer in self._informers.items():
            if informer.served is False and f"{key[0]}/{key[1]}" in served:
                informer.wake()
        for version in _KUEUE_VERSIONS:
            if self._queues is None and f"{version}/{_LOCAL_QUEUE}" in served:
                self._queues = Informer(
                    self._client,
                    version,
                    _LOCAL_QUEUE,
                    transform=_queue_state,
                    on_event=self._queue,
                )
                self._helpers.append(asyncio.create_task(self._queues.run()))


def _queue_state(queue: Object, _previous: str | None) -> str:
    """Active, stopped by people, or "" where no queue manager serves the LocalQueue."""
    active = find((queue.get("status") or {}).get("conditions"), "Active")
    if active is None:
        return ""
    if active["status"] == "True":
        return _ACTIVE
    return _STOPPED if active.get("reason") in _STOPPED_REASONS else ""
