"""After a restore a job is released only when no member reports or may still hold an earlier epoch of it."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.context.settings import Intake
from hub.services.explain.job import explain_job
from hub.services.jobs import adopt, hold
from hub.services.jobs.accept import submit_jobs
from hub.services.members.observe import ObservedReport, take_reports
from hub.services.objects.fence import fence_cluster
from hub.services.reading.draft import draft
from hub.services.works import accounted
from hub.services.works.evict import evict
from hub.services.works.restored import accept, begin_recovery
from hub.store import leftovers, workloads
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds import parse_job
from shared.wire.agent_v1 import LEASE_S
from tests.services.members.after_restore import accounts, until_released
from tests.services.members.hubs import JOB, Running, a_stray, running_hub
from tests.store.listening import listen

pytestmark = pytest.mark.anyio
OLD = "inc-0"
UID_AHEAD = "4b1d1c1e-0f8e-4a55-9a0e-6f1f0a3c2b11"


async def restored(hub: Running) -> None:
    await hub.write(begin_recovery, "yesterday", "ada", ())


async def refused(hub: Running, uid: str) -> str:
    """The message with which a release is refused."""
    with pytest.raises(Rejected) as caught:
        await hub.write(hold.release_job, uid, "ann")
    assert caught.value.code == "InvalidState"
    return str(caught.value)


async def reported(hub: Running, agent: Any, uid: str, epoch: int = 1) -> None:
    await accounts(hub, agent, a_stray(hub, uid, OLD, epoch=epoch, object_uid=f"m-{agent.name}"))


async def test_a_deactivated_job_is_not_released_while_a_member_reports_it(tmp_path: Path):
    """Its row keeps the reason that it was deactivated for: the reason decides nothing."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await hub.write(
            evict, [uid], "MaximumExecutionTimeExceeded", "", to=WithdrawTo.DEACTIVATED
        )
        await restored(hub)
        await reported(hub, agent, uid)
        assert "north still reports epoch 1" in await refused(hub, uid)
        assert (await hub.job(uid)).state == State.DEACTIVATED


async def test_a_job_that_its_user_holds_again_is_not_released_while_a_member_reports_it(
    tmp_path: Path,
):
    """The Job came to light after the user had replaced the reason of the restore."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await restored(hub)
        await accounts(hub, agent)
        await hub.write(hold.release_job, uid, "ann")
        await hub.write(hold.hold_job, uid, "ann")
        await agent.sync(a_stray(hub, uid, OLD, epoch=1))
        assert (await hub.job(uid)).reason == hold.BY_USER
        assert "north still reports epoch 1" in await refused(hub, uid)


async def test_a_set_of_a_session_that_has_not_read_its_jobs_settles_nothing(tmp_path: Path):
    """An agent whose API server is frozen reports an empty set, as one of an earlier release may."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await restored(hub)
        hub.clock.advance(1)
        agent.restart("session-after-restore")
        await agent.sync(jobs_read=False)
        hub.clock.advance(LEASE_S * 2)
        await agent.sync(jobs_read=False)
        assert "north has not reported all its Jobs since the restore" in await refused(hub, uid)


async def test_a_job_is_not_released_before_a_silent_member_has_reported(tmp_path: Path):
    """It may run there: the refusal names the member and the two ways on."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await restored(hub)
        said = await refused(hub, uid)
        assert "north has not reported all its Jobs since the restore" in said
        assert "roadstead clusters fence north --destroyed" in said
        await accounts(hub, agent)
        await hub.write(hold.release_job, uid, "ann")
        assert (await hub.job(uid)).state == State.PENDING


async def test_a_session_of_before_the_restore_proves_nothing(tmp_path: Path):
    """What it has reported since may leave out what an order on its way makes."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        before = hub.sync.incarnation
        await agent.sync()
        await restored(hub)
        hub.clock.advance(120)
        await agent.sync(incarnation_seen=before)
        assert "north has not reported" in await refused(hub, uid)


async def test_a_job_made_after_the_restore_waits_for_no_member(tmp_path: Path):
    """No member can hold a Job of it from before."""
    async with running_hub(tmp_path) as hub:
        await hub.join("north")
        await restored(hub)
        hub.clock.advance(1)
        uid = await hub.submit()
        await hub.write(hold.hold_job, uid, "ann")
        await hub.write(hold.release_job, uid, "ann")
        assert (await hub.job(uid)).state == State.PENDING


async def test_forget_alone_does_not_allow_the_release(tmp_path: Path):
    """It is allowed once the member reports all its Jobs and this one is not among them."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await restored(hub)
        await reported(hub, agent, uid)
        await hub.write(adopt.forget_job, uid, "", "ada")
        assert "north still reports epoch 1" in await refused(hub, uid)
        gone = a_stray(hub, uid, OLD, epoch=1, object_uid="m-north")
        gone.phase, gone.job = "Gone", None
        await agent.sync(gone)
        await until_released(hub, uid, agent)
        assert (await hub.job(uid)).state == State.PENDING


@pytest.mark.parametrize("silent", [dt.timedelta(minutes=26), dt.timedelta(days=3)])
async def test_the_refusal_does_not_expire_with_the_silence_of_the_member(
    tmp_path: Path, silent: dt.timedelta
):
    """What a member said last stands until it says otherwise or is fenced."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await restored(hub)
        await reported(hub, agent, uid)
        hub.clock.advance(silent.total_seconds())
        assert "north still reports epoch 1" in await refused(hub, uid)


async def test_every_leftover_is_guarded_beyond_the_500_that_are_listed(tmp_path: Path):
    """The job of the last of 700 is refused as that of the first is."""
    async with running_hub(tmp_path) as hub:
        await hub.join("north")
        uid = await hub.submit()
        await restored(hub)
        strays = [a_stray(hub, f"u-{n:04}", OLD, epoch=1, object_uid=f"m-{n}") for n in range(699)]
        strays.append(a_stray(hub, uid, OLD, epoch=1, object_uid="m-last"))
        await hub.write(take_reports, [ObservedReport("north", strays, incarnation="inc-1")])
        assert "north still reports epoch 1" in await refused(hub, uid)


async def test_a_member_that_reports_more_leftovers_than_are_kept_has_not_accounted_for_its_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nothing grows without bound, and no job is released: not even one that the member does not report."""
    monkeypatch.setattr(leftovers, "MOST_OF_MEMBER", 3)
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await restored(hub)
        await accounts(hub, agent)
        strays = [a_stray(hub, f"u-{n}", OLD, epoch=1, object_uid=f"m-{n}") for n in range(4)]
        await agent.sync(*strays)
        assert await hub.hub.read(leftovers.list_all) == []
        hub.clock.advance(3600)
        for _ in range(3):
            await agent.sync()
        assert "north reports more Jobs from before the restore" in await refused(hub, uid)


async def test_a_member_accounts_with_a_session_that_reports_no_more_leftovers_than_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Jobs were removed there and its agent restarted: the hub keeps what it reports then."""
    monkeypatch.setattr(leftovers, "MOST_OF_MEMBER", 3)
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await restored(hub)
        hub.clock.advance(1)
        agent.restart("session-north-2")
        await agent.sync(
            *(a_stray(hub, f"u-{n}", OLD, epoch=1, object_uid=f"m-{n}") for n in range(4))
        )
        await accounts(hub, agent, a_stray(hub, "u-1", OLD, epoch=1, object_uid="m-1"))
        await hub.write(hold.release_job, uid, "ann")
        assert (await hub.job(uid)).state == State.PENDING
        assert [each.uid for each in await hub.hub.read(leftovers.list_all)] == ["u-1"]


async def test_a_fence_settles_what_the_member_owes(tmp_path: Path):
    """For that member alone: another one that is silent is still named."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await hub.join("south")
        await restored(hub)
        await reported(hub, agent, uid)
        sure = {"though_it_answers": True}
        await hub.write(fence_cluster, "north", "north", "ada", 45.0, **sure)
        said = await refused(hub, uid)
        assert "north" not in said
        assert "south has not reported" in said
        await hub.write(fence_cluster, "south", "south", "ada", 45.0, **sure)
        await hub.write(hold.release_job, uid, "ann")
        assert (await hub.job(uid)).state == State.PENDING


async def test_a_withdrawn_job_of_before_is_held_instead_of_requeued(tmp_path: Path):
    """A preempted job does not start elsewhere while another member reports an earlier epoch."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await hub.join("south")
        uid = await hub.submit()
        await restored(hub)
        await accounts(hub, agent)
        await hub.write(fence_cluster, "south", "south", "ada", 45.0, though_it_answers=True)
        await hub.write(hold.release_job, uid, "ann")
        await hub.write(accept, "ada")
        await hub.place(uid, "north")
        await hub.settled()
        await agent.sync()
        epoch = (await hub.job(uid)).epoch
        assert (await hub.job(uid)).state == State.OFFERED
        await hub.write(
            lambda tx: leftovers.note(tx, "west", [leftovers.Leftover(uid, "west", 1)])
        )
        await hub.write(evict, [uid], "Preempted", "")
        gone = a_stray(hub, uid, hub.sync.incarnation, epoch=epoch)
        gone.phase, gone.job = "Gone", None
        await agent.sync(gone)
        row = await hub.job(uid)
        assert (row.state, row.reason) == (State.HELD, "Restored")
        assert "west still reports epoch 1" in row.message


async def test_releasing_a_thousand_jobs_asks_for_the_evidence_once(tmp_path: Path):
    """The number of queries of the guard does not grow with the number of jobs."""
    async with running_hub(tmp_path) as hub:
        uid = await hub.submit()
        await restored(hub)
        row = await hub.job(uid)
        rows = [row._replace(uid=f"u-{n}", name=f"n-{n}") for n in range(1000)]

        def counted(tx: Transaction) -> tuple[int, int]:
            workloads.add(tx, rows)
            said: list[str] = []
            listen(tx.conn, said.append)
            moved = hold.release(tx, rows)
            return len(moved), len([text for text in said if text.startswith("SELECT")])

        moved, queries = await hub.write(counted)
        assert moved == 1000
        assert queries < 20


def _made_ahead(tx: Transaction) -> str:
    """A Job of a hub cluster whose clock is ten minutes ahead."""
    made = tx.now + dt.timedelta(minutes=10)
    given = draft(
        parse_job(JOB), tx.now, origin=Origin.HUB_CLUSTER, uid=UID_AHEAD, created_at=made
    )
    (answer,) = submit_jobs(tx, [given], Intake(), strict=False)
    assert isinstance(answer, Workload)
    return answer.uid


async def test_a_job_of_the_hub_cluster_that_a_member_reports_is_held_whatever_its_time(
    tmp_path: Path,
):
    """The hub cluster's clock is ahead: by its time the Job was made after the restore."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await restored(hub)
        uid = await hub.write(_made_ahead)
        await agent.sync(a_stray(hub, uid, OLD, epoch=1))
        assert (await hub.job(uid)).state == State.HELD
        assert "north still reports epoch 1" in await refused(hub, uid)


async def test_a_job_of_the_hub_cluster_that_a_member_reports_already_is_held_when_it_is_taken(
    tmp_path: Path,
):
    """The report came first: the job waits for a person, even if its creation time is newer."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await restored(hub)
        await agent.sync(a_stray(hub, UID_AHEAD, OLD, epoch=1))
        assert await hub.write(_made_ahead) == UID_AHEAD
        job = await hub.job(UID_AHEAD)
        assert (job.state, job.reason) == (State.HELD, "Restored")
        assert job.epoch > 100_000


async def test_no_report_holds_a_job_that_is_newer_than_the_restore(tmp_path: Path):
    """The hub made its uid since: a member that reports an earlier epoch of it is wrong."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await restored(hub)
        hub.clock.advance(1)
        uid = await hub.submit()
        await hub.write(hold.hold_job, uid, "ann")
        await agent.sync(a_stray(hub, uid, OLD, epoch=1))
        await hub.write(hold.release_job, uid, "ann")
        assert (await hub.job(uid)).state == State.PENDING


async def test_the_clock_of_the_machine_that_restores_orders_nothing(tmp_path: Path):
    """It is ten minutes behind: a job of the backup is still no newer than the restore."""
    async with running_hub(tmp_path) as hub:
        await hub.join("north")
        uid = await hub.submit()
        hub.clock.advance(-600)
        await restored(hub)
        assert "north has not reported" in await refused(hub, uid)


async def test_a_store_that_never_went_back_keeps_no_earlier_jobs(tmp_path: Path):
    """A stray of another incarnation guards nothing there, and no row is kept of it."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await agent.sync(a_stray(hub, uid, OLD, epoch=1))
        assert not await hub.hub.read(leftovers.list_all)


async def test_the_explanation_of_a_held_job_names_the_members_that_block_its_release(
    tmp_path: Path,
):
    """It says what a refused release says, and no longer tells to release the job."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await restored(hub)
        told = await hub.hub.read(lambda tx: explain_job(tx, uid))
        why = await hub.hub.read(lambda tx: hold.why_not_released(tx, uid))
        assert told["message"].startswith(why)
        assert "north has not reported all its Jobs since the restore" in told["message"]
        await accounts(hub, agent)
        told = await hub.hub.read(lambda tx: explain_job(tx, uid))
        assert "or cancel it" in told["message"]


async def test_adopting_a_job_in_one_member_leaves_those_of_other_members(tmp_path: Path):
    """Each other member that still reports the job blocks a later release."""
    async with running_hub(tmp_path) as hub:
        await hub.join("north")
        uid = await hub.submit()
        await restored(hub)
        left = [leftovers.Leftover(uid, name, 1) for name in ("north", "south")]
        for each in left:
            await hub.write(leftovers.note, each.cluster, [each])
        await hub.write(accounted.adopted, uid, "north")
        assert await hub.hub.read(leftovers.list_all) == left[1:]
