"""A job on its way out: what is said of it, and what may no longer be done to it."""

from pathlib import Path

import pytest

from hub.domain.workloads.states import WithdrawTo
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.services.works.withdraw import withdraw_jobs
from hub.store.transaction import Transaction
from shared.kinds.registry import parse
from tests.services.hubs import Running, a_job, running
from tests.services.steps import admitted, gone, lively

pytestmark = pytest.mark.anyio


async def being_deleted(hub: Running) -> str:
    uid = await admitted(hub)
    await lively(hub, uid)
    await hub.hub.write(withdraw_jobs, [uid], WithdrawTo.DELETED, "Deleted", "")
    assert (await hub.job(uid)).state == "Withdrawing"
    return uid


async def applied(hub: Running, name: str = "j"):
    def run(tx: Transaction):
        given = [draft(parse(a_job(name, queue="q")), tx.now)]
        return apply_documents(tx, given, hub.hub.settings.intake)[0]

    return await hub.hub.db.write(run)


async def test_applying_it_meanwhile_is_refused(tmp_path: Path) -> None:
    """An apply that would be lost with the deletion is not acknowledged."""
    async with running(tmp_path) as hub:
        await being_deleted(hub)
        answer = await applied(hub)
        assert answer.result == "rejected"
        assert answer.error is not None
        assert answer.error.code == "BeingDeleted"


async def test_once_it_is_gone_its_name_is_free(tmp_path: Path) -> None:
    """The same manifest applied after the member's confirmation makes a new job."""
    async with running(tmp_path) as hub:
        uid = await being_deleted(hub)
        await gone(hub, uid)
        answer = await applied(hub)
        assert (answer.result, answer.uid != uid) == ("created", True)


async def test_it_can_be_explained_until_it_is_gone(tmp_path: Path) -> None:
    """What the list shows can be explained: being taken back, and deleted then."""
    async with running(tmp_path) as hub:
        uid = await being_deleted(hub)
        told = await hub.explain(uid)
        assert (told["uid"], told["state"]) == (uid, "Withdrawing")
        assert told["message"] == (
            "is being withdrawn from its cluster; it is deleted once nothing of it is left there"
        )
