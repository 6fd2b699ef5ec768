"""A job that names its clusters and selects by labels that none of them has: no member could ever take it.

What is not there now may come, labelled as it should be, and is waited for. Members that are there are
what the job names, and its own selector excludes them.
"""

from collections.abc import Mapping

from hub.domain.fleet.clusters import labels_of
from hub.domain.workloads.demand import CLUSTER_SELECTOR, CLUSTERS
from hub.services.reading.draft import Draft
from hub.store import clusters
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.selectors import parse_selector


class Contradictions:
    """Judges the Jobs of one transaction; members are read once, if any Job says both."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._labels: dict[str, Mapping[str, str]] | None = None  # by member

    def refuse(self, given: Draft) -> Rejected | None:
        """The reason why a Job is invalid, or None. Code: Contradiction."""
        annotations = given.parsed.annotations
        named, text = annotations.get(CLUSTERS), annotations.get(CLUSTER_SELECTOR)
        if not named or not text:
            return None
        try:
            selector = parse_selector(text, CLUSTER_SELECTOR)
        except Rejected:
            return None  # said where it is read: by REST here, from elsewhere while it waits
        wanted = [name.strip() for name in named.split(",") if name.strip()]
        if self._labels is None:
            self._labels = {
                each.name: labels_of(each.name, each.labels)
                for each in clusters.list_all(self._tx)
            }
        labels = self._labels
        excluded = [n for n in wanted if n in labels and not selector.matches(labels[n])]
        if not wanted or len(excluded) < len(wanted):
            return None
        what = ", ".join(wanted[:5])
        words = f"{CLUSTERS} names {what}, and {CLUSTER_SELECTOR} excludes them: change either"
        field = f"metadata.annotations[{CLUSTER_SELECTOR}]"
        return Rejected(RejectCode.CONTRADICTION, words, field)
