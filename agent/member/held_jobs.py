"""Finds the Jobs and pods that the agent created for a work, for pod reports and requests.

A question gives a uid and a name, and a member may hold other Jobs of that name: those of its people, copies
with our labels, a later Job of another tenant. Only uids of Jobs decide which pods and events are read.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import structlog

from agent.objects.facts import epoch_of, finished, has_our_fields, owner_of
from agent.objects.holds import JOB
from agent.objects.makers import maker_of, may_be_of
from agent.objects.pods import job_owner
from shared import labels
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.streams_v1 import StreamRequest

Object = dict[str, Any]
log = structlog.get_logger(__name__)
_MOST_WORKS: Final = 1000  # whose Jobs are remembered
_MOST_HELD: Final = 200  # failed pods of Jobs that are not known yet


def work_of(job: Object, hub_id: str) -> str | None:
    """The uid of the work that the agent made a Job for; None: it did not make it.

    The managed fields are the evidence: a Job of people can have the same labels and environment.
    """
    return owner_of(job, hub_id) if has_our_fields(job) else None


class MadeJobs:
    """Knows from the watch of Jobs which ones the agent made: it reports only of their pods.

    A pod can be seen before its Job: a failed one is held until the Job is.
    """

    def __init__(self, hub_id: str) -> None:
        self.tell: Callable[[str, int, Object], None] | None = None  # job's uid, epoch, pod
        self._hub_id = hub_id
        self._made: dict[str, tuple[str, int]] = {}  # uid in the member: uid of the work, epoch
        self._spaces: dict[str, str] = {}  # uid in the member: namespace
        self._held: deque[tuple[str, Object]] = deque(maxlen=_MOST_HELD)

    def epoch(self, job: str, work: str) -> int | None:
        """The epoch of a Job, by its uid in the member, if the agent made it for that work."""
        made = self._made.get(job)
        return made[1] if made is not None and made[0] == work else None

    def seen(self, job: Object) -> bool:
        """Take in a Job with its managed fields, which the cached one lacks. True: it is new and ours."""
        uid = str(job["metadata"].get("uid") or "")
        if uid in self._made or (work := work_of(job, self._hub_id)) is None:
            return False
        self._made[uid] = (work, epoch_of(job))
        self._spaces[uid] = job["metadata"]["namespace"]
        mine = [pod for owner, pod in self._held if owner == uid]
        if mine:
            left = [each for each in self._held if each[0] != uid]
            self._held = deque(left, maxlen=_MOST_HELD)
        for pod in mine:
            self.failed(pod)
        return True

    def gone(self, uid: str) -> None:
        """A Job is not there any more."""
        self._made.pop(uid, None)
        self._spaces.pop(uid, None)

    def namespaces(self) -> set[str]:
        """Namespaces that hold Jobs which the agent made."""
        return set(self._spaces.values())

    def failed(self, pod: Object) -> None:
        """Tell a failed pod, if the agent made its Job."""
        owner = job_owner(pod["metadata"])
        if self.tell is None or not owner:
            return
        made = self._made.get(owner)
        if made is None:
            self._held.append((owner, pod))
            return
        self.tell_of(*made, pod)

    def tell_of(self, work: str, epoch: int, pod: Object) -> None:
        """Tell a failed pod of a work."""
        if self.tell is None:
            return
        try:
            self.tell(work, epoch, pod)
        except Exception:  # a pod that cannot be told of is still counted
            log.exception("pod.not_reported", uid=work, pod=pod["metadata"].get("name"))


class Found(NamedTuple):
    """Jobs and pods of a work in the member. `over`: no Job of it runs, or will start another pod."""

    jobs: frozenset[str] = frozenset()  # uids of its Jobs, deleted ones included
    pods: tuple[Object, ...] = ()
    over: bool = True


class Told(NamedTuple):
    """What the agent's caches tell of a job: the kind of its object, and whether that has ended."""

    kind: tuple[str, str] = JOB
    ended: bool = False


class HeldJobs:
    """Looks for the Job of a work, and remembers the uids of Jobs that it found before.

    `told`: asked for the uid of a work; of Jobs their own status tells whether they have ended. None: all are
    Jobs.
    """

    def __init__(self, hub_id: str, told: Callable[[str], Told] | None = None) -> None:
        self._hub_id = hub_id
        self._told = told
        self._known: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()

    async def look(self, kube: KubeClient, asked: StreamRequest) -> Found:
        """Read the Job, then the pods of it. Raises the members of `shared.kube.errors`.

        Without a Job of this work the answer is empty, whatever else has its name or its labels. Of another
        kind, those labelled pods whose controller is the object, or of a kind that its operator makes.
        """
        told = Told() if self._told is None else self._told(asked.uid)
        job = await self._job(kube, asked, told.kind)
        jobs = self._remember(asked, job)
        if not jobs:
            return Found()
        selector = f"{labels.JOB_UID}={asked.uid}"
        listed = await kube.list("v1", "Pod", asked.namespace, selector)
        if told.kind != JOB:
            made = tuple(
                pod
                for pod in listed.items
                if may_be_of(told.kind, jobs, maker_of(pod["metadata"]))
            )
            return Found(jobs, made, job is None or told.ended)
        pods = tuple(pod for pod in listed.items if job_owner(pod["metadata"]) in jobs)
        return Found(jobs, pods, job is None or finished(job) is not None)

    async def _job(
        self, kube: KubeClient, asked: StreamRequest, kind: tuple[str, str]
    ) -> Object | None:
        try:
            job = await kube.get(*kind, asked.namespace, asked.name)
        except errors.NotFound:
            return None
        return job if work_of(job, self._hub_id) == asked.uid else None

    def _remember(self, asked: StreamRequest, job: Object | None) -> frozenset[str]:
        work = asked.namespace, asked.uid
        jobs = self._known.pop(work, frozenset())
        if job is not None:
            jobs |= {str(job["metadata"]["uid"])}
        if jobs:
            self._known[work] = jobs
        if len(self._known) > _MOST_WORKS:
            self._known.popitem(last=False)
        return jobs
