"""The list that is shown before a removal equals its outcome in the member, on a real agent.

Namespaces in member `m1`: `mine` is its people's and has consent; the agent created `fresh`, `full`, into
which its people put a ConfigMap, and `shared`, with an object of another placement and a Job of a queue.
"""

from typing import Any

import pytest

from roadstead.models.removal import MemberRemoval
from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.kubectl, pytest.mark.timeout(400)]
SPACES = ("mine", "fresh", "full", "shared")
HUB = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: mine}
data: {color: green}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: theirs, namespace: mine}
data: {color: green}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: shared}
data: {color: green}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: spaces}
spec:
  resourceSelectors:
  - {group: "", version: v1, kind: Namespace, name: mine}
  - {group: "", version: v1, kind: Namespace, name: fresh}
  - {group: "", version: v1, kind: Namespace, name: full}
  - {group: "", version: v1, kind: Namespace, name: shared, selectionScope: NamespaceOnly}
  policy: {placementType: PickAll}
  strategy: {applyStrategy: {whenToTakeOver: Always}}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: other, namespace: shared}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: kept}]
  policy: {placementType: PickAll}
"""
THEIRS = """
apiVersion: v1
kind: Namespace
metadata: {name: mine}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: theirs, namespace: mine}
data: {color: red}
"""
IN_FULL = """
apiVersion: v1
kind: ConfigMap
metadata: {name: secret-of-theirs, namespace: full}
"""


def read(fleet: RunningFleet, resource: str, name: str, namespace: str = "") -> Any:
    """An object of the member, {} where there is none."""
    return fleet.find(resource, name, namespace, cluster="m1")


def fates(member: MemberRemoval) -> dict[str, str]:
    """`Kind/namespace/name` → fate."""
    return {f"{o.kind}/{o.namespace}/{o.name}".replace("//", "/"): o.fate for o in member.objects}


def expected(namespace_full: str) -> dict[str, str]:
    return {
        "Namespace/mine": "Released",
        "ConfigMap/mine/settings": "Deleted",
        "ConfigMap/mine/theirs": "Released",
        "Namespace/fresh": "DeletedIfEmpty",
        "Namespace/full": namespace_full,
        "Namespace/shared": "Left",
        "ConfigMap/shared/kept": "Left",
        "Job/shared/train": "Left",
    }


def marked(found: Any) -> bool:
    return "roadstead.dev/managed-by" in (found["metadata"].get("labels") or {})


@pytest.fixture
def fleet(tmp_path):
    with running_fleet(tmp_path, equal_members(1, nodes=2), packed=True) as running:
        prepare(running)
        yield running


def prepare(fleet: RunningFleet) -> None:
    """The placements are applied, the Job runs, and the agent has reported what it created."""
    for space in SPACES:
        fleet.cli(
            "apply",
            "-f",
            "-",
            stdin=f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {space}}}}}",
        )
    done = fleet.kubectl("apply", "-f", "-", cluster="m1", stdin=THEIRS)
    assert done.returncode == 0, done.stderr
    with fleet.client() as hub:
        job = hub.submit(a_job("train", namespace="shared", run_s=600))
        until(lambda: hub.job(job.uid).state == "Running", 60, "the Job runs")
        hub_id = read(fleet, "jobs.v1.batch", "train", "shared")["metadata"]["labels"][
            "roadstead.dev/managed-by"
        ]
        done = fleet.kubectl(
            "label", "namespace", "mine", f"roadstead.dev/accept={hub_id}", cluster="m1"
        )
        assert done.returncode == 0, done.stderr
        applied = fleet.cli("apply", "-f", "-", stdin=HUB)
        assert applied.returncode == 0, applied.stdout + applied.stderr
        until(lambda: marked_all(fleet), 60, "everything is applied")
        done = fleet.kubectl("apply", "-f", "-", cluster="m1", stdin=IN_FULL)
        assert done.returncode == 0, done.stderr


def marked_all(fleet: RunningFleet) -> bool:
    found = [
        read(fleet, "configmaps.v1", *each)
        for each in (
            ("settings", "mine"),
            ("theirs", "mine"),
            ("kept", "shared"),
        )
    ]
    found += [read(fleet, "namespaces.v1", each) for each in SPACES]
    return all(each and marked(each) for each in found)


def test_what_a_deletion_announces_is_what_happens(fleet: RunningFleet):
    """`delete --dry-run` and the deletion's own answer agree with what then happens in the member."""
    with fleet.client() as hub:
        group = "placement.kubernetes-fleet.io"

        def announced() -> MemberRemoval | None:
            (member,) = hub.delete_object(
                "ClusterResourcePlacement", "spaces", group=group, dry_run=True
            ).members
            return None if member.not_reported else member

        member = until(announced, 30, "all is reported")
        assert member is not None
        assert fates(member) == expected("Left")
        assert (member.deleted, member.released, member.left) == (1, 2, 4)
        (full,) = [each for each in member.objects if each.name == "full"]
        assert list(full.inside) == ["ConfigMap/secret-of-theirs"]
        shown = fleet.cli("delete", "placement", "spaces", "--dry-run")
        assert "Job shared/train  Left" in shown.stdout + shown.stderr
        (done,) = hub.delete_object("ClusterResourcePlacement", "spaces", group=group).members
        assert fates(done) == expected("DeletedIfEmpty")
        until(
            lambda: not read(fleet, "namespaces.v1", "fresh"), 60, "the empty namespace is deleted"
        )
        until(
            lambda: not marked(read(fleet, "namespaces.v1", "mine")),
            60,
            "the namespace is released",
        )
        assert not read(fleet, "configmaps.v1", "settings", "mine")
        theirs = read(fleet, "configmaps.v1", "theirs", "mine")
        assert (theirs["data"], marked(theirs)) == ({"color": "green"}, False)
        assert read(fleet, "configmaps.v1", "secret-of-theirs", "full")
        assert read(fleet, "configmaps.v1", "kept", "shared")
        assert hub.job("shared/train").state == "Running"
        kept = until(
            lambda: [e for e in hub.events() if e.reason == "NamespaceKept"], 30, "it is said"
        )
        assert "secret-of-theirs" in kept[0].message
