"""Kueue's kinds written in v1beta1 on the hub cluster: read in v1beta2's names, and changed in either's."""

from pathlib import Path
from typing import Any

import pytest

from hub.store import objects, workloads
from tests.bridge.guide import apply_guide
from tests.bridge.hub_cluster import FIELDS, World, until, world

pytestmark = pytest.mark.anyio
CLASS = {"priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass", "priority": 3}
PODS = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
POD_SET = {"name": "main", "count": 1, "template": PODS}


def a_load(name: str) -> dict[str, Any]:
    return {**CLASS, "priorityClassName": name, "queueName": "local-queue", "podSets": [POD_SET]}


# Written first, written then, and where the second shows in v1beta2.
CASES = {
    "ClusterQueue": ({"cohort": "a"}, {"cohort": "b"}, ("cohortName",), "b"),
    "Workload": (a_load("low"), a_load("high"), ("priorityClassRef", "name"), "high"),
    "AdmissionCheck": (
        {"controllerName": "example.com/a", "retryDelayMinutes": 1},
        {"controllerName": "example.com/a", "retryDelayMinutes": 2},
        ("controllerName",),
        "example.com/a",
    ),
    "MultiKueueCluster": (
        {"kubeConfig": {"location": "north", "locationType": "Secret"}},
        {"kubeConfig": {"location": "south", "locationType": "Secret"}},
        ("clusterSource", "kubeConfig", "location"),
        "south",
    ),
}


async def written(it: World, kind: str, spec: dict[str, Any]) -> Any:
    namespace = {"namespace": "compute-jobs"} if kind == "Workload" else {}
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": kind,
        "metadata": {"name": "old", **namespace},
        "spec": spec,
    }
    await it.kube.apply(manifest, field_manager=FIELDS, force=True)
    place = (kind, namespace.get("namespace", ""), "old")
    return (await it.kube.get("kueue.x-k8s.io/v1beta2", *place))["spec"]


@pytest.mark.parametrize("kind", CASES)
async def test_what_is_written_in_old_names_is_read_in_new_ones(tmp_path: Path, kind: str):
    """Once, again unchanged, and changed; the hub has it, and no old name is left."""
    first, then, path, shown = CASES[kind]
    async with world(tmp_path) as it:
        await apply_guide(it, last=5)
        once = await written(it, kind, first)
        assert await written(it, kind, first) == once
        changed = await written(it, kind, then)
        assert not {*first} & {"cohort", "priorityClassName", "kubeConfig"} & {*changed}
        assert "retryDelayMinutes" not in changed
        found: Any = changed
        for name in path:
            found = found[name]
        assert found == shown

        async def taken() -> bool:
            return await it.hub.hub.read(_is_known, kind)

        await until(taken)


async def test_an_old_name_that_is_taken_out_goes(tmp_path: Path):
    """A queue applied without its cohort leaves it, on the hub cluster and in the hub."""
    async with world(tmp_path) as it:
        await apply_guide(it, last=5)
        assert (await written(it, "ClusterQueue", {"cohort": "a"}))["cohortName"] == "a"
        assert "cohortName" not in await written(it, "ClusterQueue", {})

        async def left() -> bool:
            return await it.hub.hub.read(_is_alone)

        await until(left)


async def test_who_reads_an_old_version_finds_its_names(tmp_path: Path):
    """By get and list, so that a manifest in these names is seen to be unchanged; a merge patch
    that takes the old name out, as kubectl sends it, takes the queue out of its cohort.
    """
    async with world(tmp_path) as it:
        await apply_guide(it, last=5)
        await written(it, "ClusterQueue", {"cohort": "a"})
        place = ("kueue.x-k8s.io/v1beta1", "ClusterQueue", "")
        old = await it.kube.get(*place, "old")
        listed = next(
            each
            for each in (await it.kube.list(*place)).items
            if each["metadata"]["name"] == "old"
        )
        for shown in (old, listed):
            assert shown["spec"]["cohort"] == "a"
            assert "cohortName" not in shown["spec"]

        async def patched(cohort: str | None) -> Any:
            body = {"spec": {"cohort": cohort}}
            return await it.kube.merge_patch(*place, "old", body, field_manager="kubectl")

        same = await patched("a")
        assert same["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
        await patched(None)
        spec = (await it.kube.get("kueue.x-k8s.io/v1beta2", *place[1:], "old"))["spec"]
        assert not {"cohort", "cohortName"} & {*spec}


def _is_alone(unit: Any) -> bool:
    row = objects.find(unit, "kueue.x-k8s.io", "ClusterQueue", "", "old")
    return row is not None and "cohort" not in str(row.spec)


def _is_known(unit: Any, kind: str) -> bool:
    if kind == "Workload":
        place = ("compute-jobs", "old")
        return place in workloads.live_by_name(unit, [place], kind)
    return objects.find(unit, "kueue.x-k8s.io", kind, "", "old") is not None
