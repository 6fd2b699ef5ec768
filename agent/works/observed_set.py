"""The observed set of this cluster, and its entries not yet acknowledged by the hub. Pure.

The set has a digest that changes with every entry, so that a lost or doubled message shows. Entries
are sent until the hub has answered a request that carried them.
"""

from collections.abc import Iterable, Iterator

from agent.objects.facts import Object, is_created, is_of_job, is_written_by_us
from agent.objects.holds import is_job_work
from shared.labels import PLACED_BY
from shared.wire.agent_v1 import Observed, Work
from shared.wire.left_objects import LeftObject
from shared.wire.set_digest import SetDigest


def with_origin(entry: Observed, work: Work | None, live: Object | None, hub_id: str) -> Observed:
    """The entry, telling of an applied object whether this hub's agent created it or took it over."""
    if live is not None and work is not None and work.action == "Apply" and not is_job_work(work):
        entry.created = is_created(live, hub_id)
    return entry


def with_left(entry: Observed, live: Object, hub_id: str) -> Observed:
    """The entry of an object that nothing desires, with its kind and name; jobs are reported another way."""
    if not is_of_job(live) and is_written_by_us(live, hub_id):
        metadata = live["metadata"]
        entry.left = LeftObject(
            api_version=live.get("apiVersion") or "",
            kind=live.get("kind") or "",
            namespace=metadata.get("namespace") or "",
            name=metadata["name"],
            created=is_created(live, hub_id),
            placed_by=str((metadata.get("annotations") or {}).get(PLACED_BY) or "")[:320],
        )
    return entry


class ObservedSet:
    """Objects that this agent sees, one entry per uid, and the entries without an acknowledgement."""

    def __init__(self) -> None:
        self.entries: dict[str, Observed] = {}
        self._seq = 0
        self._digest = SetDigest()
        self._unsent: dict[str, None] = {}  # in order of their change

    @property
    def digest(self) -> str:
        return self._digest.hex()

    @property
    def unsent(self) -> int:
        """The number of entries to be sent."""
        return len(self._unsent)

    def put(self, entry: Observed) -> bool:
        """Take in what is seen of one uid; `entry.seq` is set here. True if it is a change."""
        old = self.entries.get(entry.uid)
        if old is not None:
            entry.seq = old.seq
            if entry == old:
                return False
            self._digest.remove(old.digest_line())
        self._seq += 1
        entry.seq = self._seq
        self._digest.add(entry.digest_line())
        self.entries[entry.uid] = entry
        self._unsent.pop(entry.uid, None)
        self._unsent[entry.uid] = None
        return True

    def drop(self, uid: str) -> None:
        """Forget a uid that is neither desired nor there."""
        old = self.entries.pop(uid, None)
        if old is not None:
            self._digest.remove(old.digest_line())
            self._unsent.pop(uid, None)

    def resend(self) -> None:
        """Send everything again."""
        self._unsent = dict.fromkeys(self.entries)

    def page(self, size: int) -> list[Observed]:
        """The entries to send next, the longest waiting first."""
        return [self.entries[uid] for uid in _first(self._unsent, size)]

    def acknowledge(self, sent: Iterable[tuple[str, int]]) -> list[str]:
        """The hub has stored these (uid, seq); returns the uids that have not changed since."""
        settled = []
        for uid, seq in sent:
            entry = self.entries.get(uid)
            if entry is not None and entry.seq == seq:
                self._unsent.pop(uid, None)
                settled.append(uid)
        return settled


def _first(uids: Iterable[str], size: int) -> Iterator[str]:
    for count, uid in enumerate(uids):
        if count >= size:
            return
        yield uid
