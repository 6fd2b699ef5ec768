"""What the bridge asks of the store, at its edges: whose deletion was known, what stays of what ended."""

from pathlib import Path

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context import leadership
from hub.services.context.settings import Intake
from hub.services.mirror import objects as mirrored
from hub.services.mirror.workloads import Heard, hear
from hub.services.objects.apply import apply_documents
from hub.services.objects.delete import delete_object
from hub.services.reading.draft import draft
from hub.store.errors import StaleTerm
from hub.store.transaction import Transaction
from shared.kinds import parse
from tests.services.members.hubs import ran, running_hub, seen

pytestmark = pytest.mark.anyio
THEIRS = Origin.HUB_CLUSTER


async def test_only_a_deletion_that_was_known_is_concluded(tmp_path: Path):
    """A Job that is gone without having been deleted is left as it is, for somebody to look at."""
    async with running_hub(tmp_path) as hub:
        known, gone = await hub.submit("known", THEIRS), await hub.submit("gone", THEIRS)
        agent = await hub.join("north")
        for uid in (known, gone):
            await hub.place(uid, "north")
        await hub.settled()
        await agent.sync()
        await hub.write(mirrored.delete_jobs, [known])
        assert await hub.write(mirrored.conclude_deletions, [known, gone]) == {known}
        states = [(await hub.job(uid)).state for uid in (known, gone)]
        assert states == ["Withdrawing", "Offered"]
        assert (await hub.job(gone)).withdraw_to == ""


@pytest.mark.parametrize(
    ("result", "state"), [("Succeeded", "Succeeded"), ("Failed", "Failed"), (None, "Cancelled")]
)
async def test_what_had_ended_stays_on_record_when_it_is_deleted(
    tmp_path: Path, result: str | None, state: str
):
    """Of a Job that finished, well or not, the record stays and its name is free; of another nothing does."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await (hub.placed("north", origin=THEIRS) if result else hub.submit(origin=THEIRS))
        if result is not None:
            await agent.sync()
            await agent.sync(ran(uid, result=result))
            await agent.sync()
        left = await hub.write(mirrored.delete_jobs, [uid])
        row = await hub.job(uid)
        assert (row.state, row.live) == (state, None)
        assert (row.deleted_at is None) is (result is not None)
        held = await hub.work(uid) is not None
        assert left == (set() if held else {uid})
        assert await hub.write(mirrored.delete_jobs, [uid]) == left


async def test_a_person_holds_and_releases_by_the_object_and_silence_changes_nothing(
    tmp_path: Path,
):
    """`spec.active` false holds, true releases, not written leaves it; a leader of before is not heard."""
    async with running_hub(tmp_path) as hub:
        term = await hub.write(leadership.seize, "test")
        uid = await hub.submit()
        states = []
        for active in (None, False, None, False, True, True):
            await hub.write(hear, term, Heard(uid, active=active))
            states.append(str((await hub.job(uid)).state))
        assert states == ["Pending", "Held", "Held", "Held", "Pending", "Pending"]
        with pytest.raises(StaleTerm):
            await hub.write(hear, term + 1, Heard(uid, active=False))
        assert (await hub.job(uid)).state == "Pending"


async def test_only_what_came_from_the_hub_cluster_and_stays_is_its_own(tmp_path: Path):
    """Neither what came by REST nor what is being deleted already is asked for there."""
    placement = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "spec": {"resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "x"}]},
    }  # fmt: skip
    group, kind = "placement.kubernetes-fleet.io", "ClusterResourcePlacement"

    def put(tx: Transaction) -> None:
        for name, origin in (("a", "hub-cluster"), ("b", "rest"), ("c", "hub-cluster")):
            document = placement | {"metadata": {"name": name}}
            given = draft(parse(document), tx.now, origin=Origin(origin), uid=f"uid-{name}")
            (applied,) = apply_documents(tx, [given], Intake())
            assert applied.error is None

    def delete(tx: Transaction) -> None:
        delete_object(tx, group, kind, "", "c", origin=Origin.HUB_CLUSTER, principal="hub-cluster")

    async with running_hub(tmp_path) as hub:
        await hub.write(put)
        await hub.write(delete)
        found = await hub.hub.read(mirrored.uids_of_kind, group, kind)
        assert found == {"uid-a": ("", "a")}


async def test_a_job_that_ended_is_left_over_until_its_member_has_let_it_go(tmp_path: Path):
    """However often it is asked: the finalizer stays while the member holds the finished Job."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", origin=THEIRS)
        await agent.sync()
        await agent.sync(ran(uid, result="Succeeded"))
        assert await hub.work(uid) is not None
        for _ in range(2):
            assert await hub.write(mirrored.delete_jobs, [uid]) == set()
        await hub.settled()
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        assert await hub.write(mirrored.delete_jobs, [uid]) == {uid}


async def test_what_was_handed_over_to_rest_is_not_kubectls_to_delete(tmp_path: Path):
    """Its finalizer may go at once; the job goes on."""
    async with running_hub(tmp_path) as hub:
        uid = await hub.submit()
        assert await hub.write(mirrored.delete_jobs, [uid]) == {uid}
        row = await hub.job(uid)
        assert (row.live, row.state, row.withdraw_to) == (True, "Pending", "")
