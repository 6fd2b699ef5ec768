"""The objects, no Jobs, that this session withdrew by the hub's order: a late copy of one is withdrawn too.

A create without an answer may take effect after the agent has said `Gone`. The hub knows nothing of such an
object any more. This session knows that the hub wanted it removed and has not asked for it since.
"""

from typing import Final

from agent.works.tracked import TrackedWork
from shared.wire.agent_v1 import Work

MOST: Final = 10_000  # the newest


class WithdrawnObjects:
    """Uids of works, the oldest first."""

    def __init__(self) -> None:
        self._uids: dict[str, None] = {}

    def note(self, tracked: TrackedWork, work: Work) -> None:
        """The agent says `Gone` of a work."""
        if work.action != "Withdraw" or tracked.is_job or work.object_uid:
            return  # the decision names one object, and a later one is not in it
        self._uids.pop(work.uid, None)
        self._uids[work.uid] = None
        if len(self._uids) > MOST:
            del self._uids[next(iter(self._uids))]

    def desired(self, work: Work) -> None:
        """Forget a work that the hub asks for again."""
        self._uids.pop(work.uid, None)

    def order(self, tracked: TrackedWork) -> None:
        """Order the removal of an object that nothing desires, if this session withdrew it."""
        live = tracked.seen.live
        if live is not None and tracked.uid in self._uids and not tracked.is_job:
            tracked.seen.ordered = str(live["metadata"].get("uid") or "")
