"""Verdict on an agent's report about its API server: what is stored of it, and whose jobs are not late."""

import datetime as dt
from collections.abc import Mapping
from typing import Final

from hub.services.members.verdicts.plain_text import plain
from hub.store import clusters
from hub.store.records.members import DownSince
from hub.store.transaction import Transaction
from shared.wire.agent_v1 import ApiServerDown

_TOLD: Final = 200  # characters of an agent's reason


def down_view(told: ApiServerDown | None, now: dt.datetime) -> DownSince | None:
    """The stored part of an agent's report. None where the server answers."""
    if told is None:
        return None
    since = now - dt.timedelta(seconds=min(told.down_s, 30 * 86_400.0))
    return {
        "reason": plain(told.reason, _TOLD),
        "since": since.isoformat(timespec="seconds"),
        "cause": told.cause,
    }


def waits_for(
    tx: Transaction, last_down: Mapping[str, dt.datetime], timeout: dt.timedelta
) -> frozenset[str]:
    """Members that are Unhealthy, or were within the last `timeout`: no job there is late yet.

    `last_down`: when a member was found Unhealthy last.
    """
    lately = (name for name, at in last_down.items() if at > tx.now - timeout)
    return frozenset((*clusters.down(tx), *lately))


def unhealthy(tx: Transaction) -> frozenset[str]:
    """Members whose API server serves their agent nothing."""
    return frozenset(clusters.down(tx))
