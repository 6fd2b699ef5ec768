"""Reads the ClusterQueues that a placement selects. It chooses clusters for the Jobs of these queues."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from hub.domain.quota.declared import EVERYTHING
from shared.documents import JsonView
from shared.groups import KUEUE
from shared.selectors import LabelSelector, read_selector

SELECTING_KIND: Final = "ClusterResourcePlacement"  # a ClusterQueue has no namespace


class QueueSelection(NamedTuple):
    """ClusterQueues by name and by labels."""

    names: frozenset[str] = frozenset()
    selectors: tuple[LabelSelector, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.names or self.selectors)

    def selects(self, name: str, labels: Mapping[str, str]) -> bool:
        """Does the placement select this ClusterQueue?"""
        return name in self.names or any(each.matches(labels) for each in self.selectors)


def read_queue_selection(kind: str, spec: JsonView) -> QueueSelection:
    """The ClusterQueues that a placement of `kind` selects."""
    names, selectors = set[str](), list[LabelSelector]()
    for each in spec.get("resourceSelectors") or () if kind == SELECTING_KIND else ():
        if (each.get("group"), each.get("kind")) != (KUEUE, "ClusterQueue"):
            continue
        if each.get("name"):
            names.add(each["name"])
        else:
            selectors.append(read_selector(each.get("labelSelector")) or EVERYTHING)
    return QueueSelection(frozenset(names), tuple(selectors))
