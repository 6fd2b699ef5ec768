"""The ladder of conditions by which a placement says how far it is, as KubeFleet's. Pure.

Six rungs: Scheduled, RolloutStarted, Overridden, WorkSynchronized, Applied, Available. The first that
is not True ends the ladder, save Overridden: it is False where overrides are left out of account, and
what is sent without them is told of all the same. Clusters are told apart; over clusters Unknown beats
False beats True. The texts are KubeFleet's own, so that its users and their scripts read what they know.

A Job is never claimed available blindly: it is once a pod of it has run, and stays so when it has
succeeded; one that failed is not.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from shared.conditions import Condition, find, is_true, rfc3339, set_condition
from shared.documents import Json, JsonView

Status = Literal["True", "False", "Unknown"]
MOST_DETAILS: Final = 100  # failed or drifted resources named per cluster
MOST_REFUSED: Final = 20  # clusters named that were not picked

NO_OVERRIDES: Final = "No override rules are configured for the selected resources"
NOT_SUPPORTED: Final = "OverridesNotSupported"
MOST_OVERRIDES: Final = 3  # named in a message


class Rung(NamedTuple):
    """One condition without its time."""

    type: str
    status: Status
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Resource:
    """A selected resource, as status names it."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str

    def named(self) -> dict[str, str]:
        """Its identifier; group and namespace only where it has them."""
        told = {
            "group": self.group,
            "version": self.version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
        }
        return {key: value for key, value in told.items() if value}


@dataclass(frozen=True, slots=True)
class Item:
    """One resource in one cluster. `applied`: True, False, or None while that is open."""

    resource: Resource
    applied: bool | None = None
    available: bool | None = None  # None: its kind does not tell
    reason: str = ""  # why not applied, or not available
    message: str = ""
    generation: int = 0  # of the object in the member
    drifts: Sequence[JsonView] = ()  # path, hub, member, first_seen
    observed_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster of a placement: why it was picked, and what stands there."""

    cluster: str
    message: str  # of the decision, with its scores
    items: Sequence[Item] = ()
    reported: Sequence[Json] = ()  # what objects say of themselves there, where it is asked for


@dataclass(frozen=True, slots=True)
class Picture:
    """A placement as it stands. `refused`: cluster → why it was not picked.

    `overrides`: those that name what is selected, and are not carried out.
    """

    prefix: str  # ClusterResourcePlacement | ResourcePlacement
    generation: int
    scheduled: Rung  # type Scheduled, without prefix
    targets: Sequence[Target] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    selected: Sequence[Resource] = ()
    resource_index: int = 0
    overrides: Sequence[str] = ()


def overridden(overrides: Sequence[str]) -> Rung:
    """The rung of overrides: none is carried out, so it is True only where none was asked for."""
    if not overrides:
        return Rung("Overridden", "True", "NoOverrideSpecified", NO_OVERRIDES)
    few = ", ".join(overrides[:MOST_OVERRIDES])
    more = len(overrides) - MOST_OVERRIDES
    few += f" and {more} more" if more > 0 else ""
    text = (
        f"{few}: overrides are stored and not acted on; resources are sent as they are on the hub"
    )
    return Rung("Overridden", "False", NOT_SUPPORTED, text)


def scheduled(found: int, wanted: int | None, why: str = "") -> Rung:
    """The first rung from the number of clusters found; `wanted` None is as many as match."""
    if wanted is None or found >= wanted:
        text = (
            "found all cluster needed as specified by the scheduling policy, "
            f"found {found} cluster(s)"
        )
        return Rung("Scheduled", "True", "SchedulingPolicyFulfilled", text)
    text = (
        "could not find all clusters needed as specified by the scheduling policy, "
        f"found {found} cluster(s) instead of {wanted}"
    )
    if why:
        text = f"{text}: {why}"
    return Rung("Scheduled", "False", "SchedulingPolicyUnfulfilled", text)


def placed_by_queue(found: int, jobs: Sequence[str]) -> Rung:
    """The first rung where Jobs had their cluster before they were selected: no policy chose it."""
    few = ", ".join(jobs[:3]) + (f" and {len(jobs) - 3} more" if len(jobs) > 3 else "")
    text = (
        f"found {found} cluster(s); Job(s) {few} went where their queue's profile put them, before "
        "this placement selected them: its policy did not choose"
    )
    return Rung("Scheduled", "True", "PlacedByQueue", text)


def unscheduled(reason: str, message: str) -> Rung:
    """The first rung of a placement that can not be carried out as it is written."""
    return Rung("Scheduled", "False", reason, message)


def status_of(picture: Picture, before: JsonView | None, now: dt.datetime) -> Json:
    """The status object; times of conditions that did not change are those of `before`."""
    before = before or {}
    old_targets = {each.get("clusterName"): each for each in before.get("placementStatuses") or ()}
    targets = [
        _target_status(target, picture, old_targets.get(target.cluster) or {}, now)
        for target in picture.targets
    ]
    rungs = _whole(picture, targets)
    conditions = _timed(
        [rung._replace(type=picture.prefix + rung.type) for rung in rungs],
        before.get("conditions"),
        picture.generation,
        now,
    )
    kept = [c for c in before.get("conditions") or () if not c["type"].startswith(picture.prefix)]
    status: Json = {
        "conditions": [*conditions, *kept],
        "observedResourceIndex": str(picture.resource_index),
        "placementStatuses": targets + _refusals(picture, before, now),
        "selectedResources": [each.named() for each in picture.selected],
    }
    return status


def became_true(prefix: str, before: JsonView | None, after: JsonView) -> list[str]:
    """The rungs that are True now and were not, in order."""
    old = (before or {}).get("conditions")
    return [
        kind
        for kind in RUNGS
        if is_true(after["conditions"], prefix + kind) and not is_true(old, prefix + kind)
    ]


RUNGS: Final = (
    "Scheduled",
    "RolloutStarted",
    "Overridden",
    "WorkSynchronized",
    "Applied",
    "Available",
)


def _target_status(target: Target, picture: Picture, before: JsonView, now: dt.datetime) -> Json:
    rungs = [
        Rung("Scheduled", "True", "Scheduled", target.message),
        Rung(
            "RolloutStarted",
            "True",
            "RolloutStarted",
            "Detected the new changes on the resources and started the rollout process",
        ),
        overridden(picture.overrides),
        Rung(
            "WorkSynchronized",
            "True",
            "AllWorkSynced",
            "All of the works are synchronized to the latest",
        ),
        _applied(target.items),
    ]
    if rungs[-1].status == "True":
        rungs.append(_available(target.items))
    status: Json = {
        "clusterName": target.cluster,
        "observedResourceIndex": str(picture.resource_index),
        "conditions": _timed(rungs, before.get("conditions"), picture.generation, now),
    }
    refused = [item for item in target.items if item.applied is False]
    short = [item for item in target.items if item.applied and item.available is False]
    known = before.get("failedPlacements") or ()
    failed = [_failure(item, known, now) for item in (*refused, *short)[:MOST_DETAILS]]
    drifted = [_drifted(item, now) for item in target.items if item.drifts]
    if failed:
        status["failedPlacements"] = failed
    if drifted:
        status["driftedPlacements"] = drifted[:MOST_DETAILS]
    if target.reported:
        status["reportedStatuses"] = list(target.reported)[:MOST_DETAILS]
    return status


def _applied(items: Sequence[Item]) -> Rung:
    failed = [item for item in items if item.applied is False]
    waiting = [item for item in items if item.applied is None]
    if failed:
        first = failed[0]
        text = (
            f"{len(failed)} of {len(items)} selected resources could not be applied, first "
            f"{first.resource.kind} {first.resource.name} ({first.reason}): {first.message}"
        )
        return Rung("Applied", "False", "NotAllWorkHaveBeenApplied", text)
    if waiting:
        text = f"{len(waiting)} of {len(items)} selected resources are still to be applied"
        return Rung("Applied", "Unknown", "ApplyInProgress", text)
    text = "All corresponding work objects are applied"
    return Rung("Applied", "True", "AllWorkHaveBeenApplied", text)


def _available(items: Sequence[Item]) -> Rung:
    missing = [item for item in items if item.available is False]
    if missing:
        first = missing[0]
        text = (
            f"{len(missing)} of {len(items)} selected resources are not available yet, first "
            f"{first.resource.kind} {first.resource.name}"
        )
        if first.message:
            text = f"{text}: {first.message}"
        return Rung("Available", "False", "NotAllWorkAreAvailable", text)
    if any(item.available is None for item in items):
        text = "The availability of some resources is not tracked: their kinds do not tell"
        return Rung("Available", "True", "NotAllWorkAreAvailabilityTrackable", text)
    text = "All corresponding work objects are available"
    return Rung("Available", "True", "AllWorkAreAvailable", text)


def _whole(picture: Picture, targets: Sequence[JsonView]) -> list[Rung]:
    """The rungs of the placement itself."""
    rungs = [picture.scheduled]
    count = len(targets)
    if count == 0:
        return rungs
    rungs += [
        Rung(
            "RolloutStarted",
            "True",
            "RolloutStarted",
            f"All {count} cluster(s) start rolling out the latest resource",
        ),
        overridden(picture.overrides),
        Rung(
            "WorkSynchronized",
            "True",
            "WorkSynchronized",
            f"Works(s) are succcesfully created or updated in {count} target cluster(s)' "
            "namespaces",
        ),
    ]
    rungs.append(_sum(targets, "Applied", _APPLIED))
    if rungs[-1].status == "True":
        rungs.append(_sum(targets, "Available", _AVAILABLE))
    return rungs


_APPLIED: Final[Mapping[Status, tuple[str, str]]] = {
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
_AVAILABLE: Final[Mapping[Status, tuple[str, str]]] = {
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


def _sum(
    targets: Sequence[JsonView],
    kind: str,
    words: Mapping[Status, tuple[str, str]],
) -> Rung:
    """One rung over all clusters: Unknown beats False beats True."""
    counts: dict[Status, int] = {"Unknown": 0, "False": 0, "True": 0}
    for target in targets:
        condition = find(target["conditions"], kind)
        counts["Unknown" if condition is None else condition["status"]] += 1
    worst = next(status for status, count in counts.items() if count)
    reason, text = words[worst]
    return Rung(kind, worst, reason, text.format(counts[worst]))


def _refusals(picture: Picture, before: JsonView, now: dt.datetime) -> list[Json]:
    """Clusters that were not picked; named only while clusters are missing."""
    if picture.scheduled.status == "True":
        return []
    old = {each.get("clusterName"): each for each in before.get("placementStatuses") or ()}
    return [
        {
            "clusterName": cluster,
            "observedResourceIndex": str(picture.resource_index),
            "conditions": _timed(
                [Rung("Scheduled", "False", "ScheduleFailed", message)],
                (old.get(cluster) or {}).get("conditions"),
                picture.generation,
                now,
            ),
        }
        for cluster, message in list(picture.refused.items())[:MOST_REFUSED]
    ]


def _failure(item: Item, before: Sequence[JsonView], now: dt.datetime) -> Json:
    """A resource that is not applied, or is and is not available, and why."""
    named = item.resource.named()
    old = next(
        (each for each in before if {key: each.get(key) for key in named} == named),
        {},
    )
    rung = Rung("Applied", "False", item.reason or "ManifestApplyFailed", item.message)
    if item.applied:
        text = item.message or "it is not available yet"
        rung = Rung("Available", "False", item.reason or "ManifestNotAvailableYet", text)
    condition = _timed([rung], [old["condition"]] if old else [], item.generation, now)[0]
    return {**named, "condition": condition}


def _drifted(item: Item, now: dt.datetime) -> Json:
    first = min(str(each["first_seen"]) for each in item.drifts)
    return {
        **item.resource.named(),
        "firstDriftedObservedTime": first,
        "observationTime": rfc3339(item.observed_at or now),
        "targetClusterObservedGeneration": item.generation,
        "observedDrifts": [
            {
                "path": each["path"],
                **({"valueInHub": each["hub"]} if each.get("hub") is not None else {}),
                **({"valueInMember": each["member"]} if each.get("member") is not None else {}),
            }
            for each in list(item.drifts)[:MOST_DETAILS]
        ],
    }


def _timed(
    rungs: Sequence[Rung],
    before: Sequence[Condition] | None,
    generation: int,
    now: dt.datetime,
) -> list[Condition]:
    """Conditions in the order of the rungs."""
    made: list[Condition] = []
    for rung in rungs:
        old = find(before, rung.type)
        known = [dict(old)] if old is not None else []
        made += set_condition(
            known, rung.type, rung.status, rung.reason, rung.message, now, generation
        )
    return made
