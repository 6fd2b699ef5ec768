"""A member from its row and its last report: the one place that reads reports, and survives bad ones."""

from collections.abc import Mapping
from typing import Any

import orjson

from hub.domain.fleet.clusters import Cluster, cluster_from_rows

Row = dict[str, Any]


def is_fenced(row: Mapping[str, Any]) -> bool:
    """Was the member written off? An agent of its had a session, and no agent is joined any more."""
    return row["joined_at"] is None and row["session_at"] is not None


def read_member(
    row: Mapping[str, Any],
    capacity: bytes | None,
    key_revisions: Mapping[str, int] | None = None,
) -> tuple[Row | None, Cluster]:
    """What the agent reported, and the cluster as it follows.

    A report that can not be read counts as none: it must not hide other members, and the next one
    replaces it. `key_revisions`: since which revision nodes are grouped by each label key.
    """
    try:
        told = None if capacity is None else orjson.loads(capacity)
        return told, cluster_from_rows(row, told, None, key_revisions)
    except Exception:  # noqa: BLE001 - one unreadable report must not stop the others
        return None, cluster_from_rows(row, None)
