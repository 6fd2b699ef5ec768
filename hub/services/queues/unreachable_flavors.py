"""Flavors that no node carries: a typo in `nodeLabels`, found before a job waits for it.

What members report is held against the labels of each flavor, on the leader; what is found is kept as
a setting, and queues that use such a flavor say so in their conditions.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from hub.domain.fleet.clusters import Cluster
from hub.domain.quota.declared import Flavor
from hub.services.queues import conditions as queue_conditions
from hub.store import settings
from hub.store.transaction import Transaction

SETTING: Final = queue_conditions.UNREACHABLE


def unreachable(
    flavors: Iterable[Flavor], clusters: Collection[Cluster], since: Mapping[str, int]
) -> dict[str, str]:
    """Flavors whose labels no node of any member has, and no pool that may grow: name → the labels.

    `since`: the revision of each node label key. While a member's report is older than a key of the
    flavor, or no member has reported at all, nothing is said of it. Pure.
    """
    reporting = [c for c in clusters if c.pools or c.growing]
    if not reporting:
        return {}
    oldest = min(c.pools_revision for c in reporting)
    carried = {frozenset(pool.labels.items()) for c in reporting for pool in c.pools}
    carried |= {frozenset(pool.labels.items()) for c in reporting for pool in c.growing}
    found = {}
    for flavor in flavors:
        known = all(since.get(key, oldest + 1) <= oldest for key, _ in flavor.labels)
        wanted = frozenset(flavor.labels)
        if known and not any(wanted <= labels for labels in carried):
            found[flavor.name] = ", ".join(f"{key}={value}" for key, value in flavor.labels)
    return found


def note(tx: Transaction, found: Mapping[str, str], term: int) -> None:
    """Keep what was found, if it is news, and let queues say it. Raises StaleTerm."""
    tx.require_term(term)
    if (settings.get(tx, SETTING) or {}) != dict(found):
        settings.put(tx, SETTING, dict(found))
        queue_conditions.refresh(tx)
