"""What a placement says of one cluster: times are those of what is told, not of the telling."""

import datetime as dt
from typing import Any

from hub.domain.placement.status import Item, Picture, Resource, Target, scheduled, status_of
from tests.domain.build import NOW

CONFIG = Resource("", "v1", "ConfigMap", "team", "settings")


def told(item: Item, now: dt.datetime = NOW) -> dict[str, Any]:
    """The status of a placement of one object in one cluster, as far as it is about that cluster."""
    target = Target("north", "picked", (item,))
    picture = Picture("ResourcePlacement", 1, scheduled(1, 1), (target,))
    (found,) = status_of(picture, None, now)["placementStatuses"]
    return dict(found)


def test_a_drift_is_told_with_the_instant_at_which_it_was_seen() -> None:
    """However long afterwards the status is written."""
    drift = {"path": "/data/a", "hub": "1", "member": "2", "first_seen": "2026-01-01T10:00:00Z"}
    item = Item(CONFIG, applied=True, drifts=[drift], observed_at=NOW - dt.timedelta(hours=1))
    (drifted,) = told(item)["driftedPlacements"]
    assert drifted["observationTime"] == "2026-01-01T11:00:00Z"
    assert drifted["firstDriftedObservedTime"] == "2026-01-01T10:00:00Z"
