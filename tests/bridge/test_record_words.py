"""What records say, by tables: names that fit, digests that times do not change, parts of bounded size."""

import dataclasses
import datetime as dt
from typing import Any

import orjson
import pytest

from hub.bridge import record_words
from hub.bridge.record_words import namespace_of, object_of, records_of
from hub.bridge.record_works import applied, work_status
from hub.services.mirror.records import PlacementFacts
from hub.store.records.placements import Binding, BoundBinding, StoredRevision
from hub.store.records.works import Work
from shared.groups import PLACEMENT
from tests.store.build import START, an_object

LATER = START + dt.timedelta(hours=1)


def facts(**given: Any) -> PlacementFacts:
    row = an_object(
        "p", api_group=PLACEMENT, kind="ClusterResourcePlacement", name="web", namespace=""
    )
    return PlacementFacts(row, **given)


def revision(number: int, *objects: list[Any]) -> StoredRevision:
    content = {"selected": [], "objects": list(objects)}
    return StoredRevision(number, f"hash-{number}", content, START)


def test_names_of_namespaces_fit():
    """A member's name may take all that a name may."""
    assert namespace_of("east") == "fleet-member-east"
    long = namespace_of("e" * 63)
    assert len(long) <= 63
    assert long != namespace_of("e" * 62 + "f")


def test_bindings_name_what_they_are_of():
    """State, scores, snapshots; before anything was given a binding is Scheduled, and left, Unscheduled."""
    binding = Binding("p", "east", True, 30, 1, "Scheduled", "picked", "h", "4")
    some = [
        BoundBinding(binding, START),
        BoundBinding(binding._replace(cluster="south", resource_snapshot=""), START),
        BoundBinding(binding._replace(cluster="west", selected=False), START),
    ]
    policy = StoredRevision(2, "h", {"placementType": "PickAll"}, START)
    found = [
        r for r in records_of(facts(bound=some, policies=[policy]), ()) if "Binding" in r.key.kind
    ]
    assert [each.body["spec"]["state"] for each in found] == ["Bound", "Scheduled", "Unscheduled"]
    first = found[0].body["spec"]
    assert first["schedulingPolicySnapshotName"] == "web-2"
    assert first["resourceSnapshotName"] == "web-4-snapshot"
    assert first["clusterDecision"]["clusterScore"] == {"affinityScore": 30, "priorityScore": 1}


def test_what_is_large_comes_in_parts():
    """Each below the limit, all with the same hash and how many there are; an object is never divided."""
    manifest = {"kind": "ConfigMap", "data": {"x": "y" * 300_000}}
    entries = [[f"u{n}", f"h{n}", 1, "v1", "ConfigMap", "a", f"c{n}"] for n in range(5)]
    given = facts(
        resources=[revision(3, *entries)], contents={f"h{n}": manifest for n in range(5)}
    )
    parts = [each for each in records_of(given, ()) if each.key.kind == "ClusterResourceSnapshot"]
    assert [each.name for each in parts] == ["web-3-snapshot", "web-3-0", "web-3-1"]
    assert all(len(orjson.dumps(each.body)) < record_words.PART_BYTES + 1000 for each in parts)
    assert {
        each.annotations["kubernetes-fleet.io/number-of-resource-snapshots"] for each in parts
    } == {"3"}
    assert [each for each in records_of(given, (3,)) if "Resource" in each.key.kind] == []


POD = {"containers": [{"name": "c", "env": [{"name": "PASSWORD", "value": "hunter2"}]}]}


@pytest.mark.parametrize(
    "manifest",
    [
        {"kind": "Secret", "data": {"password": "hunter2"}},
        {"kind": "Secret", "stringData": {"password": "hunter2"}},
        {"kind": "Pod", "spec": POD},
        {"kind": "Deployment", "spec": {"template": {"spec": POD}}},
        {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"template": {"spec": POD}}}}},
        {"kind": "ConfigMap", "status": {"seen": "hunter2"}},
    ],
    ids="-".join,
)
def test_a_snapshot_shows_nothing_secret(manifest: dict[str, Any]):
    """A snapshot hides contents of Secrets and values of variables, and has no status."""
    whole = {"apiVersion": "v1", "metadata": {"name": "one", "namespace": "team"}, **manifest}
    some = facts(resources=[revision(0, ["u", "h"])], contents={"h": whole})
    (found,) = [r for r in records_of(some, ()) if "ResourceSnapshot" in r.key.kind]
    (told,) = found.body["spec"]["selectedResources"]
    assert (told["kind"], told["metadata"]["name"]) == (manifest["kind"], "one")
    assert "hunter2" not in str(found)


def a_work(**given: Any) -> Work:
    values: dict[str, Any] = {
        "cluster": "east", "uid": "u", "epoch": 0, "generation": 1, "api_version": "v1",
        "kind": "ConfigMap", "namespace": "a", "name": "c", "action": "Apply", "hash": "h",
        "options": None, "placed_by": "p", "offered": True, "seen": True, "phase": "Applied",
        "observed_generation": 1, "observed": None, "drift": None, "reason": "", "message": "",
        "available": True, "observed_at": START, "created_at": START, "content": "c",
    }  # fmt: skip
    return Work(**{**values, **given})


@pytest.mark.parametrize(
    ("given", "there"),
    [
        ({}, True),
        ({"observed_generation": 0}, None),
        ({"phase": "Waiting"}, None),
        ({"phase": ""}, None),
        ({"phase": "Failed"}, False),
        ({"phase": "Missing"}, False),
        ({"phase": "Gone", "epoch": 2}, True),
        ({"phase": "Gone"}, None),
    ],
)
def test_whether_it_is_there(given: dict[str, Any], there: bool | None):
    """By what its agent said of this generation; a Job that has ended was."""
    assert applied(a_work(**given)) is there


@pytest.mark.parametrize(
    ("works", "told"),
    [
        ([{}], [("Applied", "AllManifestsApplied"), ("Available", "AllManifestsAvailable")]),
        ([{"available": None}], [("Applied", "AllManifestsApplied"), ("Available", "WorkNotTrackable")]),
        (
            [{}, {"available": False}],
            [("Applied", "AllManifestsApplied"), ("Available", "SomeManifestsAreNotAvailable")],
        ),
        ([{}, {"phase": "Failed"}], [("Applied", "SomeManifestsAreNotApplied")]),
        ([{}, {"phase": ""}], [("Applied", "ApplyPending")]),
        ([{"action": "Compare"}], [("DiffReported", "AllManifestsDiffReported")]),
        (
            [{"action": "Withdraw"}, {}],
            [("Applied", "AllManifestsApplied"), ("Available", "AllManifestsAvailable")],
        ),
    ],
)  # fmt: skip
def test_a_work_sums_up_what_it_has(works: list[dict[str, Any]], told: list[tuple[str, str]]):
    """The worst of it, with the first that is short; what is being taken back is none of it."""
    status = work_status([a_work(**each) for each in works])
    assert [(each["type"], each["reason"]) for each in status["conditions"]] == told


def test_times_alone_change_no_digest():
    """What was said again later is written no more; what changed keeps the times of what did not."""
    one, other = (
        next(
            r
            for r in records_of(facts(works=[a_work(observed_at=at)]), ())
            if r.key.kind == "Work"
        )
        for at in (START, LATER)
    )
    assert one.digest == other.digest
    (changed,) = (
        r for r in records_of(facts(works=[a_work(available=None)]), ()) if r.key.kind == "Work"
    )
    assert changed.digest != one.digest
    before = object_of(one, "d", (), START)["status"]["conditions"]
    after = object_of(changed, "e", before, LATER)["status"]["conditions"]
    assert [each["lastTransitionTime"] for each in after] == [before[0]["lastTransitionTime"]] * 2


def test_a_placement_that_goes_has_what_is_still_taken_back():
    """Its revisions are shown no more."""
    going = dataclasses.replace(
        facts(resources=[revision(0)], works=[a_work(action="Withdraw")]),
        row=facts().row._replace(deleted_at=START),
    )
    assert [each.key.kind for each in records_of(going, ())] == ["Work"]
