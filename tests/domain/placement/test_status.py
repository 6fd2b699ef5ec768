"""A placement's ladder of conditions: which rung it stands on, in KubeFleet's words, and since when."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from hub.domain.placement.rungs import placed_by_queue, scheduled, unscheduled
from hub.domain.placement.status import (
    MOST_REFUSED,
    RUNGS,
    Item,
    Picture,
    Resource,
    Target,
    became_true,
    status_of,
)
from hub.domain.placement.words import MOST_DETAILS
from shared.conditions import rfc3339
from shared.documents import Json
from tests.domain.build import NOW

PREFIX = "ClusterResourcePlacement"
LATER = NOW + dt.timedelta(minutes=1)
MAP = Resource("", "v1", "ConfigMap", "ns", "map")
ROLE = Resource("rbac", "v1", "ClusterRole", "", "role")
DONE = Item(MAP, applied=True, available=True)


def a_picture(*targets: Target, **given: Any) -> Picture:
    given = {"scheduled": scheduled(len(targets), None), "generation": 3, **given}
    return Picture(PREFIX, targets=targets, **given)


def on(*items: Item, cluster: str = "c") -> Target:
    return Target(cluster, "picked", items)


def told(conditions: Any) -> dict[str, tuple[str, str]]:
    """Type without prefix → status and reason, in order."""
    return {c["type"].removeprefix(PREFIX): (c["status"], c["reason"]) for c in conditions}


def of_target(*items: Item, before: Mapping[str, Any] | None = None) -> Json:
    """The status of the only target."""
    status = status_of(a_picture(on(*items)), before, NOW)
    found: Json = status["placementStatuses"][0]
    return found


def message(conditions: Any, kind: str) -> str:
    return next(str(c["message"]) for c in conditions if c["type"].removeprefix(PREFIX) == kind)


@pytest.mark.parametrize(
    ("found", "wanted", "status"), [(0, None, "True"), (2, 2, "True"), (3, 2, "True"), (1, 2, "False")]
)  # fmt: skip
def test_scheduled_once_as_many_are_found_as_are_wanted(
    found: int, wanted: int | None, status: str
) -> None:
    """More than wanted is enough; where no number is wanted any will do, none too."""
    rung = scheduled(found, wanted)
    assert rung.status == status
    assert f"found {found} cluster(s)" in rung.message


def test_what_is_missing_is_told_with_why() -> None:
    """Both numbers, and the reason where there is one."""
    text = (
        "could not find all clusters needed as specified by the scheduling policy, "
        "found 1 cluster(s) instead of 2"
    )
    assert scheduled(1, 2).message == text
    assert scheduled(1, 2, "one is cordoned").message == f"{text}: one is cordoned"
    assert scheduled(1, 2).reason == "SchedulingPolicyUnfulfilled"


@pytest.mark.parametrize(
    ("jobs", "named"),
    [("a", "a"), ("abc", "a, b, c"), ("abcd", "a, b, c and 1 more")],
)
def test_jobs_that_had_their_cluster_before_are_named(jobs: str, named: str) -> None:
    """Three at most."""
    rung = placed_by_queue(2, list(jobs))
    assert f"found 2 cluster(s); Job(s) {named} went where" in rung.message
    assert (rung.status, rung.reason) == ("True", "PlacedByQueue")


def test_the_ladder_of_a_cluster_ends_at_the_first_rung_that_is_not_true() -> None:
    """Nothing is said of what is available before all is applied."""
    conditions = of_target(DONE, Item(ROLE))["conditions"]
    assert list(told(conditions)) == list(RUNGS[:5])
    assert told(conditions)["Applied"] == ("Unknown", "ApplyInProgress")
    assert message(conditions, "Applied") == "1 of 2 selected resources are still to be applied"


@pytest.mark.parametrize(
    ("items", "applied"),
    [
        ([], ("True", "AllWorkHaveBeenApplied")),
        ([DONE], ("True", "AllWorkHaveBeenApplied")),
        ([DONE, Item(MAP)], ("Unknown", "ApplyInProgress")),
        ([Item(MAP), Item(MAP, applied=False)], ("False", "NotAllWorkHaveBeenApplied")),
    ],
)
def test_applied_fails_before_it_waits(items: list[Item], applied: tuple[str, str]) -> None:
    """In one cluster one failure is told even where others are still under way."""
    assert told(of_target(*items)["conditions"])["Applied"] == applied


def test_a_failure_is_told_with_its_resource_and_reason() -> None:
    """How many of how many, and the first of them; each is listed by its identifier."""
    failed = Item(ROLE, applied=False, reason="Denied", message="not yours", generation=7)
    status = of_target(DONE, failed)
    assert message(status["conditions"], "Applied") == (
        "1 of 2 selected resources could not be applied, first ClusterRole role (Denied): not yours"
    )
    (listed,) = status["failedPlacements"]
    condition = listed.pop("condition")
    assert listed == {"group": "rbac", "version": "v1", "kind": "ClusterRole", "name": "role"}
    assert (condition["type"], condition["status"]) == ("Applied", "False")
    assert (condition["reason"], condition["observedGeneration"]) == ("Denied", 7)


def test_a_failure_without_reason_has_kubefleets() -> None:
    """ManifestApplyFailed."""
    (listed,) = of_target(Item(MAP, applied=False))["failedPlacements"]
    assert listed["condition"]["reason"] == "ManifestApplyFailed"


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([DONE], ("True", "AllWorkAreAvailable")),
        ([DONE, Item(MAP, True)], ("True", "NotAllWorkAreAvailabilityTrackable")),
        ([Item(MAP, True), Item(MAP, True, False)], ("False", "NotAllWorkAreAvailable")),
    ],
)  # fmt: skip
def test_available_by_what_kinds_tell(items: list[Item], expected: tuple[str, str]) -> None:
    """What is not available goes before what can not be told."""
    assert told(of_target(*items)["conditions"])["Available"] == expected


def test_what_is_not_available_is_named() -> None:
    """With its message where it has one."""
    missing = Item(MAP, applied=True, available=False)
    plain = "1 of 1 selected resources are not available yet, first ConfigMap map"
    assert message(of_target(missing)["conditions"], "Available") == plain
    said = Item(MAP, applied=True, available=False, message="0 of 1 pods ready")
    assert message(of_target(said)["conditions"], "Available") == f"{plain}: 0 of 1 pods ready"


def test_what_is_not_available_is_listed_after_what_could_not_be_applied() -> None:
    """Each by its own condition; without a reason it has KubeFleet's."""
    short = Item(MAP, applied=True, available=False, reason="NotBound", message="no volume")
    plain = Item(MAP, applied=True, available=False)
    refused = Item(ROLE, applied=False, message="no")
    listed = [each["condition"] for each in of_target(short, plain, refused)["failedPlacements"]]
    assert [(each["type"], each["reason"], each["message"]) for each in listed] == [
        ("Applied", "ManifestApplyFailed", "no"),
        ("Available", "NotBound", "no volume"),
        ("Available", "ManifestNotAvailableYet", "it is not available yet"),
    ]
    assert "failedPlacements" not in of_target(DONE, Item(MAP, applied=True), Item(ROLE))


def test_drift_is_told_with_both_values() -> None:
    """Since the earliest instant at which any was seen; a value that is not there is left out."""
    drifts = [
        {"path": "/b", "hub": 1, "member": 2, "first_seen": "2026-01-01T11:00:00Z"},
        {"path": "/a", "hub": None, "member": 0, "first_seen": "2026-01-01T10:00:00Z"},
    ]
    item = Item(MAP, applied=True, available=True, generation=4, drifts=drifts)
    (listed,) = of_target(item)["driftedPlacements"]
    assert listed["firstDriftedObservedTime"] == "2026-01-01T10:00:00Z"
    assert listed["observationTime"] == rfc3339(NOW)
    assert listed["targetClusterObservedGeneration"] == 4
    assert listed["observedDrifts"] == [
        {"path": "/b", "valueInHub": 1, "valueInMember": 2},
        {"path": "/a", "valueInMember": 0},
    ]


def test_a_drift_is_observed_when_the_agent_saw_it() -> None:
    """Not when its status is written."""
    drifts = [{"path": "/a", "first_seen": "2026-01-01T10:00:00Z"}]
    item = Item(MAP, True, True, drifts=drifts, observed_at=NOW - dt.timedelta(seconds=9))
    (listed,) = of_target(item)["driftedPlacements"]
    assert listed["observationTime"] == "2026-01-01T11:59:51Z"


def test_lists_of_details_are_bounded() -> None:
    """A hundred failures, a hundred drifts, a hundred paths of each; the first of them."""
    drifts = [{"path": f"/{n}", "first_seen": "x"} for n in range(MOST_DETAILS + 1)]
    item = Item(MAP, applied=False, drifts=drifts)
    status = of_target(*[item] * (MOST_DETAILS + 1))
    assert len(status["failedPlacements"]) == MOST_DETAILS
    assert len(status["driftedPlacements"]) == MOST_DETAILS
    paths = [each["path"] for each in status["driftedPlacements"][0]["observedDrifts"]]
    assert paths == [f"/{n}" for n in range(MOST_DETAILS)]


def test_without_clusters_the_placement_stands_on_its_first_rung() -> None:
    """Nothing is rolled out to nobody."""
    assert told(status_of(a_picture(), None, NOW)["conditions"]) == {
        "Scheduled": ("True", "SchedulingPolicyFulfilled")
    }


APPLIED = Item(MAP, applied=True, available=True)
OPEN, FAILED = Item(MAP), Item(MAP, applied=False)
UNAVAILABLE = Item(MAP, applied=True, available=False)


@pytest.mark.parametrize(
    ("items", "kind", "reason", "number"),
    [
        ([APPLIED, APPLIED], "Available", "ResourceAvailable", 2),
        ([APPLIED, UNAVAILABLE], "Available", "ResourceNotAvailableYet", 1),
        ([APPLIED, FAILED, FAILED], "Applied", "ApplyFailed", 2),
        ([APPLIED, FAILED, OPEN], "Applied", "ApplyPending", 1),
    ],
)
def test_over_clusters_unknown_beats_false_beats_true(
    items: list[Item], kind: str, reason: str, number: int
) -> None:
    """The worst of all clusters is told, with how many stand so; it ends the ladder."""
    targets = [on(each, cluster=f"c{n}") for n, each in enumerate(items)]
    conditions = status_of(a_picture(*targets), None, NOW)["conditions"]
    assert list(told(conditions))[-1] == kind
    assert told(conditions)[kind][1] == reason
    assert f" {number} cluster(s)" in message(conditions, kind)


def test_over_clusters_the_second_rung_counts_targets() -> None:
    """All clusters that were picked start at once."""
    conditions = status_of(a_picture(on(DONE), on(DONE, cluster="d")), None, NOW)["conditions"]
    assert message(conditions, "RolloutStarted").startswith("All 2 cluster(s) start")
    assert "in 2 target cluster(s)" in message(conditions, "WorkSynchronized")


def test_times_move_only_with_their_status() -> None:
    """What stands as before keeps its time, of the placement, of a cluster and of a failure."""
    picture = a_picture(on(FAILED), on(OPEN, cluster="d"))
    first = status_of(picture, None, NOW)
    again = status_of(picture, first, LATER)
    assert again == first
    applied = a_picture(on(FAILED), on(APPLIED, cluster="d"))
    last = status_of(applied, first, LATER)
    times = {c["type"]: c["lastTransitionTime"] for c in last["conditions"]}
    assert times[f"{PREFIX}Scheduled"] == rfc3339(NOW)
    assert times[f"{PREFIX}Applied"] == rfc3339(LATER)
    kept, moved = last["placementStatuses"]
    assert kept == first["placementStatuses"][0]
    assert moved["conditions"][-2]["lastTransitionTime"] == rfc3339(LATER)


def test_a_failure_of_another_resource_has_a_time_of_its_own() -> None:
    """Times are those of the same resource."""
    first = status_of(a_picture(on(FAILED)), None, NOW)
    both = a_picture(on(Item(ROLE, applied=False), FAILED))
    listed = status_of(both, first, LATER)["placementStatuses"][0]["failedPlacements"]
    times = [each["condition"]["lastTransitionTime"] for each in listed]
    assert times == [rfc3339(LATER), rfc3339(NOW)]


def test_conditions_of_others_are_kept_and_older_rungs_are_not() -> None:
    """Whatever does not bear the placement's prefix is somebody else's."""
    other = {"type": "Paused", "status": "True"}
    gone = {"type": f"{PREFIX}Available", "status": "True"}
    before = {"conditions": [gone, other]}
    conditions = status_of(a_picture(), before, NOW)["conditions"]
    assert [c["type"] for c in conditions] == [f"{PREFIX}Scheduled", "Paused"]


def test_who_was_not_picked_is_named_only_while_clusters_are_missing() -> None:
    """At most twenty, each with its reason, after those that were picked."""
    refused = {f"r{n}": f"why {n}" for n in range(MOST_REFUSED + 1)}
    missing = a_picture(on(DONE), refused=refused, scheduled=scheduled(1, 2), resource_index=5)
    listed = status_of(missing, None, NOW)["placementStatuses"]
    names = [each["clusterName"] for each in listed]
    assert names == ["c", *(f"r{n}" for n in range(MOST_REFUSED))]
    assert listed[0]["observedResourceIndex"] == "5"
    assert "observedResourceIndex" not in listed[1]  # it has no version
    (condition,) = listed[1]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "ScheduleFailed")
    assert condition["message"] == "why 0"
    found = a_picture(on(DONE), refused=refused)
    assert len(status_of(found, None, NOW)["placementStatuses"]) == 1


def test_a_cluster_is_listed_once() -> None:
    """One that was not picked and holds a Job that its queue placed there: as what it holds."""
    refused = {"c": "why c"} | {f"r{n}": f"why {n}" for n in range(MOST_REFUSED)}
    picture = a_picture(on(DONE), refused=refused, scheduled=scheduled(1, 2))
    listed = status_of(picture, None, NOW)["placementStatuses"]
    names = [each["clusterName"] for each in listed]
    assert names == ["c", *(f"r{n}" for n in range(MOST_REFUSED))]
    assert told(listed[0]["conditions"])["Scheduled"] == ("True", "Scheduled")


def test_since_when_a_cluster_is_not_picked() -> None:
    """The time of its refusal stays while it is refused."""
    picture = a_picture(refused={"r": "why"}, scheduled=unscheduled("Odd", "as written"))
    first = status_of(picture, None, NOW)
    assert status_of(picture, first, LATER) == first


def test_what_is_selected_is_named() -> None:
    """Group and namespace only where there are any; the index is text."""
    status = status_of(a_picture(selected=[MAP, ROLE], resource_index=2), None, NOW)
    assert status["selectedResources"] == [
        {"version": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "map"},
        {"group": "rbac", "version": "v1", "kind": "ClusterRole", "name": "role"},
    ]
    assert status["observedResourceIndex"] == "2"


def test_which_rungs_became_true() -> None:
    """Those that are now and were not, in order; of a new placement all that are."""
    waits = status_of(a_picture(on(OPEN)), None, NOW)
    done = status_of(a_picture(on(DONE)), waits, NOW)
    assert became_true(PREFIX, waits, done) == ["Applied", "Available"]
    assert became_true(PREFIX, None, waits) == list(RUNGS[:4])
    assert became_true(PREFIX, done, waits) == []


COMPARED = Item(MAP, applied=True)
DIFF = {"path": "/data/a", "hub": '"1"', "first_seen": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("items", "whole", "one"),
    [
        ([COMPARED], ("True", "DiffReportingCompleted"), ("True", "AllWorkHaveDiffReported")),
        (
            [COMPARED, Item(ROLE)],
            ("Unknown", "DiffReportingPending"),
            ("Unknown", "DiffReportInProgress"),
        ),
        (
            [COMPARED, Item(ROLE), Item(MAP, applied=False, message="no")],
            ("False", "DiffReportingIncompleteOrFailed"),
            ("False", "NotAllWorkHaveDiffReported"),
        ),
    ],
)
def test_what_is_only_compared_says_so_in_place_of_applied(items, whole, one):
    """One rung, DiffReported, after WorkSynchronized; the first failure is named."""
    status = status_of(a_picture(Target("a", "m", items), compares=True), None, NOW)
    for conditions, prefix, last in (
        (status["conditions"], PREFIX, whole),
        (status["placementStatuses"][0]["conditions"], "", one),
    ):
        told = conditions[-1]
        assert [c["type"] for c in conditions[-2:]] == [
            f"{prefix}WorkSynchronized",
            f"{prefix}DiffReported",
        ]
        assert (told["status"], told["reason"]) == last
    assert (
        "ConfigMap map: no" in status["placementStatuses"][0]["conditions"][-1]["message"]
    ) is (whole[0] == "False")


def test_how_it_differs_is_told_as_diffs():
    """In diffedPlacements, with a generation where there is an object; nothing of it is drift."""
    there = Item(ROLE, applied=True, drifts=(DIFF,), generation=7)
    absent = Item(MAP, applied=True, drifts=({**DIFF, "path": "/"},), observed_at=LATER)
    picture = a_picture(Target("a", "m", [there, absent]), compares=True)
    (target,) = status_of(picture, None, NOW)["placementStatuses"]
    assert "driftedPlacements" not in target
    first, second = target["diffedPlacements"]
    assert first["targetClusterObservedGeneration"] == 7
    assert second == {
        **MAP.named(),
        "firstDiffedObservedTime": "2026-01-01T00:00:00Z",
        "observationTime": rfc3339(LATER),
        "observedDiffs": [{"path": "/", "valueInHub": "1"}],
    }
    assert target["conditions"][-1]["message"].endswith("2 of 2 differ")
