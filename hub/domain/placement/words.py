"""A placement's status in KubeFleet's words: rungs over all clusters, and how objects differ. Pure."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Final

from shared.conditions import rfc3339
from shared.documents import Json, JsonView

MOST_DETAILS: Final = 100  # failed or differing resources named per cluster, and fields of each

APPLIED: Final[Mapping[str, tuple[str, str]]] = {
    "True": ("ApplySucceeded", "The selected resources are successfully applied to {} cluster(s)"),
    "False": (
        "ApplyFailed",
        "Failed to apply resources to {} cluster(s), please check the `failedPlacements` status",
    ),
    "Unknown": (
        "ApplyPending",
        "There are still {} cluster(s) in the process of applying the selected resources",
    ),
}
AVAILABLE: Final[Mapping[str, tuple[str, str]]] = {
    "True": ("ResourceAvailable", "The selected resources in {} cluster(s) are available now"),
    "False": (
        "ResourceNotAvailableYet",
        "The selected resources in {} cluster(s) are still not available yet",
    ),
    "Unknown": (
        "ResourceAvailableUnknown",
        "The availability of the selected resources in {} cluster(s) is not known yet",
    ),
}
REPORTED: Final[Mapping[str, tuple[str, str]]] = {
    "True": (
        "DiffReportingCompleted",
        "Differences have been reported from {} cluster(s), see the `diffedPlacements` status",
    ),
    "False": (
        "DiffReportingIncompleteOrFailed",
        "Failed to compare resources in {} cluster(s), please check the `failedPlacements` status",
    ),
    "Unknown": (
        "DiffReportingPending",
        "There are still {} cluster(s) that have not compared the selected resources",
    ),
}


def bare(value: object) -> object:
    """A reported value as KubeFleet shows it: a string without the quotes of JSON, which agents report."""
    if not isinstance(value, str) or not value.startswith('"'):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value  # it was cut


def _value(name: str, value: object) -> Json:
    return {} if value is None else {name: bare(value)}


def differing(
    named: Mapping[str, str],
    found: Sequence[JsonView],
    at: dt.datetime,
    generation: int,
    *,
    diff: bool = False,
) -> Json:
    """One resource that differs in a cluster: as a drift, or as a `diff` of what was only compared.

    `found`: path, hub, member and first_seen of each field; `generation`: of the object there, 0: unknown.
    """
    word = "Diff" if diff else "Drift"
    told: Json = {
        **named,
        f"first{'Diffed' if diff else 'Drifted'}ObservedTime": min(
            str(each["first_seen"]) for each in found
        ),
        "observationTime": rfc3339(at),
        "targetClusterObservedGeneration": generation,
        f"observed{word}s": [
            {
                "path": each["path"],
                **_value("valueInHub", each.get("hub")),
                **_value("valueInMember", each.get("member")),
            }
            for each in list(found)[:MOST_DETAILS]
        ],
    }
    if diff and not generation:
        del told["targetClusterObservedGeneration"]
    return told
