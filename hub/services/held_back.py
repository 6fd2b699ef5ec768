"""Workloads that wait and can not be considered: by uid, and how many by LocalQueue.

Part of the scheduler's index. There may be as many as there are jobs, so nobody counts them when asked.
"""

from collections import Counter
from collections.abc import ItemsView, Mapping
from dataclasses import dataclass

Door = tuple[str, str]  # namespace and name of a LocalQueue


@dataclass(frozen=True, slots=True)
class HeldBack:
    """One of them: why, and what its row says."""

    namespace: str
    queue: str
    reason: str
    message: str

    @property
    def door(self) -> Door:
        """The LocalQueue that it waits before."""
        return self.namespace, self.queue or "default"


class Aside:
    """All of them."""

    def __init__(self) -> None:
        self._rows: dict[str, HeldBack] = {}
        self._doors: Counter[Door] = Counter()

    def __contains__(self, uid: object) -> bool:
        return uid in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, uid: str, held: HeldBack) -> None:
        """It waits, for this reason."""
        self.drop(uid)
        self._rows[uid] = held
        self._doors[held.door] += 1

    def drop(self, uid: str) -> None:
        """It waits no longer, or is in line."""
        held = self._rows.pop(uid, None)
        if held is not None:
            self._doors[held.door] -= 1
            if not self._doors[held.door]:
                del self._doors[held.door]

    def get(self, uid: str) -> HeldBack | None:
        """Why one is held back; None if it is not."""
        return self._rows.get(uid)

    def items(self) -> ItemsView[str, HeldBack]:
        """By uid."""
        return self._rows.items()

    def by_door(self) -> Mapping[Door, int]:
        """How many wait before each LocalQueue."""
        return self._doors
