"""A placement's status in KubeFleet's words: rungs over all clusters, and how objects differ. Pure."""

import datetime as dt
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
                **({"valueInHub": each["hub"]} if each.get("hub") is not None else {}),
                **({"valueInMember": each["member"]} if each.get("member") is not None else {}),
            }
            for each in list(found)[:MOST_DETAILS]
        ],
    }
    if diff and not generation:
        del told["targetClusterObservedGeneration"]
    return told
