"""roadstead.dev/per-object: a placement of any policy gives each Job a cluster of its own."""

from pathlib import Path

import pytest

from hub.domain.workloads.placement_policy import Policy
from hub.domain.workloads.states import State
from hub.services.placements.place_jobs import one_cluster
from hub.store import objects, placed_jobs, workloads
from shared.clock import ManualClock
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds import parse
from shared.labels import PER_OBJECT
from tests.services.placements.stored import CONFIGS, JOBS, a_placement, fill, with_status
from tests.store.build import START, a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
EACH = {PER_OBJECT: "true"}
THREE: Json = {"placementType": "PickN", "numberOfClusters": 3}


@pytest.mark.parametrize(
    ("policy", "without", "with_it"),
    [
        (Policy(), False, True),
        (Policy("PickN", 1), True, True),
        (Policy("PickN", 3), False, True),
        (Policy("PickN", 0), False, False),
        (Policy("PickFixed", cluster_names=("a", "b")), False, True),
        (Policy("PickFixed", cluster_names=("a",)), True, True),
        (Policy("PickFixed"), False, False),
    ],
)
def test_every_policy_picks_one_cluster_for_each_job(policy: Policy, without: bool, with_it: bool):
    """Save those that are scaled to no cluster; without the annotation only those for one."""
    assert (one_cluster(policy), one_cluster(policy, per_object=True)) == (without, with_it)


def test_it_is_true_or_false():
    """Another value is refused where somebody is there to mend it."""
    metadata = {"name": "p", "namespace": "a", "annotations": {PER_OBJECT: "yes"}}
    select = {"group": "batch", "version": "v1", "kind": "Job", "name": "j"}
    with pytest.raises(Rejected) as refusal:
        parse(
            {
                "apiVersion": "placement.kubernetes-fleet.io/v1",
                "kind": "ResourcePlacement",
                "metadata": metadata,
                "spec": {"resourceSelectors": [select]},
            }
        )
    assert refusal.value.code == "InvalidAnnotation"


@pytest.mark.parametrize("annotations", [{}, {PER_OBJECT: "false"}, EACH])
async def test_jobs_get_the_placement_by_the_annotation_alone(
    tmp_path: Path, annotations: dict[str, str]
):
    """Else those of a placement for several clusters are left out."""
    async with opened(tmp_path, ManualClock(START)) as db:
        jobs = tuple(a_workload(f"j{n}", name=f"j{n}") for n in range(3))
        await fill(db, a_placement("p", JOBS, policy=THREE, annotations=annotations), jobs=jobs)
        await with_status(db)
        found = {job.uid for job in await db.read(call(placed_jobs.jobs_of, "p"))}
        assert found == ({"j0", "j1", "j2"} if annotations == EACH else set())


async def test_the_status_names_each_job_and_its_cluster(tmp_path: Path):
    """Those that wait first, with what they wait for; at most a hundred."""
    async with opened(tmp_path, ManualClock(START)) as db:
        placed = a_workload(
            "a", name="a", state=State.RUNNING, cluster="north", placement="p", epoch=1
        )
        waits = a_workload("b", name="b", reason="NoClusterFits", message="1 CPU short")
        await fill(
            db, a_placement("p", JOBS, policy=THREE, annotations=EACH), jobs=(placed, waits)
        )
        status = await with_status(db)
        assert [(e["name"], e.get("clusterName"), e["reason"]) for e in status["perObject"]] == [
            ("b", None, "NoClusterFits"),
            ("a", "north", "Scheduled"),
        ]
        assert status["perObject"][0]["message"] == "1 CPU short"
        more = [a_workload(f"m{n}", name=f"m{n}") for n in range(120)]
        await db.write(lambda tx: workloads.add(tx, more))
        assert len((await with_status(db))["perObject"]) == 100


async def test_other_objects_go_together_and_that_is_said(tmp_path: Path):
    """To all clusters of the policy: the annotation changes nothing for them."""
    async with opened(tmp_path, ManualClock(START)) as db:
        rows = [an_object(f"c{n}", kind="ConfigMap", name=f"c{n}") for n in range(2)]
        await fill(db, a_placement("p", CONFIGS, annotations=EACH), *rows)
        await with_status(db)
        row = await db.read(call(objects.get, "p"))
        assert row is not None
        assert row.status is not None
        (said,) = [c for c in row.status["conditions"] if c["type"] == "NotActedOn"]
        assert (
            "the other objects go together, to all clusters of the policy (2 here)"
            in said["message"]
        )
        assert len(row.status["placementStatuses"]) == 2
