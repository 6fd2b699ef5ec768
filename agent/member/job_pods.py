"""Reads the pods of a job, with the member's events for them, on request."""

from typing import Any, Final

from agent.member.held_jobs import HeldJobs
from agent.objects import pod_reports
from agent.objects.log_lines import Lines, ReadLine
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.reject_codes import RejectCode
from shared.wire.streams_v1 import (
    LAST_BYTES,
    LAST_LINES,
    MOST_EVENTS,
    MOST_FAILED,
    EventTold,
    LogLine,
    PodTold,
    StreamEnd,
    StreamPart,
    StreamRequest,
)

Object = dict[str, Any]
_MOST_ASKED: Final = 10  # pods whose events are read: those that do not do well first
_NOT_WELL: Final = ("Failed", "Pending", "Unknown", "Running", "Succeeded")


async def tell_pods(
    kube: KubeClient, held: HeldJobs, asked: StreamRequest, *, logs: bool
) -> StreamPart:
    """The whole answer; text of containers only with `logs`. Raises the members of `shared.kube.errors`."""
    found = await held.look(kube, asked)
    pods, left_out = pod_reports.told(found.pods, logs=logs)
    events, unread = await _events(kube, asked, found.jobs, pods, logs=logs)
    ended = StreamEnd(code="Ended")
    return StreamPart(seq=1, pods=pods, left_out=left_out, events=events, unread=unread, end=ended)


async def tell_last(
    kube: KubeClient, held: HeldJobs, asked: StreamRequest, *, logs: bool
) -> StreamPart:
    """The newest pods that failed, and the last lines of the container that did; lines only with `logs`.

    An unreadable log is left out: the pod's failure is reported all the same. Raises the members of
    `shared.kube.errors`.
    """
    found = await held.look(kube, asked)
    pods, _ = pod_reports.told(found.pods, logs=logs)
    told = [each for each in pods if pod_reports.failed_container(each)]
    told = sorted(told, key=lambda each: (each.finished_at, each.name))[-MOST_FAILED:]
    lines: list[LogLine] = []
    for pod in told if logs else ():
        container = pod_reports.failed_container(pod)
        try:
            lines += await last_of(kube, asked.namespace, pod.name, container)
        except errors.KubeError:
            continue
    return StreamPart(seq=1, pods=told, lines=lines, end=StreamEnd(code="Ended"))


async def last_of(kube: KubeClient, namespace: str, pod: str, container: str) -> list[LogLine]:
    """The last lines of one container, within bounds. Raises the members of `shared.kube.errors`."""
    given = {"container": container, "timestamps": "true", "tailLines": str(LAST_LINES)}
    lines = Lines(LAST_BYTES)
    found: list[LogLine] = []
    async for piece in kube.log(namespace, pod, given):
        found += _as_told(lines.feed(piece), pod, container)
        del found[:-LAST_LINES]
    found = (found + _as_told(lines.end(), pod, container))[-LAST_LINES:]
    while sum(len(each.line) for each in found) > LAST_BYTES:
        del found[0]
    return found


def _as_told(lines: list[ReadLine], pod: str, container: str) -> list[LogLine]:
    return [
        LogLine(pod=pod, container=container, line=each.text, at=each.at, cut=each.cut)
        for each in lines
    ]


async def _events(
    kube: KubeClient,
    asked: StreamRequest,
    jobs: frozenset[str],
    pods: list[PodTold],
    *,
    logs: bool,
) -> tuple[list[EventTold], str]:
    """The newest events of these Jobs and pods, oldest first; or why the agent cannot read them.

    Events are selected by uid: an object of others can have the same name.
    """
    worst = sorted(pods, key=lambda pod: _rank(pod.phase))
    uids = [*sorted(jobs), *(pod.uid for pod in worst[:_MOST_ASKED] if pod.uid)]
    found: list[Object] = []
    for uid in uids:
        selector = f"involvedObject.uid={uid}"
        try:
            found += (
                await kube.list("v1", "Event", asked.namespace, field_selector=selector)
            ).items
        except errors.KubeError as failure:
            if isinstance(failure, errors.Forbidden):
                return [], f"{RejectCode.REFUSED_BY_MEMBER}: {failure.message}"[:1000]
            return [], failure.message[:1000]
    told = [pod_reports.event_told(each, logs=logs) for each in found]
    told.sort(key=lambda each: each.at)
    return told[-MOST_EVENTS:], ""


def _rank(phase: str) -> int:
    return _NOT_WELL.index(phase) if phase in _NOT_WELL else 0
