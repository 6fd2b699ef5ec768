"""Clusters that a job avoids for a while: what could not take or run it, or was lost with it."""

import datetime as dt
from collections.abc import Mapping
from typing import Final

from hub.domain.workloads import refusals

# How long a cluster that could not take or run a job is set aside for it.
SET_ASIDE: Final = dt.timedelta(minutes=5)


def set_aside(
    present: Mapping[str, str] | None, cluster: str, now: dt.datetime, span: dt.timedelta
) -> dict[str, str]:
    """Clusters to avoid, with `cluster` among them until `span` from now; past ones are dropped."""
    forgotten = refusals.forget(present, cluster)
    kept = refusals.standing(present if forgotten is None else forgotten, now)
    kept[cluster] = (now + span).isoformat()
    return kept
