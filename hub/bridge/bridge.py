"""The bridge as a whole: connects, checks, installs, follows both sides until it is cancelled.

Whatever the hub cluster does (restarts, 410, 429, 5xx, other certificates), the bridge tries again; it
stops acting only where acting could destroy something, and says so.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Final

import structlog

from hub.bridge.approvals import Approvals
from hub.bridge.check_conditions import CheckConditions
from hub.bridge.condition import PULSE_S, BridgeCondition
from hub.bridge.crds import install_crds
from hub.bridge.deletion import Deletions
from hub.bridge.events import EventRecorder
from hub.bridge.following import GATHER_S, Following
from hub.bridge.kinds import ALWAYS
from hub.bridge.mirror import Mirror
from hub.bridge.old_evictions import OldEvictions
from hub.bridge.records import Records
from hub.bridge.showing import Showing
from hub.bridge.sources import Sources
from hub.bridge.token_reviews import reviewing
from hub.bridge.work_kinds import WORK_KINDS
from hub.bridge.workload_objects import WorkloadObjects
from hub.bridge.writeback import Writeback
from hub.services.context.hub import Hub
from hub.services.mirror import objects as mirrored
from hub.services.mirror.not_taken import NotTaken
from hub.services.placements import index
from hub.services.placements.index import PlacementIndex
from hub.store.errors import StoreUnavailable
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.loop import Loop, Tick
from shared.retry import retrying

CHECK_S: Final = 60.0  # how often the hub cluster's identity is looked at
STOPPED_S: Final = 5.0  # how often a stopped bridge asks whether it may go on
RETRY_S: Final = 30.0  # how often what was refused is tried again, and new kinds are looked for
LEADING_S: Final = 1.0  # how often it is asked who leads
EVERY_S: Final = 5.0  # how often each side is looked at without news
MIRROR_LEAST_S: Final = 0.2  # what is applied together enters in one transaction
AGAIN_S: Final = 0.5  # until what failed is tried again
WRITE_LEAST_S: Final = 0.5
_FEED: Final = (
    "workloads", "objects", "clusters", "works", "events", "settings", "bindings", "observed"
)  # fmt: skip
log = structlog.get_logger(__name__)


class Bridge:
    """`kubeconfig` is the hub cluster's; None: the account of the pod that this is.

    `term` is the leadership under which the bridge writes. `not_taken` is told what the hub refuses.
    """

    def __init__(
        self,
        hub: Hub,
        term: Callable[[], int],
        kubeconfig: Path | str | None,
        not_taken: NotTaken | None = None,
    ) -> None:
        self._not_taken = not_taken or NotTaken()
        self._not_taken.bridged = True
        self._hub = hub
        self._term = term
        self._kubeconfig = kubeconfig
        self._connected = False
        self.condition = BridgeCondition(hub, term)
        self.condition.begin()

    def loops(self) -> list[Callable[[], Awaitable[None]]]:
        """What is to be run: the bridge, and who asks the hub cluster whose tokens are, where that is set."""
        return [self.run, *reviewing(self._hub, self._kubeconfig)]

    async def run(self) -> None:
        """Bridge while this process leads, until cancelled."""
        again = retrying(self._hub.clock, fresh=self._has_connected, before_wait=self._note)
        while True:
            while not self._term():
                await self._hub.clock.sleep(LEADING_S)
            await again(self._attempt)

    def _has_connected(self) -> bool:
        return self._connected

    def _note(self, times: int, failure: BaseException, _wait_s: float) -> None:
        log.warning("bridge.retry", error=_words(failure, self._kubeconfig), times=times)

    async def _attempt(self) -> None:
        """Connect and cross, as long as that goes."""
        self._connected = False
        try:
            while not await self._cross():
                pass
        except Exception as failure:
            with contextlib.suppress(StoreUnavailable):  # it is tried, and told, again
                await self.condition.is_silent(_words(failure, self._kubeconfig))
            raise

    async def _cross(self) -> bool:
        """One connection; False: it stopped, and another is to be made."""
        if not self._term():
            return True
        async with await KubeClient.connect(self._kubeconfig, clock=self._hub.clock) as client:
            await self.condition.check(client)
            if self.condition.stopped:  # not ours to touch: look again later
                self._connected = True
                if not await self.condition.obey():
                    await self._hub.clock.sleep(STOPPED_S)
                return False
            await install_crds(client, self._hub.clock)
            await self.condition.begun()
            # Only now: a hub cluster that refuses these is asked ever more seldom.
            self._connected = True
            await self._while_leading(
                _Crossing(self._hub, self._term, client, self.condition, self._not_taken).run()
            )
            return True

    async def _while_leading(self, crossing: Coroutine[Any, Any, None]) -> None:
        """Until it ends by itself, or another hub leads, which then crosses."""
        term, task = self._term(), asyncio.ensure_future(crossing)
        try:
            while not task.done() and self._term() == term:
                await asyncio.wait({task}, timeout=LEADING_S)
        finally:
            task.cancel()
            (ended,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(ended, Exception):
            raise ended


def _words(failure: BaseException, kubeconfig: Path | str | None) -> str:
    """Why the bridge could not cross, for people: a file that is missing reads as an odd one otherwise."""
    if kubeconfig is not None and not Path(kubeconfig).is_file():
        return f"there is no file {kubeconfig}"
    if isinstance(failure, errors.KubeError):
        return f"{failure.reason}: {failure.message}"[:300]
    return f"{kubeconfig or 'in-cluster configuration'}: {failure!r}"[:300]


class _Crossing:
    """One connection's parts and loops."""

    def __init__(
        self,
        hub: Hub,
        term: Callable[[], int],
        client: KubeClient,
        condition: BridgeCondition,
        not_taken: NotTaken | None = None,
    ) -> None:
        self._hub = hub
        self._term = term
        self._client = client
        self._condition = condition
        self._inward = self._loop("bridge-in", self._take, MIRROR_LEAST_S)
        self._outward = self._loop("bridge-out", self._give, WRITE_LEAST_S)
        self._beside = self._loop("bridge-workloads", self._show, WRITE_LEAST_S)
        self._mirrors = self._loop("bridge-mirrors", self._level_mirrors, WRITE_LEAST_S)
        self._recorder = self._loop("bridge-records", self._record, WRITE_LEAST_S)
        self._pulse = Loop("bridge-pulse", self._ask, hub.clock, every_s=PULSE_S)
        self._index = PlacementIndex()
        self._sources = Sources(client, hub.clock, self._inward.wake)
        self._following = Following(client, self._sources, self._index, hub.clock)
        self._events = EventRecorder(hub, client, self._sources)
        self._showing = Showing(
            hub,
            client,
            self._sources,
            term,
            self._events,
            self._appeared,
            lambda: condition.protection.keeps_from_starting,
        )
        self._mirror = Mirror(
            hub,
            client,
            self._sources,
            self._index,
            self._look_at,
            lambda: condition.protection.in_force,
            self._mirror_seen,
            not_taken,
        )
        self._deletions = Deletions(
            hub, client, self._sources, self._mirror, condition, self._mirror_gone
        )
        self._writeback = Writeback(
            hub,
            client,
            self._sources,
            self._mirror,
            self._events,
            self._following.unreadable,
            lambda: condition.protection.keeps_mark,
        )
        self._mirror.unchanged = self._writeback.was_seen
        self._mirror.left = self._events.was_left
        self._checks = CheckConditions(hub, self._sources)
        self._approvals = Approvals(hub, self._sources)
        self._records = Records(hub, client, self._recorder.wake, self._sources.making)
        self._old = OldEvictions(hub, client, self._sources)
        self._workloads = WorkloadObjects(hub, client, self._sources, term)
        self._checked_at = self._retried_at = hub.clock.monotonic()

    def _loop(self, name: str, tick: Tick, least_s: float) -> Loop:
        return Loop(name, tick, self._hub.clock, every_s=EVERY_S, least_s=least_s)

    async def run(self) -> None:
        changes = self._hub.subscribe(*_FEED)
        try:
            for kind in ALWAYS:
                await self._sources.add(kind)
            await self._sources.synced()
            for (
                kind
            ) in WORK_KINDS:  # they may not be served, or not be readable: nothing waits for them
                await self._sources.add(kind)
            rows = await self._hub.read(index.load_placements)
            self._following.learn(rows)
            for kind in ALWAYS:
                for place in self._sources.all_of(kind.group, kind.kind):
                    found = self._sources.get(place)
                    if found is not None:
                        self._look_at(self._sources.row_of(found[1]))
            await self._showing.begin()
            await self._records.begin()
            async with asyncio.TaskGroup() as loops:  # one that breaks ends them all
                for loop in (
                    self._inward,
                    self._outward,
                    self._beside,
                    self._mirrors,
                    self._recorder,
                    self._pulse,
                ):
                    loops.create_task(loop.run())
                loops.create_task(self._follow(changes))
        finally:
            changes.close()
            await self._records.close()
            await self._sources.close()

    # --- turns --------------------------------------------------------------------------------------

    async def _take(self) -> float | None:
        """From the hub cluster into the hub."""
        term = self._term()
        if not term:
            return None
        await self._check()
        if self._condition.stopped and not await self._condition.obey():
            return None
        if self._condition.lifted:  # what was found absent is looked at once more, and carried out
            for source in self._sources:
                source.compared = False
        await self._following.turn()
        for source in self._sources:
            await self._look_at_list(source, term)
        if self._condition.stopped:
            return None
        async with self._following.ahead() as later:
            await self._mirror.turn(term, self._hub.settings.intake, later)
        await self._checks.turn(term)
        await self._approvals.turn(term)
        await self._deletions.turn(term)
        await self._old.turn()
        self._condition.lifted = ""
        if later:
            return GATHER_S
        return AGAIN_S if self._sources.changed else None

    async def _look_at_list(self, source: Any, term: int) -> None:
        """Hold a new complete list against its predecessors, and the first against the store."""
        informer = source.informer
        if not informer.synced.is_set() or informer.served is not True:
            return
        if informer.relists != source.relists:
            source.relists = informer.relists
            name = f"{informer.api_version}/{informer.kind}"
            await self._condition.note_version(name, informer.resource_version)
        if not source.compared and not self._condition.stopped:
            await self._deletions.compare(source, term)
            source.compared = True

    async def _check(self) -> None:
        now = self._hub.clock.monotonic()
        every_s = STOPPED_S if self._condition.ends_with_its_cause else CHECK_S
        if now - self._checked_at >= every_s:
            self._checked_at = now
            with contextlib.suppress(errors.KubeError):  # it will answer another time
                await self._condition.check(self._client)
        if now - self._retried_at >= RETRY_S:
            self._retried_at = now
            self._mirror.retry_refused()
            with contextlib.suppress(errors.KubeError):
                await self._following.look_for_kinds()

    async def _ask(self) -> float | None:
        """Does the hub cluster answer at all?"""
        await self._condition.ask(self._client)
        return None

    async def _give(self) -> float | None:
        """From the hub to the hub cluster."""
        if self._term() and not self._condition.stopped:
            for uid in self._following.news():
                self._writeback.note(uid)
            await self._writeback.turn()
            await self._events.turn()
        return None

    async def _show(self) -> float | None:
        """Workload objects of Jobs, if they are wanted."""
        if not self._term() or self._condition.stopped:
            return None
        return await self._workloads.turn()

    async def _level_mirrors(self) -> float | None:
        """What came by REST, shown on the hub cluster."""
        if not self._term() or self._condition.stopped:
            return None
        rest = await self._showing.turn()
        await self._condition.note_shown(self._showing.jobs_shown, self._records.extent)
        return rest

    async def _record(self) -> float | None:
        """Records of placements, to be looked at there."""
        if not self._term() or self._condition.stopped:
            return None
        return await self._records.turn()

    def _mirror_seen(self, uid: str) -> None:
        self._showing.seen(uid)
        self._mirrors.wake()

    def _mirror_gone(self, uid: str) -> None:
        self._showing.gone(uid)
        self._mirrors.wake()

    def _appeared(self, uid: str) -> None:
        self._writeback.appeared(uid)
        self._look_at(uid)

    def _look_at(self, uid: str) -> None:
        self._writeback.note(uid)
        self._outward.wake()
        self._show_soon((uid,))

    def _show_soon(self, uids: Iterable[str]) -> None:
        if self._hub.settings.bridge.workloads == "On":
            self._workloads.note(uids)
            self._beside.wake()

    # --- the hub's side -------------------------------------------------------------------------

    async def _follow(self, changes: Any) -> None:
        async for change in changes:
            for kind, keys in change.keys.items():
                if kind in ("workloads", "objects", "clusters"):
                    self._writeback.follow(kind, keys)
                    self._showing.follow(kind, keys)
                if kind == "workloads":
                    self._show_soon(keys)
                    if self._mirror.look_again(keys):  # it may wait by now, and must not start
                        self._inward.wake()
                self._records.follow(kind, keys)
            if touched := change.keys.get("objects"):
                await self._follow_placements(touched)
            if self._mirror.leaving or (self._condition.stopped and "settings" in change.keys):
                self._inward.wake()
            self._outward.wake()
            self._mirrors.wake()
            self._recorder.wake()

    async def _follow_placements(self, uids: Iterable[str]) -> None:
        rows = await self._hub.read(mirrored.object_facts, list(uids))
        for uid in uids:
            if uid not in rows:
                self._following.drop(uid)
        if self._following.learn(rows.values()):
            self._inward.wake()
