"""Hold and release: by REST on a served hub, and what they do to jobs that run."""

from typing import Any

import pytest

from hub.domain.workloads.states import WithdrawTo
from hub.services.jobs import hold
from hub.services.jobs.cancel import cancel_job, delete_job
from hub.services.works.evict import evict
from shared.errors import Rejected
from tests.api.serving import Served, a_job, served
from tests.services.hubs import Running, running
from tests.services.steps import admitted, gone, lively, passed, watching

pytestmark = pytest.mark.anyio


async def _submitted(hub: Served) -> str:
    return (await hub.admin.post("/v1/jobs", json=a_job())).json()["uid"]


async def _post(hub: Served, uid: str, verb: str) -> tuple[int, dict[str, Any]]:
    reply = await hub.admin.post(f"/v1/jobs/{uid}/{verb}")
    return reply.status_code, reply.json()


async def _hold(hub: Running, uid: str) -> dict[str, Any]:
    return await hub.hub.write(hold.hold_job, uid, "ann")


async def _release(hub: Running, uid: str) -> dict[str, Any]:
    return await hub.hub.write(hold.release_job, uid, "ann")


async def test_a_waiting_job_is_held_at_once_and_released_to_wait(tmp_path):
    """POST …/hold makes it Held, saying by whom; …/release makes it Pending; both may be repeated."""
    async with served(tmp_path) as hub:
        uid = await _submitted(hub)
        for _ in range(2):
            status, job = await _post(hub, uid, "hold")
            assert (status, job["state"], job["reason"]) == (200, "Held", "HeldByUser")
        assert job["message"] == "held by the-administrator"
        for _ in range(2):
            status, job = await _post(hub, uid, "release")
            assert (status, job["state"], job["reason"]) == (200, "Pending", "")


async def test_what_has_ended_can_neither_be_held_nor_released(tmp_path):
    """409 AlreadyEnded: a cancelled job must be submitted again."""
    async with served(tmp_path) as hub:
        uid = await _submitted(hub)
        await _post(hub, uid, "cancel")
        for verb in ("hold", "release"):
            status, problem = await _post(hub, uid, verb)
            assert (status, problem["code"]) == (409, "AlreadyEnded")


async def test_viewers_may_not_hold(tmp_path):
    """403, like every change."""
    async with served(tmp_path) as hub:
        uid = await _submitted(hub)
        assert (await hub.viewer.post(f"/v1/jobs/{uid}/hold")).status_code == 403


async def test_who_held_and_released_what_is_audited(tmp_path):
    """One line each, and none for a repetition."""
    async with served(tmp_path) as hub:
        uid = await _submitted(hub)
        for verb in ("hold", "hold", "release", "release"):
            await _post(hub, uid, verb)

        def verbs(tx):
            from sqlalchemy import select

            from hub.store.tables import audit

            return list(tx.conn.execute(select(audit.c.verb)).scalars())

        found = await hub.db.read(verbs)
        assert [v for v in found if v in {"hold", "release"}] == ["hold", "release"]


async def test_a_running_job_is_evicted_to_held(tmp_path):
    """It leaves its cluster first and says so; once gone it is Held and nobody considers it."""
    async with running(tmp_path) as hub:
        uid = await admitted(hub)
        await lively(hub, uid)
        job = await _hold(hub, uid)
        assert (job["state"], job["withdrawTo"], job["message"]) == (
            "Withdrawing",
            "Held",
            "held by ann",
        )
        await gone(hub, uid)
        await hub.settle()
        row = await hub.job(uid)
        assert (row.state, row.reason, row.cluster) == ("Held", "HeldByUser", "")
        assert row.evicted["reason"] == "Deactivated"
        await _release(hub, uid)
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_a_job_released_on_its_way_to_held_waits_again(tmp_path):
    """The member still confirms that nothing is left; then the job is Pending, not Held."""
    async with running(tmp_path) as hub:
        uid = await admitted(hub)
        await lively(hub, uid)
        await _hold(hub, uid)
        await _release(hub, uid)
        await gone(hub, uid)
        assert (await hub.job(uid)).state == "Pending"


async def test_a_released_job_avoids_no_cluster_any_more(tmp_path):
    """Release is a person's word: what was set aside for the job may be tried again at once."""
    async with running(tmp_path) as hub:
        uid = await admitted(hub)
        await hub.change(uid, set_aside={"c1": "9999-01-01T00:00:00+00:00"})
        await _hold(hub, uid)
        await _release(hub, uid)
        assert (await hub.job(uid)).set_aside is None


async def test_a_job_being_preempted_can_be_held(tmp_path):
    """Held is stronger than back to the queue."""
    async with running(tmp_path) as hub:
        uid = await admitted(hub)
        await lively(hub, uid)
        await hub.hub.db.write(lambda tx: evict(tx, [uid], "Preempted", "for another"))
        await _hold(hub, uid)
        await gone(hub, uid)
        assert (await hub.job(uid)).state == "Held"


@pytest.mark.parametrize("to", ["Cancelled", "Deleted", "Deactivated"])
async def test_a_job_that_is_on_its_way_to_an_end_can_not_be_held(tmp_path, to):
    """Cancelled, Deleted and Deactivated are stronger than Held; the job ends as was wished before."""
    async with running(tmp_path) as hub:
        uid = await admitted(hub)
        ways = {
            "Cancelled": lambda tx: cancel_job(tx, uid, "ann"),
            "Deleted": lambda tx: delete_job(tx, uid, "ann"),
            "Deactivated": lambda tx: evict(tx, [uid], "x", "y", to=WithdrawTo.DEACTIVATED),
        }
        await lively(hub, uid)
        await hub.hub.write(ways[to])
        with pytest.raises(Rejected, match=to):
            await _hold(hub, uid)
        assert (await hub.job(uid)).withdraw_to == to
        await gone(hub, uid)
        assert (await hub.job(uid)).state == ("Cancelled" if to == "Deleted" else to)


async def test_a_deactivated_job_is_reactivated_with_all_of_its_time(tmp_path):
    """Release of what ran too long: it waits again, and its execution time starts anew."""
    async with running(tmp_path) as hub:
        watch = watching(hub)
        uid = await admitted(hub, labels={"kueue.x-k8s.io/max-exec-time-seconds": "20"})
        await lively(hub, uid)
        await passed(hub, 20, watch)
        await gone(hub, uid)
        assert (await hub.job(uid)).state == "Deactivated"
        await _release(hub, uid)
        row = await hub.job(uid)
        assert (row.state, row.ran_s, row.finished_at) == ("Pending", 0, None)
        await passed(hub, 1, watch)
        assert (await hub.job(uid)).state == "Placed"
