"""The desired set of this cluster, synchronized with the hub's. Pure.

The set has a digest that changes with every entry, so that a lost or doubled message shows.
"""

from shared.wire.agent_v1 import Desired, DesiredBase, Work
from shared.wire.set_digest import SetDigest


class DesiredSet:
    """The desired set of this cluster, page by page from the hub.

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
        """The agent's report of the objects that it holds."""
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
