"""Kinds of jobs that members serve and whose objects their agents may not list: the missing right, named.

Such an agent cannot prove which objects of jobs its member holds: after a restore it accounts for none.
"""

import orjson

from hub.store import clusters
from hub.store.transaction import Transaction

_KEY = "unread_kinds"  # of agent_v1.Capacity


def by_member(tx: Transaction) -> dict[str, list[str]]:
    """Kinds as apiVersion/Kind, sorted, by the names of members that lack the right to any."""
    found = {}
    for name, (capacity, _) in sorted(clusters.get_capacities(tx).items()):
        if _KEY.encode() in capacity and (kinds := orjson.loads(capacity).get(_KEY)):
            found[name] = sorted(map(str, kinds))
    return found


def lacking(kinds: list[str]) -> str:
    """The missing right and the remedy, in a sentence about the agent."""
    return (
        f"its agent's account may not list and watch {', '.join(kinds)}: grant it get, list, watch, create, "
        "patch and delete on these kinds, as the agent's chart does (your own kinds: its value jobKinds), or "
        "remove their CRDs. Before that it "
        "proves nothing of its Jobs after a restore"
    )
