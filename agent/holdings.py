"""The two sets that hub and agent keep level: what is desired, and what is observed. Pure.

Each has a digest that changes with every entry, so that a lost or doubled message shows. Observed
entries are sent until the hub has answered a request that carried them.
"""

from collections.abc import Iterable, Iterator

from shared.wire.agent_v1 import Desired, DesiredBase, Observed, SetDigest, Work


class DesiredSet:
    """What this cluster should hold, page by page as the hub sends it.

    A full set that comes in several pages replaces the old one only when its last page is there:
    until then nothing is forgotten that may still be on a later page.
    """

    def __init__(self) -> None:
        self.works: dict[str, Work] = {}
        self._revision = 0
        self._digest = SetDigest()
        self._unlisted: set[str] | None = None  # not on any page of a full set so far

    @property
    def base(self) -> DesiredBase:
        """What to tell the hub that we hold."""
        return DesiredBase(revision=self._revision, digest=self._digest.hex())

    def take(self, desired: Desired) -> tuple[list[Work], list[str]]:
        """Take in a reply; returns the works that are new or changed, and uids no longer desired.

        A digest that does not match afterwards makes us ask for the whole set next.
        """
        if desired.full:
            self._unlisted = set(self.works)
        changed = [work for work in desired.works if self._put(work)]
        gone = [uid for uid in desired.removed if self._drop(uid)]
        self._revision = desired.revision
        if not desired.more:
            gone += [uid for uid in self._unlisted or () if self._drop(uid)]
            self._unlisted = None
            if desired.digest != self._digest.hex():
                self.distrust()
        return changed, gone

    def distrust(self) -> None:
        """Ask for the whole set next time."""
        self._revision = 0

    def _put(self, work: Work) -> bool:
        if self._unlisted is not None:
            self._unlisted.discard(work.uid)
        old = self.works.get(work.uid)
        if old is not None:
            self._digest.remove(old.digest_line())
        self._digest.add(work.digest_line())
        self.works[work.uid] = work
        return old != work

    def _drop(self, uid: str) -> bool:
        old = self.works.pop(uid, None)
        if old is None:
            return False
        self._digest.remove(old.digest_line())
        return True


class ObservedSet:
    """What this agent sees, one entry per uid, and which entries the hub has not acknowledged."""

    def __init__(self) -> None:
        self.entries: dict[str, Observed] = {}
        self._seq = 0
        self._digest = SetDigest()
        self._unsent: dict[str, None] = {}  # in order of their change

    @property
    def digest(self) -> str:
        return self._digest.hex()

    @property
    def has_news(self) -> bool:
        """Whether something is to be sent."""
        return bool(self._unsent)

    @property
    def unsent(self) -> int:
        """How many entries are to be sent."""
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
        """Send everything anew."""
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
