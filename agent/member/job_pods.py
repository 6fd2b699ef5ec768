"""Tells how the pods of a job are, with the member's events about them: read when somebody asks."""

from typing import Any, Final

from agent.member.job_logs import pods_of
from agent.objects import pod_reports
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.reject_codes import RejectCode
from shared.wire.streams_v1 import (
    MOST_EVENTS,
    EventTold,
    PodTold,
    StreamEnd,
    StreamPart,
    StreamRequest,
)

Object = dict[str, Any]
_MOST_ASKED: Final = 10  # pods whose events are read: those that do not do well first
_NOT_WELL: Final = ("Failed", "Pending", "Unknown", "Running", "Succeeded")


async def tell_pods(kube: KubeClient, asked: StreamRequest) -> StreamPart:
    """The whole answer. Raises the members of `shared.kube.errors`."""
    pods, left_out = pod_reports.told(await pods_of(kube, asked))
    events, unread = await _events(kube, asked, pods)
    ended = StreamEnd(code="Ended")
    return StreamPart(seq=1, pods=pods, left_out=left_out, events=events, unread=unread, end=ended)


async def _events(
    kube: KubeClient, asked: StreamRequest, pods: list[PodTold]
) -> tuple[list[EventTold], str]:
    """The newest events of the Job and of its pods, oldest first; why there are none to be read."""
    names = [("Job", asked.name)]
    worst = sorted(pods, key=lambda pod: _rank(pod.phase))
    names += [("Pod", pod.name) for pod in worst[:_MOST_ASKED]]
    found: list[Object] = []
    for kind, name in names:
        selector = f"involvedObject.kind={kind},involvedObject.name={name}"
        try:
            found += (
                await kube.list("v1", "Event", asked.namespace, field_selector=selector)
            ).items
        except errors.KubeError as failure:
            if isinstance(failure, errors.Forbidden):
                return [], f"{RejectCode.REFUSED_BY_MEMBER}: {failure.message}"[:1000]
            return [], failure.message[:1000]
    told = sorted((pod_reports.event_told(each) for each in found), key=lambda each: each.at)
    return told[-MOST_EVENTS:], ""


def _rank(phase: str) -> int:
    return _NOT_WELL.index(phase) if phase in _NOT_WELL else 0
