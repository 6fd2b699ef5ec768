"""What is handed over from who keeps it with kubectl to REST, and what is not."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.context.settings import BridgeSettings
from hub.services.objects.hand_over import REST, hand_over
from hub.store import audit, objects, workloads
from shared.errors import Rejected
from shared.groups import KUEUE
from tests.store.build import START, a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
QUEUE: Any = {"api_group": KUEUE, "kind": "ClusterQueue", "namespace": "", "spec": {}}
GOING: Any = {"state": State.WITHDRAWING, "withdraw_to": WithdrawTo.DELETED, "cluster": "north"}


@pytest.mark.parametrize(
    "place", [(KUEUE, "ClusterQueue", "", "q"), ("batch", "Job", "team-a", "j")]
)
async def test_what_is_being_deleted_stays_with_who_deletes_it(tmp_path: Path, place: Any):
    """Handed over it would be kept by nobody: its object goes, and REST was not asked to delete it."""
    async with opened(tmp_path) as db:
        await db.write(
            call(objects.add, an_object("q", origin=Origin.HUB_CLUSTER, deleted_at=START, **QUEUE))
        )
        await db.write(call(workloads.add, [a_workload("j", origin=Origin.HUB_CLUSTER, **GOING)]))
        with pytest.raises(Rejected) as no:
            await db.write(call(hand_over, place, REST, "ann", BridgeSettings()))
        assert no.value.code.name == "BEING_DELETED"


@pytest.mark.parametrize(
    ("group", "kind", "handed"),
    [("jobset.x-k8s.io", "JobSet", True), ("batch", "Job", False), ("ray.io", "RayJob", False)],
)
async def test_a_job_is_handed_over_by_its_own_kind(
    tmp_path: Path, group: str, kind: str, handed: bool
):
    """A JobSet has the name: no Job and no RayJob of that name is there."""
    of = {"kind": "JobSet", "api_version": "jobset.x-k8s.io/v1alpha2"}
    async with opened(tmp_path) as db:
        await db.write(call(workloads.add, [a_workload("j", origin=Origin.HUB_CLUSTER, **of)]))
        place = (group, kind, "team-a", "j")
        if handed:
            await db.write(call(hand_over, place, REST, "ann", BridgeSettings()))
        else:
            with pytest.raises(Rejected):
                await db.write(call(hand_over, place, REST, "ann", BridgeSettings()))
        row = await db.read(call(workloads.get, "j"))
        assert row is not None
        assert row.origin == (Origin.REST if handed else Origin.HUB_CLUSTER)


async def test_whose_a_job_is_does_not_change_with_who_keeps_it(tmp_path: Path):
    """Its owner stays; who handed it over stands in the audit."""
    async with opened(tmp_path) as db:
        job = a_workload("j", origin=Origin.HUB_CLUSTER, owner="kim")
        await db.write(call(workloads.add, [job]))
        place = ("batch", "Job", "team-a", "j")
        await db.write(call(hand_over, place, REST, "ann", BridgeSettings()))
        row = await db.read(call(workloads.get, "j"))
        assert row is not None
        assert (row.origin, row.owner) == (Origin.REST, "kim")
        (entry,) = await db.read(call(audit.list_entries, {"namespace": "team-a"}))
        assert (entry.principal, entry.verb, entry.kind, entry.name) == (
            "ann",
            "hand-over",
            "Job",
            "j",
        )
