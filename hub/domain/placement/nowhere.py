"""Where workloads go that ask for quota alone: nowhere. They need no room, so there always is some."""

from typing import Final

from hub.domain.placement.cluster_search import Choice

NOWHERE: Final = Choice("", (), (), 0)


class Anywhere:
    """A bid that every cluster, or none, would do for."""

    def place(self, uid: str) -> Choice:
        """No room is taken."""
        return NOWHERE
