"""Objects that operators run, after the store went back: adopted, and guarded from a second start."""

import datetime as dt

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.jobs import adopt, hold
from hub.services.jobs.accept import submit_jobs
from hub.services.reading.draft import draft
from hub.services.works import accounted
from hub.services.works.restored import accept, begin_recovery
from hub.store import leftovers
from shared.kinds.registry import parse
from shared.wire.agent_v1 import LEASE_S
from shared.wire.versions import KINDS
from tests import waiting
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import a_fleet, a_jobset, a_pytorchjob, a_rayjob
from tests.services.members.hubs import a_stray, ran

pytestmark = pytest.mark.anyio

UID = "4b1d1c1e-0f8e-4a55-9a0e-6f1f0a3c2b11"


async def accounts(hub, agent, *said, protocol: int, session: str) -> None:
    """A new session of the member's agent reports all that it sees, later than any other may start one."""
    hub.clock.advance(1)
    agent.restart(session, protocol=protocol)
    await agent.sync(*said)
    hub.clock.advance(LEASE_S * 1.2)
    for _ in range(15):
        await agent.sync()
        await waiting.span(0.02, why="for the process to follow the store")


async def until_told(fleet, agent, uid: str):
    """The work that the agent is told, once the hub has heard its members."""
    for _ in range(20):
        fleet.exchange.clock.advance(2)
        await agent.sync()
        if uid in agent.works:
            return agent.works[uid]
        await waiting.span(0.05, why="for the process to follow the store")
    raise AssertionError("the work is not told")


@pytest.mark.parametrize(
    "manifest", [a_jobset(), a_pytorchjob(), a_rayjob()], ids=["jobset", "pytorch", "ray"]
)
async def test_the_work_of_an_adopted_object_is_of_its_own_kind(tmp_path, manifest):
    """Its agent finds the object in that version, reads its end by its rule, and the job ends so."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        await fleet.apply(*a_queue("q"))
        (uid,) = await fleet.apply(manifest)
        agent = await fleet.member("m1", cpu="1")
        await hub.write(begin_recovery, "yesterday", "ada", ())
        earlier = a_stray(hub, uid, "inc-0", epoch=3)
        await accounts(hub, agent, earlier, protocol=KINDS, session="session-2222")
        await hub.write(adopt.adopt_job, uid, "m1", "ann")
        await hub.write(accept, "ann")
        work = await until_told(fleet, agent, uid)
        assert (work["api_version"], work["kind"]) == (manifest["apiVersion"], manifest["kind"])
        assert (work["action"], work["epoch"], work["fresh"]) == ("Apply", 3, False)
        assert work["kind_rule"]["held"]
        await agent.sync(ran(uid, 3, active=1, running_since="2026-05-01T00:00:00Z"))
        assert (await hub.job(uid)).state == "Running"
        await agent.sync(ran(uid, 3, result="Succeeded"))
        assert (await hub.job(uid)).state == "Succeeded"


@pytest.mark.parametrize(("protocol", "owed"), [(KINDS - 1, ["m1"]), (KINDS, [])])
async def test_a_member_owes_a_report_of_the_kinds_that_the_store_has(tmp_path, protocol, owed):
    """An agent that sees Jobs alone accounts for Jobs: its member is named, and is not removed."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        await fleet.apply(*a_queue("q"))
        await fleet.apply(a_pytorchjob())
        agent = await fleet.member("m1", cpu="1")
        await hub.write(begin_recovery, "yesterday", "ada", ())
        await accounts(hub, agent, protocol=protocol, session="session-2222")
        assert await hub.hub.read(accounted.owing) == owed
        assert bool(await hub.hub.read(accounted.owed_by_member, "m1")) == bool(owed)


async def test_no_member_owes_a_report_of_kinds_that_the_store_does_not_have(tmp_path):
    """A fleet of Jobs alone is not held up by agents of before."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        agent = await fleet.member("m1", cpu="1")
        await hub.write(begin_recovery, "yesterday", "ada", ())
        await accounts(hub, agent, protocol=KINDS - 1, session="session-2222")
        assert await hub.hub.read(accounted.owing) == []


async def _from_the_hub_cluster(hub) -> str:
    """A JobSet of kubectl that the restored store did not know; why it may not be released."""

    def made(tx):
        at = tx.now - dt.timedelta(hours=1)
        given = draft(parse(a_jobset()), tx.now, origin=Origin.HUB_CLUSTER, uid=UID, created_at=at)
        submit_jobs(tx, [given], Intake(), strict=True)

    await hub.write(made)
    return await hub.hub.read(hold.why_not_released, UID)


async def test_an_agent_that_sees_jobs_alone_does_not_account_for_what_may_be_another_kind(
    tmp_path,
):
    """The store does not know the uid: it may be a JobSet's, which agents before protocol 7 do not list."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        agent = await fleet.member("m1")
        await fleet.apply(*a_queue("q"))
        await hub.write(begin_recovery, "yesterday", "ada", ())
        earlier = a_stray(hub, UID, "inc-0", epoch=1)
        await accounts(hub, agent, earlier, protocol=KINDS, session="session-2222")
        await accounts(hub, agent, protocol=KINDS - 1, session="session-3333")
        (left,) = await hub.hub.read(leftovers.list_all)
        assert (left.uid, left.is_job) == (UID, False)
        assert "m1" in await _from_the_hub_cluster(hub)


async def test_an_earlier_job_that_such_an_agent_reported_itself_is_dropped_once_it_is_gone(
    tmp_path,
):
    """It sees Jobs alone: what it lists is one, and its next complete report proves its absence."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        agent = await fleet.member("m1", protocol=KINDS - 1)
        await hub.write(begin_recovery, "yesterday", "ada", ())
        earlier = a_stray(hub, UID, "inc-0", epoch=1)
        await accounts(hub, agent, earlier, protocol=KINDS - 1, session="session-2222")
        assert [each.uid for each in await hub.hub.read(leftovers.list_all)] == [UID]
        await accounts(hub, agent, protocol=KINDS - 1, session="session-3333")
        assert await hub.hub.read(leftovers.list_all) == []


JOB_SET = "jobset.x-k8s.io/v1alpha2/JobSet"
PYTORCH_JOB = "kubeflow.org/v1/PyTorchJob"


async def _says_unread(
    hub, agent, unread: list[str], *said, session: str = "session-2222", **more
) -> None:
    """A new session reports all that it sees, and has not read these kinds."""
    hub.clock.advance(1)
    agent.restart(session, protocol=KINDS)
    named = {"jobs_read": not unread, "kinds_unread": unread, **more}
    await agent.sync(*said, **named)
    hub.clock.advance(LEASE_S * 1.2)
    for _ in range(15):
        await agent.sync(**named)
        await waiting.span(0.02, why="for the process to follow the store")


async def test_a_kind_that_an_agent_has_not_read_holds_up_its_own_jobs_alone(tmp_path):
    """Absence is proven by kind: a JobSet is released, a PyTorchJob waits until its kind is read."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        await fleet.apply(*a_queue("q"))
        (job_set,) = await fleet.apply(a_jobset())
        (pytorch_job,) = await fleet.apply(a_pytorchjob())
        agent = await fleet.member("m1", cpu="1")
        await hub.write(begin_recovery, "yesterday", "ada", ())
        await _says_unread(hub, agent, [PYTORCH_JOB])
        assert await hub.hub.read(hold.why_not_released, job_set) == ""
        why = await hub.hub.read(hold.why_not_released, pytorch_job)
        assert f"m1 has not read {PYTORCH_JOB} since the restore" in why
        assert await hub.hub.read(accounted.owing) == ["m1"]
        await _says_unread(hub, agent, [], session="session-3333")
        assert await hub.hub.read(hold.why_not_released, pytorch_job) == ""
        assert await hub.hub.read(accounted.owing) == []


async def test_an_unread_kind_of_which_the_store_has_no_job_is_not_owed(tmp_path):
    """The member is removed, and its other jobs are released."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        await fleet.apply(*a_queue("q"))
        await fleet.apply(a_jobset())
        agent = await fleet.member("m1", cpu="1")
        await hub.write(begin_recovery, "yesterday", "ada", ())
        await _says_unread(hub, agent, [PYTORCH_JOB])
        assert await hub.hub.read(accounted.owing) == []


async def test_an_earlier_object_of_an_unread_kind_is_not_dropped(tmp_path):
    """A session that could not list JobSets lacks it in its report: it may be there."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        await fleet.apply(*a_queue("q"))
        (uid,) = await fleet.apply(a_jobset())
        agent = await fleet.member("m1", cpu="1")
        await hub.write(begin_recovery, "yesterday", "ada", ())
        await _says_unread(hub, agent, [], a_stray(hub, uid, "inc-0", epoch=1))
        for unread, left in (([JOB_SET], [uid]), ([PYTORCH_JOB], [])):
            await _says_unread(hub, agent, unread, session=f"session-{unread[0][:9]}")
            assert [each.uid for each in await hub.hub.read(leftovers.list_all)] == left


async def test_a_session_that_has_not_read_jobs_proves_nothing_of_other_kinds_either(tmp_path):
    """Its account may not list them, or its API server does not answer: the hub waits for the next report."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        await fleet.apply(*a_queue("q"))
        (uid,) = await fleet.apply(a_jobset())
        agent = await fleet.member("m1", cpu="1")
        await hub.write(begin_recovery, "yesterday", "ada", ())
        await _says_unread(hub, agent, ["batch/v1/Job"])
        assert "m1" in await hub.hub.read(hold.why_not_released, uid)


async def test_a_session_that_holds_other_definitions_proves_nothing(tmp_path):
    """A kind that an administrator defines may be missing among those that it has not read."""
    async with a_fleet(tmp_path) as fleet:
        hub = fleet.exchange
        agent = await fleet.member("m1", cpu="1")
        await hub.write(begin_recovery, "yesterday", "ada", ())
        await _says_unread(hub, agent, [], kinds_held=12345)
        assert await hub.hub.read(accounted.owing) == ["m1"]
