"""Pods that have failed, with their last lines: read as they fail, for pods may be removed soon after.

The watcher of pods hands them in, which costs nothing; they are read and reported beside all else. Of a storm
of failures the newest are kept: five of a job, and as many in all as are sent within seconds.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from agent.member.job_pods import last_of
from agent.objects import pod_reports
from shared.clock import Clock
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.streams_v1 import MOST_FAILED, MOST_FAILED_TOLD, FailedPod, LogLine, PodTold

Object = dict[str, Any]
PAUSE_S: Final = 2.0  # between two tellings
_MOST_WAITING: Final = 200
Tell = Callable[[list[FailedPod]], Awaitable[None]]


class _Failed(NamedTuple):
    job: str
    epoch: int
    namespace: str
    pod: PodTold


class LastWords:
    """Takes pods that have failed; `run` has them told: with text that containers wrote only with `logs`."""

    def __init__(self, clock: Clock, *, logs: bool) -> None:
        self._clock = clock
        self._logs = logs
        self._waiting: deque[_Failed] = deque(maxlen=_MOST_WAITING)
        self._news = asyncio.Event()

    def failed(self, job: str, epoch: int, pod: Object) -> None:
        """A pod of a job has failed. Of too many the oldest of its job, or of all, is left out."""
        told = pod_reports.pod_told(pod, logs=self._logs)
        mine = [each for each in self._waiting if (each.job, each.epoch) == (job, epoch)]
        if len(mine) >= MOST_FAILED:
            self._waiting.remove(mine[0])
        namespace = str(pod["metadata"].get("namespace") or "")
        told.epoch = told.epoch or epoch
        self._waiting.append(_Failed(job, epoch, namespace, told))
        self._news.set()

    async def run(self, kube: Callable[[], Awaitable[KubeClient]], tell: Tell) -> None:
        """Read and tell until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                some = [
                    self._waiting.popleft()
                    for _ in range(min(MOST_FAILED_TOLD, len(self._waiting)))
                ]
                client = await kube()
                told = await asyncio.gather(
                    *(_with_lines(client, each, logs=self._logs) for each in some)
                )
                await tell(list(told))
                await self._clock.sleep(PAUSE_S)


async def _with_lines(kube: KubeClient, failed: _Failed, *, logs: bool) -> FailedPod:
    lines: list[LogLine] = []
    container = pod_reports.failed_container(failed.pod)
    if logs and container:
        try:
            lines = await last_of(kube, failed.namespace, failed.pod.name, container)
        except errors.KubeError:
            lines = []  # its failure is reported all the same
    return FailedPod(job=failed.job, namespace=failed.namespace, pod=failed.pod, lines=lines)
