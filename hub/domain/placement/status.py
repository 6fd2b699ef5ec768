"""The ladder of conditions by which a placement says how far it is, as KubeFleet's. Pure.

Six rungs: Scheduled, RolloutStarted, Overridden, WorkSynchronized, Applied, Available; of what is only
compared, DiffReported in place of the last two. The first that
is not True ends the ladder, save Overridden where it is False for overrides that name Jobs: what is sent
without them is told of all the same. Each cluster has its own conditions; over clusters Unknown beats
False beats True. The texts are KubeFleet's own, so that its users and their scripts read what they know.

A Job is never claimed available blindly: it is once a pod of it has run, and stays so when it has
succeeded; one that failed is not.
"""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hub.domain.placement.rungs import (
    Rung,
    Status,
    all_begun,
    all_overridden,
    applicable,
    begun,
    given_by_run,
    given_by_runs,
    not_accepted,
    overridden,
    timed,
)
from hub.domain.placement.words import (
    APPLIED,
    AVAILABLE,
    MOST_DETAILS,
    REPORTED,
    differing,
)
from shared.conditions import find, is_true
from shared.documents import Json, JsonView

MOST_REFUSED: Final = 20  # clusters named that were not picked


@dataclass(frozen=True, slots=True)
class Resource:
    """A selected resource, as status names it. `envelope`: that it lies in: kind/namespace/name."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str
    envelope: str = ""

    def named(self) -> Json:
        """Its identifier; group, namespace and envelope only where it has them."""
        told = {
            "group": self.group,
            "version": self.version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "envelope": envelope_named(self.envelope),
        }
        return {key: value for key, value in told.items() if value}


def envelope_named(envelope: str) -> Json:
    """An envelope as status names it; {} for ""."""
    if not envelope:
        return {}
    kind, namespace, name = envelope.split("/")
    return {"name": name, "type": kind} | ({"namespace": namespace} if namespace else {})


@dataclass(frozen=True, slots=True)
class Item:
    """One resource in one cluster. `applied` (or compared): True, False, or None while that is open."""

    resource: Resource
    applied: bool | None = None
    available: bool | None = None  # None: its kind does not tell
    reason: str = ""  # why not applied, or not available
    message: str = ""
    generation: int = 0  # of the object in the member
    drifts: Sequence[JsonView] = ()  # how it differs: path, hub, member, first_seen
    observed_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster of a placement: the reason of the pick, and the state of its objects."""

    cluster: str
    message: str  # of the decision, with its scores
    items: Sequence[Item] = ()
    index: str = ""  # of the version that it was given; "": none yet
    held: str = ""  # why it is not the newest, in words
    closed: str = ""  # why its member takes nothing new
    fault: str = ""  # why overrides make nothing of the newest
    overrides: Sequence[JsonView] = ()  # of what it was given: kind, namespace, name, generation
    reported: Sequence[Json] = ()  # statuses of objects there, if requested


@dataclass(frozen=True, slots=True)
class Picture:
    """A placement as it stands. `refused`: cluster → why it was not picked.

    `left_out`: overrides that name Jobs, which are sent as they are. `compares`: nothing is
    applied, how the objects differ is reported. `driven`: staged update runs alone give versions, and
    which of them does so now, in words.
    """

    prefix: str  # ClusterResourcePlacement | ResourcePlacement
    generation: int
    scheduled: Rung  # type Scheduled, without prefix
    targets: Sequence[Target] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    selected: Sequence[Resource] = ()
    resource_index: int = 0
    left_out: Sequence[str] = ()
    compares: bool = False
    driven: str | None = None
    unaccepted: Collection[str] = ()  # of `refused`, those that miss it for want of consent
    leftovers: Sequence[str] = ()  # objects still to be withdrawn, and why they are not


def status_of(
    picture: Picture,
    before: JsonView | None,
    now: dt.datetime,
    changed: Collection[str] | None = None,
) -> Json:
    """The status object; times of conditions that did not change are those of `before`.

    `changed`: the clusters whose targets differ from those that `before` was made of; None: any may.
    """
    before = before or {}
    old_targets = {each.get("clusterName"): each for each in before.get("placementStatuses") or ()}
    targets = [
        dict(old_targets[target.cluster])
        if changed is not None and target.cluster not in changed
        else _target_status(target, picture, old_targets.get(target.cluster) or {}, now)
        for target in picture.targets
    ]
    rungs = _whole(picture, targets)
    conditions = timed(
        [rung._replace(type=picture.prefix + rung.type) for rung in rungs],
        before.get("conditions"),
        picture.generation,
        now,
    )
    kept = [c for c in before.get("conditions") or () if not c["type"].startswith(picture.prefix)]
    return {
        "conditions": [*conditions, *kept],
        "observedResourceIndex": _observed_index(picture),
        "placementStatuses": targets + _refusals(picture, before, now),
        "selectedResources": [each.named() for each in picture.selected],
    }


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
    "DiffReported",
)


def _target_status(target: Target, picture: Picture, before: JsonView, now: dt.datetime) -> Json:
    rungs = [Rung("Scheduled", "True", "Scheduled", target.message), _begun(target, picture)]
    started = rungs[-1].status == "True"
    if started:
        rungs.append(overridden(target.fault, target.overrides, picture.left_out))
    if started and not target.fault:
        rungs += [
            Rung(
                "WorkSynchronized",
                "True",
                "AllWorkSynced",
                "All of the works are synchronized to the latest",
            ),
            _reported(target.items) if picture.compares else _applied(target.items),
        ]
        if rungs[-1].status == "True" and not picture.compares:
            rungs.append(_available(target.items))
    if target.closed:
        rungs.append(not_accepted(target.closed))
    status: Json = {
        "clusterName": target.cluster,
        "observedResourceIndex": target.index or _unless_by_runs(picture),
        "conditions": timed(rungs, before.get("conditions"), picture.generation, now),
    }
    status |= applicable(target.overrides)
    refused = [item for item in target.items if item.applied is False]
    short = [item for item in target.items if item.applied and item.available is False]
    known = before.get("failedPlacements") or ()
    failed = [_failure(item, known, now) for item in (*refused, *short)[:MOST_DETAILS]]
    differ = [
        differing(
            item.resource.named(),
            item.drifts,
            item.observed_at or now,
            item.generation,
            diff=picture.compares,
        )
        for item in target.items
        if item.drifts
    ]
    if failed:
        status["failedPlacements"] = failed
    if differ:
        kind = "diffedPlacements" if picture.compares else "driftedPlacements"
        status[kind] = differ[:MOST_DETAILS]
    if target.reported:
        status["reportedStatuses"] = list(target.reported)[:MOST_DETAILS]
    return status


def _observed_index(picture: Picture) -> str:
    """The version that clusters have; "" where runs gave them different ones, or none."""
    if picture.driven is None:
        return str(picture.resource_index)
    indexes = {each.index for each in picture.targets if _by_runs(each)}
    return indexes.pop() if len(indexes) == 1 else ""


def _unless_by_runs(picture: Picture) -> str:
    return "" if picture.driven is not None else str(picture.resource_index)


def _by_runs(target: Target) -> bool:
    """Is it for runs to give it something? If it holds only a Job, it is not."""
    return bool(target.index) or not target.items


def _begun(target: Target, picture: Picture) -> Rung:
    """True if a cluster received the newest version; with runs, any version."""
    if picture.driven is not None and _by_runs(target):
        return given_by_run(target.index, picture.driven)
    return begun(target.index, target.held, target.closed)


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
    return Rung(
        "Applied", "True", "AllWorkHaveBeenApplied", "All corresponding work objects are applied"
    )


def _reported(items: Sequence[Item]) -> Rung:
    failed = [item for item in items if item.applied is False]
    left = failed or [item for item in items if item.applied is None]
    if left:
        text = f"{len(left)} of {len(items)} selected resources have not been compared"
        if left[0].message:
            first = left[0]
            text = f"{text}, first {first.resource.kind} {first.resource.name}: {first.message}"
        if failed:
            return Rung("DiffReported", "False", "NotAllWorkHaveDiffReported", text)
        return Rung("DiffReported", "Unknown", "DiffReportInProgress", text)
    count = sum(bool(item.drifts) for item in items)
    text = f"All selected resources have been compared: {count} of {len(items)} differ"
    return Rung("DiffReported", "True", "AllWorkHaveDiffReported", text)


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
        text = "The availability of some resources is not tracked: their kinds do not report it"
        return Rung("Available", "True", "NotAllWorkAreAvailabilityTrackable", text)
    return Rung(
        "Available", "True", "AllWorkAreAvailable", "All corresponding work objects are available"
    )


def _whole(picture: Picture, targets: Sequence[JsonView]) -> list[Rung]:
    """The rungs of the placement itself."""
    rungs, count = [picture.scheduled], len(targets)
    if count == 0:
        return rungs
    rungs.append(_all_begun(picture))
    if rungs[-1].status != "True":
        return rungs
    faults = {each.cluster: each.fault for each in picture.targets if each.fault}
    changed = sum(bool(each.overrides) for each in picture.targets)
    rungs.append(all_overridden(faults, changed, picture.left_out))
    if any(each.fault for each in picture.targets):
        return rungs
    rungs += [
        Rung(
            "WorkSynchronized",
            "True",
            "WorkSynchronized",
            f"Works(s) are succcesfully created or updated in {count} target cluster(s)' "
            "namespaces",
        ),
    ]
    if picture.compares:
        return [*rungs, _sum(targets, "DiffReported", REPORTED)]
    rungs.append(_sum(targets, "Applied", APPLIED))
    if rungs[-1].status == "True":
        rungs.append(_sum(targets, "Available", AVAILABLE))
    return rungs


def _all_begun(picture: Picture) -> Rung:
    left = f"; still to be withdrawn: {'; '.join(picture.leftovers)}" if picture.leftovers else ""
    indexes = [each.index for each in picture.targets if _by_runs(each)]
    if picture.driven is not None and indexes:
        return given_by_runs(indexes, str(picture.resource_index), picture.driven, left)
    waits = [each for each in picture.targets if each.held]
    waits.sort(key=lambda each: bool(each.closed))
    held = [(each.cluster, each.held) for each in waits]
    closed = sum(bool(each.closed) for each in waits)
    return all_begun(len(picture.targets), held, closed, left)


def _sum(targets: Sequence[JsonView], kind: str, words: Mapping[str, tuple[str, str]]) -> Rung:
    """One rung over all clusters: Unknown beats False beats True."""
    counts: dict[Status, int] = {"Unknown": 0, "False": 0, "True": 0}
    for target in targets:
        condition = find(target["conditions"], kind)
        counts["Unknown" if condition is None else condition["status"]] += 1
    worst = next(status for status, count in counts.items() if count)
    reason, text = words[worst]
    return Rung(kind, worst, reason, text.format(counts[worst]))


def _refusals(picture: Picture, before: JsonView, now: dt.datetime) -> list[Json]:
    """Clusters that were not picked; named only while clusters are missing, or for want of consent.

    One that holds a Job all the same, which its queue placed there, is listed once: as a target.
    """
    targets = {each.cluster for each in picture.targets}
    if picture.scheduled.status == "True":
        targets |= picture.refused.keys() - set(picture.unaccepted)
    refused = [each for each in picture.refused.items() if each[0] not in targets]
    old = {each.get("clusterName"): each for each in before.get("placementStatuses") or ()}
    return [
        {
            "clusterName": cluster,
            "conditions": timed(
                [Rung("Scheduled", "False", "ScheduleFailed", message)],
                (old.get(cluster) or {}).get("conditions"),
                picture.generation,
                now,
            ),
        }
        for cluster, message in refused[:MOST_REFUSED]
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
    condition = timed([rung], [old["condition"]] if old else [], item.generation, now)[0]
    return {**named, "condition": condition}
