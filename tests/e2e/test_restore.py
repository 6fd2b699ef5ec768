"""A backup that was taken while jobs run is restored: none is lost, none runs twice, none is invisible."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.restoring import in_members, restore, run, states
from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(300)]
KNOWN, LATER = 12, 6
RUN_S = 45


PLACED = """
apiVersion: v1
kind: ConfigMap
metadata: {name: removed, namespace: team-a, labels: {late: "yes"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: abandoned, namespace: team-a, labels: {late: "yes"}}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: late, namespace: team-a}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, labelSelector: {matchLabels: {late: "yes"}}}]
  policy: {placementType: PickFixed, clusterNames: [m1]}
"""


def in_m1(fleet: RunningFleet) -> dict[str, dict[str, str]]:
    """The ConfigMaps that were placed in the lost time, each with its labels."""
    done = fleet.kubectl("-n", "team-a", "get", "configmaps", "-o", "json", cluster="m1")
    found = [each["metadata"] for each in json.loads(done.stdout)["items"]]
    return {each["name"]: each.get("labels") or {} for each in found if "late" in str(each)}


def decide_about_objects(fleet: RunningFleet) -> None:
    """One is removed by its uid; then the rest of the placement is abandoned."""
    until(lambda: len(leftovers(fleet).objects) == 2, 60, "what the hub does not know is listed")
    left = {each.name: each for each in leftovers(fleet).objects}
    assert {name: (each.cluster, each.created) for name, each in left.items()} == {
        "removed": ("m1", True),
        "abandoned": ("m1", True),
    }
    told = run(fleet, "admin", "remove", "--cluster", "m1", "--dry-run")
    assert "2 object(s) would be decided" in told
    run(fleet, "admin", "remove", left["removed"].object_uid)
    told = run(fleet, "admin", "abandon", left["abandoned"].object_uid)
    assert "Released: an administrator abandons it" in told
    until(lambda: not leftovers(fleet).objects, 60, "the decisions are carried out")
    assert in_m1(fleet) == {"abandoned": {"late": "yes"}}


def leftovers(fleet: RunningFleet) -> Any:
    with fleet.client() as hub:
        told = hub.restored()
    return told if not told.awaited else None


def test_a_backup_taken_while_jobs_run_is_restored_without_a_second_start(tmp_path: Path) -> None:
    """What ran goes on as the same Jobs; what was started since is adopted, or removed, by decision."""
    known = {f"known-{i}" for i in range(KNOWN)}
    later = {f"later-{i}" for i in range(LATER)}
    with running_fleet(tmp_path, equal_members(2)) as fleet:
        with fleet.client() as hub:
            hub.submit_many([a_job(name, run_s=RUN_S) for name in sorted(known)])
            released = hub.submit(a_job("released", run_s=RUN_S))
            hub.hold(released.uid)
            until(lambda: list(states(fleet).values()).count("Running") == KNOWN, 60, "all run")
            file = tmp_path / "backup"
            assert "rows" in run(fleet, "admin", "backup", str(file))
            hub.release(released.uid)
            hub.submit_many([a_job(name, run_s=RUN_S) for name in sorted(later)])
            (tmp_path / "late.yaml").write_text(PLACED)
            run(fleet, "apply", "-f", str(tmp_path / "late.yaml"))
            until(lambda: len(in_m1(fleet)) == 2, 60, "the objects are placed")
            wanted = KNOWN + LATER + 1
            until(lambda: list(states(fleet).values()).count("Running") == wanted, 60, "all run")
        before = in_members(fleet)
        restore(fleet, file)

        told = until(lambda: leftovers(fleet), 60, "both members have been heard")
        seen = until(
            lambda: found if len(found := leftovers(fleet).items) > LATER else None,
            60,
            "what is left is listed before anything is accepted",
        )
        assert told.stopped
        assert {each.uid for each in seen} == {
            uid for name in {*later, "released"} for _, _, uid in before[name]
        }
        assert states(fleet)["released"] == "Held"
        removed = before["later-0"][0]
        run(fleet, "admin", "adopt", released.uid)
        unknown = before["later-1"][0][2]
        until(lambda: fleet.cli("admin", "adopt", unknown).returncode == 0, 30, "it is adopted")
        run(fleet, "admin", "forget", removed[2])
        run(fleet, "restored", "--accept")
        decide_about_objects(fleet)

        ended = {*known, "released", "later-1"}
        until(
            lambda: all(states(fleet)[name] == "Succeeded" for name in ended),
            RUN_S + 60,
            f"all that the hub knows have ended: {states(fleet)}",
        )
        until(lambda: "later-0" not in in_members(fleet), 60, "what was forgotten is gone")
        after = in_members(fleet)
        assert {name: after[name] for name in ended} == {name: before[name] for name in ended}
        assert all(len(where) == 1 for where in after.values())
        assert {name: after.get(name) for name in later - {"later-0"}} == {
            name: before[name] for name in later - {"later-0"}
        }
