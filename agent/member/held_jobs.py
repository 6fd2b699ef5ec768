"""Finds the Jobs and pods that the agent made for a work: what a question for logs or pods may be about.

A question gives a uid and a name, and a member may hold other Jobs of that name: those of its people, copies
with our labels, a later Job of another tenant. Only uids of Jobs decide which pods and events are read.
"""

from collections import OrderedDict
from typing import Any, Final, NamedTuple

from agent.objects.facts import JOB, finished, has_our_fields, owner_of
from shared import labels
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.streams_v1 import StreamRequest

Object = dict[str, Any]
_MOST_WORKS: Final = 1000  # whose Jobs are remembered


class Found(NamedTuple):
    """Jobs and pods of a work in the member. `over`: no Job of it runs, or will start another pod."""

    jobs: frozenset[str] = frozenset()  # uids of its Jobs, deleted ones included
    pods: tuple[Object, ...] = ()
    over: bool = True


class HeldJobs:
    """Looks for the Job of a work, and remembers the uids of Jobs that it found before."""

    def __init__(self, hub_id: str) -> None:
        self._hub_id = hub_id
        self._known: OrderedDict[tuple[str, str], frozenset[str]] = OrderedDict()

    async def look(self, kube: KubeClient, asked: StreamRequest) -> Found:
        """Read the Job, then the pods of it. Raises the members of `shared.kube.errors`.

        Without a Job of this work the answer is empty, whatever else has its name or its labels.
        """
        job = await self._job(kube, asked)
        jobs = self._remember(asked, job)
        if not jobs:
            return Found()
        selector = f"{labels.JOB_UID}={asked.uid}"
        listed = await kube.list("v1", "Pod", asked.namespace, selector)
        pods = tuple(pod for pod in listed.items if _controller(pod) in jobs)
        return Found(jobs, pods, job is None or finished(job) is not None)

    async def _job(self, kube: KubeClient, asked: StreamRequest) -> Object | None:
        try:
            job = await kube.get(*JOB, asked.namespace, asked.name)
        except errors.NotFound:
            return None
        ours = has_our_fields(job) and owner_of(job, self._hub_id) == asked.uid
        return job if ours else None

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


def _controller(pod: Object) -> str:
    """The uid of the Job that controls a pod; "" for none."""
    owners = pod["metadata"].get("ownerReferences") or ()
    jobs = (each for each in owners if each.get("kind") == "Job" and each.get("controller"))
    return next((str(each.get("uid") or "") for each in jobs), "")
