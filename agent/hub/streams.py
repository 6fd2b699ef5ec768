"""Comes for what people ask of this member, and brings it: logs, pods, what is inside a namespace.

One request hangs at the hub; the agent answers its question over the same connection, so that the same hub
process gets the answer. No failure here stops the exchange with the hub: this loop is separate, has its
own connections to hub and member, and never ends by itself.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from agent.decide.member_policy import MemberPolicy
from agent.hub.client import HubClient, HubError
from agent.member.held_jobs import HeldJobs
from agent.member.job_logs import BATCH_BYTES, Batch, JobLogs, cost_of, end_of
from agent.member.job_pods import tell_last, tell_pods
from agent.member.last_words import LastWords
from agent.member.namespaces import look_inside
from agent.metrics import Meters
from shared import podsecurity
from shared.clock import Clock
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.reject_codes import RejectCode
from shared.retry import jittered, retrying
from shared.wire.streams_v1 import (
    BEAT_S,
    MOST_INSIDE,
    MOST_LINES,
    NAMESPACE,
    FailedPod,
    FailedPods,
    LogLine,
    NamespaceTold,
    StreamEnd,
    StreamPart,
    StreamRequest,
)

log = structlog.get_logger(__name__)
MOST_AT_ONCE: Final = 50  # questions that are answered at a time
CONNECTIONS: Final = 1000  # to the member's API server, for logs alone
_BATCHES: Final = 16  # waiting answers of one question
_LINGER_S: Final = 0.1  # for lines that come together
_OLDER_HUB_S: Final = 300.0  # until the next poll
_REST_S: Final = (1.0, 10.0)
_UNTOLD_S: Final = 60.0  # after this silence the hub has forgotten the question
_ENDED: Final = StreamEnd(code="Ended")
_LONGEST_NAME: Final = 1024
_TRIES: Final = 5  # of telling of pods that failed, while the hub does not answer
_UID: Final = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,61}[A-Za-z0-9]")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class Streams:
    """Answers questions. `hub` makes a connection, `member` a client, `secret` gives the newest one."""

    def __init__(
        self,
        hub: Callable[[], HubClient],
        secret: Callable[[], str],
        member: Callable[[], Awaitable[KubeClient]],
        policy: MemberPolicy,
        clock: Clock,
        meters: Meters,
        words: LastWords,
        hub_id: str,
        held: HeldJobs,
    ) -> None:
        self._hub, self._secret, self._member = hub, secret, member
        self._policy, self._clock, self._meters = policy, clock, meters
        self._words = words
        self._hub_id = hub_id
        self._held = held
        self._idle: list[HubClient] = []
        self._answering: set[asyncio.Task[None]] = set()
        self._kube: KubeClient | None = None
        self._connecting = asyncio.Lock()
        self._rest_s = _REST_S[0]

    async def run(self) -> None:
        """Ask and answer until cancelled."""
        line: HubClient | None = None
        telling = asyncio.create_task(self._tell_failures())
        try:
            while True:
                if len(self._answering) >= MOST_AT_ONCE:
                    await asyncio.wait(self._answering, return_when=asyncio.FIRST_COMPLETED)
                    continue
                try:
                    line = line or self._line()
                    asked = await self._ask(line)
                except Exception as fault:  # noqa: BLE001 - the agent's other loops go on
                    log.warning("streams.failed", error=str(fault)[:200])
                    await self._clock.sleep(_REST_S[1])
                    continue
                if asked is not None:
                    task = asyncio.create_task(self._answer(line, asked))
                    self._answering.add(task)
                    task.add_done_callback(self._answering.discard)
                    line = None
        finally:
            for task in (*self._answering, telling):
                task.cancel()
            await asyncio.gather(*self._answering, telling, return_exceptions=True)
            for each in (*self._idle, *((line,) if line else ())):
                await each.close()
            if self._kube is not None:
                await self._kube.close()

    def _line(self) -> HubClient:
        return self._idle.pop() if self._idle else self._hub()

    async def _ask(self, line: HubClient) -> StreamRequest | None:
        """The next question; None where nothing is, or the hub does not say."""
        began = self._clock.monotonic()
        try:
            found = await line.asked(self._secret())
        except HubError as refusal:
            older = refusal.status in {404, 405}
            await self._clock.sleep(_OLDER_HUB_S if older else jittered(self._rest_s, 0.2))
            self._rest_s = min(_REST_S[1], self._rest_s * 2)
            return None
        self._rest_s = _REST_S[0]
        if not found and self._clock.monotonic() - began < 0.5:
            await self._clock.sleep(1.0)  # a hub that does not hold requests
        return found[0] if found else None

    # --- pods that failed --------------------------------------------------------------------------

    async def _tell_failures(self) -> None:
        """Report pods as they fail, whatever happens to the report."""

        def note(_attempt: int, fault: BaseException, _wait_s: float) -> None:
            log.warning("failures.untold", error=str(fault)[:200])

        again = retrying(self._clock, before_wait=note)
        await again(self._words.run, self._client, self._bring_failures)

    async def _bring_failures(self, failed: list[FailedPod]) -> None:
        """Bring them, a few times where the hub does not answer; an older hub does not know them."""
        line = self._line()
        try:
            again = retrying(self._clock, _may_pass, attempts=_TRIES)
            await again(line.bring_failures, self._secret(), FailedPods(items=failed))
        except HubError as refusal:
            log.info("failures.refused", code=refusal.code, error=str(refusal)[:200])
        finally:
            self._idle.append(line)

    async def _client(self) -> KubeClient:
        async with self._connecting:
            if self._kube is None:
                self._kube = await self._member()
        return self._kube

    # --- one question ----------------------------------------------------------------------------

    async def _answer(self, line: HubClient, asked: StreamRequest) -> None:
        self._meters.streams.inc()
        try:
            await self._told(line, asked)
        except Exception as fault:  # noqa: BLE001 - one question's fault is not the others'
            log.warning("stream.failed", stream=asked.id, error=str(fault)[:200])
            text = "the agent failed while it answered; its log has the cause"
            end = StreamEnd(code=RejectCode.MEMBER_NOT_ANSWERING, message=text)
            await self._deliver(line, asked, StreamPart(seq=1, end=end))
        finally:
            self._meters.streams.dec()
            self._idle.append(line)

    async def _told(self, line: HubClient, asked: StreamRequest) -> None:
        refusal = self._refusal(asked)
        if refusal is not None:
            await self._deliver(line, asked, StreamPart(seq=1, end=refusal))
            return
        kube = await self._client()
        if asked.what == "logs":
            await self._tell_logs(line, asked, kube)
            return
        logs = self._policy.logs == "on"
        try:
            if asked.what == NAMESPACE:
                part = await self._inside(kube, asked.name)
            elif asked.what == "last":
                part = await tell_last(kube, self._held, asked, logs=logs)
            else:
                part = await tell_pods(kube, self._held, asked, logs=logs)
        except errors.KubeError as failure:
            part = StreamPart(seq=1, end=end_of(failure))
        await self._deliver(line, asked, part)

    async def _inside(self, kube: KubeClient, name: str) -> StreamPart:
        """Answer with the contents of a namespace that this agent created. Raises KubeError."""
        may_delete = self._policy.profile != "jobs"
        found = await look_inside(kube, name, self._hub_id, may_delete=may_delete)
        if found is None:
            text = f"this agent did not create namespace {name}"
            return StreamPart(
                seq=1, end=StreamEnd(code=RejectCode.REFUSED_BY_MEMBER, message=text)
            )
        told = NamespaceTold(
            ours=len(found.ours),
            others=len(found.others),
            named=[each[:_LONGEST_NAME] for each in found.others[:MOST_INSIDE]],
            unread=found.unread[:_LONGEST_NAME],
        )
        return StreamPart(seq=1, namespace=told, end=_ENDED)

    def _refusal(self, asked: StreamRequest) -> StreamEnd | None:
        """The reason why this member's own rules forbid an answer."""
        named = _UID.fullmatch(asked.uid) and _NAMESPACE.fullmatch(asked.namespace)
        named = named and _NAME.fullmatch(asked.name)
        if not named or podsecurity.check_target(asked.namespace, self._policy.rules):
            text = f"this member shows nothing of namespace {asked.namespace[:63]}"
            return StreamEnd(code=RejectCode.REFUSED_BY_MEMBER, message=text)
        if asked.what == "logs" and self._policy.logs != "on":
            text = (
                "this member gives no logs: its administrator has not opted in "
                "(chart value logs.enabled, option --logs=on of the agent)"
            )
            return StreamEnd(code=RejectCode.LOGS_OFF, message=text)
        return None

    async def _tell_logs(self, line: HubClient, asked: StreamRequest, kube: KubeClient) -> None:
        out: asyncio.Queue[Batch] = asyncio.Queue(_BATCHES)
        logs = JobLogs(kube, self._held, asked, self._clock, out)
        reading = asyncio.create_task(logs.read())
        seq = 0
        try:
            while True:
                lines = await _gathered(out, reading)
                end = reading.result() if reading.done() and out.empty() else None
                seq += 1
                part = StreamPart.model_construct(seq=seq, lines=lines, end=end, beat_s=BEAT_S)
                if not await self._deliver(line, asked, part) or end is not None:
                    return
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _deliver(self, line: HubClient, asked: StreamRequest, part: StreamPart) -> bool:
        """Bring a part until it is taken; False if no reader waits for it any more."""
        tried_at, rest_s = self._clock.monotonic(), 0.2
        while True:
            try:
                taken = await line.bring(self._secret(), asked.id, part)
            except HubError as refusal:
                if not refusal.unreachable:
                    return False
                if self._clock.monotonic() - tried_at > _UNTOLD_S:
                    return False
                await self._clock.sleep(jittered(rest_s, 0.2))
                rest_s = min(1.0, rest_s * 2)  # sooner than the hub takes it to be gone
                continue
            if taken >= part.seq:
                return True
            tried_at = self._clock.monotonic()  # there was no room: its reader is slow


async def _gathered(out: "asyncio.Queue[Batch]", reading: "asyncio.Task[StreamEnd]") -> Batch:
    """Lines that have come: at once where there is much, a moment later where there is little.

    Empty after `BEAT_S` without any, and where reading has begun or ended.
    """
    found: list[LogLine] = []
    size = 0
    wait_s = BEAT_S
    while size < BATCH_BYTES and len(found) < MOST_LINES // 2:
        batch = await _next(out, reading, wait_s)
        if batch is None:
            break
        found += batch
        size += sum(map(cost_of, batch))
        if not batch:
            break
        wait_s = _LINGER_S
    return found


async def _next(
    out: "asyncio.Queue[Batch]", reading: "asyncio.Task[StreamEnd]", wait_s: float
) -> Batch | None:
    """The next batch; None if none comes in time, or reading has ended."""
    if not out.empty():
        return out.get_nowait()
    if reading.done():
        return None
    getting = asyncio.ensure_future(out.get())
    try:
        await asyncio.wait({getting, reading}, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            return getting.result()
        return None
    finally:
        if not getting.done():
            getting.cancel()


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, HubError) and (error.unreachable or error.status == 429)
