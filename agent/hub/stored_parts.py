"""Parts of a capacity report that are left out while they are as the hub has stored them."""

from agent.member.namespace_watch import NamespaceWatch
from agent.member.observer import Observer
from shared.wire.agent_v1 import Capacity
from shared.wire.consent import ConsentReport


class StoredParts:
    """Kinds and consent, as the hub has acknowledged them."""

    def __init__(self) -> None:
        self._kinds: list[str] | None = None
        self._consent: ConsentReport | None = None

    def fill(self, capacity: Capacity, observer: Observer, watch: NamespaceWatch) -> None:
        """Add the parts that have changed."""
        if observer.kinds and observer.kinds != self._kinds:
            capacity.kinds = observer.kinds
        if (consent := watch.told()) != self._consent:
            capacity.consent = consent

    def acknowledge(self, capacity: Capacity | None) -> None:
        """The hub has stored this report."""
        if capacity is None:
            return
        self._kinds = self._kinds if capacity.kinds is None else capacity.kinds
        self._consent = self._consent if capacity.consent is None else capacity.consent

    def forget(self) -> None:
        """The hub wants everything again."""
        self._kinds = self._consent = None
