"""Copies that people make of a Job of ours: under another name, with all that says whose it is.

They belong to no work: their fate says nothing of the job. Our finalizer came with the copy, so the agent
removes it when a person deletes the copy.
"""

import asyncio
from dataclasses import replace

from agent.decide.decision import Outcome, Trouble
from agent.member.applier import Applier
from agent.member.observer import Observer
from agent.objects.facts import Object, is_deleting, is_held_by_us, owner_of
from agent.objects.manifests import release_patch
from agent.works.lease import Lease
from agent.works.tracked import TrackedWork
from shared.clock import Clock
from shared.wire.agent_v1 import Work

_RETRY_S = 5.0


def in_the_way(tracked: TrackedWork, outcome: Outcome) -> Outcome:
    """The outcome for a work whose name this one has taken: where this one stays, that is for good."""
    live = tracked.seen.live or {"metadata": {}}
    if tracked.work is not None or live["metadata"].get("uid") != tracked.seen.left:
        return outcome
    text = (
        f"a Job of this name is left over from another incarnation of the hub ({tracked.uid}): it is "
        "left alone until somebody deletes it there"
    )
    return replace(outcome, trouble=Trouble("NameConflict", text), taken_by="")


class Copies:
    """Distinguishes them from the Job that a work means, and releases them."""

    def __init__(
        self, hub_id: str, observer: Observer, applier: Applier, lease: Lease, clock: Clock
    ) -> None:
        self._hub_id, self._observer, self._applier = hub_id, observer, applier
        self._lease, self._clock = lease, clock
        self._deleted: asyncio.Queue[Object] = asyncio.Queue()

    def put_aside(self, tracked: TrackedWork, work: Work) -> None:
        """A work is new: what was seen of its uid before may have been a copy."""
        live = tracked.seen.live
        if live is None or tracked.means(live, work):
            return
        tracked.seen.live = None
        at = (work.api_version, work.kind, work.namespace, work.name)
        meant = self._observer.live(*at)
        if meant is not None and owner_of(meant, self._hub_id) == work.uid:
            tracked.is_here(meant, self._clock.monotonic())

    def seen(self, copy: Object) -> None:
        """A copy is there or changed."""
        if is_deleting(copy) and is_held_by_us(copy):
            self._deleted.put_nowait(copy)

    async def run(self) -> None:
        """Release copies that people delete, until cancelled."""
        while True:
            copy = await self._deleted.get()
            if self._lease.revoked:
                continue
            outcome = await self._applier.release(copy, release_patch(copy))
            if outcome.trouble is not None:
                await self._clock.sleep(_RETRY_S)
                self._deleted.put_nowait(copy)
            elif outcome.live is not None:
                self.seen(outcome.live)
