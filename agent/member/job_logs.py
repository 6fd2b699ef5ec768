"""Reads the logs of a job's pods from the member's API server, as they are written or as they stand.

Lines of one container come in their order, those of several as they come. Readers wait while nobody takes
their lines, and so does the kubelet: no buffer grows here.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from agent.member.held_jobs import Found, HeldJobs
from agent.objects import pod_reports
from agent.objects.log_lines import Lines, ReadLine
from shared.clock import Clock
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.log_place import LogPlace, since_of
from shared.reject_codes import RejectCode
from shared.wire.streams_v1 import LogLine, StreamEnd, StreamRequest

Object = dict[str, Any]
Batch = list[LogLine]
MOST_READERS: Final = 200  # containers whose logs are read at a time, of one question
BATCH_BYTES: Final = 32 << 10
ENDED: Final = "Ended"
_Run = tuple[str, str, int]  # of a container: its pod's uid, its name, its number of restarts
_AT_ONCE: Final = 20  # of logs that are not followed
_LOOK_S: Final = 1.5  # between two looks for pods that have started
_TRIES: Final = 5  # of a log that breaks while it is followed
_OVERHEAD: Final = 64  # bytes that a line costs beside its words


class JobLogs:
    """The answer to one question for logs. `read` puts batches of lines into `out`."""

    def __init__(
        self,
        kube: KubeClient,
        held: HeldJobs,
        asked: StreamRequest,
        clock: Clock,
        out: "asyncio.Queue[Batch]",
    ) -> None:
        self._kube, self._held = kube, held
        self._asked, self._clock, self._out = asked, clock, out
        self._tasks: set[asyncio.Task[None]] = set()
        self._seen: set[tuple[str, str, int]] = set()
        self._noted: dict[tuple[str, str], str] = {}
        self._running: set[_Run] = set()  # as of the last look
        self._looked = asyncio.Event()  # set, and replaced, at each look
        self._slots = asyncio.Semaphore(MOST_READERS if asked.follow else _AT_ONCE)
        self._fault: StreamEnd | None = None

    async def read(self) -> StreamEnd:
        """Read until the log is complete; returns the reason for its end. Its tasks have ended then."""
        try:
            return await self._read()
        except errors.KubeError as failure:
            return end_of(failure)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self) -> StreamEnd:
        held = await self._held.look(self._kube, self._asked)
        if refusal := self._refusal(held):
            return refusal
        await self._out.put([])  # the answer begins, though there may be no line for long
        first = True
        while True:
            self._look(held.pods)
            for pod in held.pods:
                await self._begin(pod, first=first)
            if not self._asked.follow:
                await asyncio.gather(*self._tasks)
                return self._fault or StreamEnd(code=ENDED, message="")
            first = False
            await self._clock.sleep(_LOOK_S)
            if self._fault is not None:
                return self._fault
            idle = not self._tasks
            held = await self._held.look(self._kube, self._asked)
            if idle and self._is_over(held) and not any(map(self._new, held.pods)):
                return StreamEnd(code=ENDED, message="")

    def _look(self, pods: Sequence[Object]) -> None:
        self._running = {
            (pod["metadata"]["uid"], name, restarts)
            for pod in pods
            for name, restarts in pod_reports.running_containers(pod)
        }
        self._looked.set()
        self._looked = asyncio.Event()

    def _refusal(self, held: Found) -> StreamEnd | None:
        """The reason why there is nothing to read, and will not be."""
        asked, pods = self._asked, held.pods
        if not pods:
            if held.over:
                text = "its pods no longer exist: the cluster has removed them"
                return StreamEnd(code=RejectCode.PODS_REMOVED, message=text)
            if asked.follow and not asked.pod:
                return None
            return StreamEnd(code=RejectCode.NO_PODS_YET, message="it has no pods yet; ask again")
        chosen = [pod for pod in pods if asked.pod in ("", pod["metadata"]["name"])]
        if not chosen:
            names = _listed(pod["metadata"]["name"] for pod in pods)
            text = f"it has no pod {asked.pod}; it has {names}"
            return StreamEnd(code=RejectCode.POD_NOT_FOUND, message=text)
        there = {name: None for pod in chosen for name in pod_reports.container_names(pod)}
        if asked.container and asked.container not in there:
            text = f"its pods have no container {asked.container}; they have {_listed(there)}"
            return StreamEnd(code=RejectCode.CONTAINER_NOT_FOUND, message=text)
        if not asked.follow and not any(self._new(pod) for pod in chosen):
            if asked.previous:
                text = "no container of it has a run before the one it is in"
            else:
                waits = {why for pod in chosen for why in _waits(pod)} or {"not scheduled yet"}
                text = f"no container of it has started: {_listed(sorted(waits))}"
            return StreamEnd(code=RejectCode.NOT_BEGUN, message=text[:1500])
        return None

    def _new(self, pod: Object) -> list[tuple[str, int]]:
        """Containers of a pod whose logs can be read and are not yet, each with its restarts."""
        asked, metadata = self._asked, pod["metadata"]
        if asked.pod not in ("", metadata["name"]):
            return []
        found = []
        for name in pod_reports.container_names(pod):
            begun, before, restarts, _ = pod_reports.runs(pod, name)
            if asked.container in ("", name) and (before if asked.previous else begun):
                found.append((name, restarts))
        return [each for each in found if (metadata["uid"], *each) not in self._seen]

    async def _begin(self, pod: Object, *, first: bool) -> None:
        """Read what can be read now of a pod; say why the rest waits, where that is known."""
        metadata = pod["metadata"]
        for name, restarts in self._new(pod):
            run = metadata["uid"], name, restarts
            if len(self._tasks) >= MOST_READERS:
                words = f"{MOST_READERS} logs are being read: this one is left out for now"
                await self._note(metadata["name"], name, words)
                continue
            self._seen.add(run)
            task = asyncio.create_task(self._container(metadata["name"], run, first=first))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._asked.follow and self._asked.pod in ("", metadata["name"]):
            for name in pod_reports.container_names(pod):
                begun, _, _, why = pod_reports.runs(pod, name)
                if not begun and why and self._asked.container in ("", name):
                    await self._note(metadata["name"], name, f"waits: {why}")

    async def _note(self, pod: str, container: str, words: str) -> None:
        """Say something in place of lines, once."""
        if self._noted.get((pod, container)) != words and len(self._noted) < 10 * MOST_READERS:
            self._noted[pod, container] = words
            await self._out.put([LogLine(pod=pod, container=container, line=words, note=True)])

    async def _container(self, pod: str, run: _Run, *, first: bool) -> None:
        """Read one container's log to its end, taken up again where it breaks while it is followed."""
        async with self._slots:
            try:
                await self._with_resumes(pod, run, first=first)
            except errors.KubeError as failure:
                if isinstance(failure, errors.Forbidden | errors.Unauthorized):
                    self._fault = end_of(failure)
                else:
                    text = f"its log can not be read: {failure.message}"
                    await self._note(pod, run[1], text[:500])

    async def _with_resumes(self, pod: str, run: _Run, *, first: bool) -> None:
        container = run[1]
        given = {"container": container, "timestamps": "true"}
        given |= self._options(f"{pod}/{container}", first=first)
        place = LogPlace()
        left = _TRIES
        while True:
            try:
                await self._once(pod, container, given, place)
            except errors.Unavailable:
                left -= 1
                if not self._asked.follow or not left:
                    raise
                await self._clock.sleep(1.0)
            else:
                # Between API server and kubelet it may have broken off, and ends here like any other.
                if not await self._goes_on(run):
                    return
            if place.at:
                given = {name: each for name, each in given.items() if name not in _FIRST}
                given["sinceTime"] = place.since
                place.resume()

    async def _goes_on(self, run: _Run) -> bool:
        """True if a log that has ended is of a container that still runs, by the next check of the pods."""
        if not self._asked.follow or self._asked.previous:
            return False
        await self._looked.wait()
        return run in self._running

    def _options(self, log: str, *, first: bool) -> dict[str, str]:
        asked = self._asked
        given = {}
        if asked.follow:
            given["follow"] = "true"
        if asked.previous:
            given["previous"] = "true"
        if first and (after := asked.after.get(log)):
            return given | {"sinceTime": since_of(after)}
        if first and asked.since_s is not None:
            given["sinceSeconds"] = str(max(1, asked.since_s))
        if first and asked.tail is not None:
            given["tailLines"] = str(asked.tail)
        return given

    async def _once(
        self, pod: str, container: str, given: dict[str, str], place: LogPlace
    ) -> None:
        lines = Lines()
        async for piece in self._kube.log(self._asked.namespace, pod, given):
            await self._put(pod, container, _new(lines.feed(piece), place))
        await self._put(pod, container, _new(lines.end(), place))

    async def _put(self, pod: str, container: str, lines: list[ReadLine]) -> None:
        batch: Batch = []
        size = 0
        for each in lines:
            batch.append(
                LogLine.model_construct(
                    pod=pod, container=container, line=each.text, at=each.at, cut=each.cut
                )
            )
            size += cost_of(batch[-1])
            if size >= BATCH_BYTES:
                await self._out.put(batch)
                batch, size = [], 0
        if batch:
            await self._out.put(batch)

    def _is_over(self, held: Found) -> bool:
        """True if no further line of the requested logs will be written."""
        asked = self._asked
        if asked.pod:
            mine = [pod for pod in held.pods if pod["metadata"]["name"] == asked.pod]
            return all(pod_reports.is_over(pod) for pod in mine)
        return held.over


_FIRST: Final = frozenset({"sinceSeconds", "tailLines", "sinceTime"})


def _new(lines: list[ReadLine], place: LogPlace) -> list[ReadLine]:
    """Those that were not read before."""
    return [each for each in lines if place.is_new(each.at)]


def cost_of(line: LogLine) -> int:
    """About how many bytes a line takes on its way."""
    return len(line.line) + len(line.pod) + len(line.container) + _OVERHEAD


def end_of(failure: errors.KubeError) -> StreamEnd:
    """A failure of the member's API server, as the end of an answer."""
    text = failure.message[:1000]
    if isinstance(failure, errors.Forbidden | errors.Unauthorized):
        said = f"the member does not let its agent read this: {text}"
        return StreamEnd(code=RejectCode.REFUSED_BY_MEMBER, message=said)
    said = f"the member's API server refuses it: {text}"
    return StreamEnd(code=RejectCode.MEMBER_NOT_ANSWERING, message=said)


def _waits(pod: Object) -> list[str]:
    names = pod_reports.container_names(pod)
    return [why for name in names if (why := pod_reports.runs(pod, name)[3])]


def _listed(names: Any) -> str:
    found = list(names)
    more = f" and {len(found) - 10} more" if len(found) > 10 else ""
    return ", ".join(found[:10]) + more
