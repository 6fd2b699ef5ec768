"""Members that are heard no more, and heard again: told once each, as events of their MemberClusters."""

import datetime as dt
from collections.abc import Collection, Mapping
from typing import Final

from hub.domain.instants import stamp
from hub.store import clusters
from hub.store.transaction import Transaction

SILENT: Final = "MemberClusterSilent"
HEARD: Final = "MemberClusterHeard"


def tell(
    tx: Transaction, silent: Mapping[str, dt.datetime | None], heard: Collection[str], term: int
) -> None:
    """Say of those that have fallen silent when they were last heard, and of others that they are back.

    Raises StaleTerm.
    """
    tx.require_term(term)
    for name, at in sorted(silent.items()):
        since = "never" if at is None else stamp(at.replace(microsecond=0))
        text = f"its agent has not been heard since {since}: nothing new goes there"
        _say(tx, name, SILENT, text, warning=True)
    for name in sorted(heard):
        _say(tx, name, HEARD, "its agent is heard again", warning=False)


def _say(tx: Transaction, name: str, reason: str, message: str, *, warning: bool) -> None:
    member = clusters.get(tx, name)
    if member is None:
        return
    tx.event(
        uid=member.object,
        kind="MemberCluster",
        namespace="",
        name=name,
        type="Warning" if warning else "Normal",
        reason=reason,
        message=message,
    )
