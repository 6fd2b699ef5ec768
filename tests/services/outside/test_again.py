"""What is said of a check a second time, and what else stands beside it and stays."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.outside import check_active
from hub.store import objects
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP
from tests.services.hubs import Running, a_job, a_pool, running
from tests.services.outside.controller import a_check, a_checked_queue, answer

pytestmark = pytest.mark.anyio


async def reserved(hub: Running, *checks: str) -> str:
    """A job on tentative cluster `a`, whose checks nobody has answered yet."""
    await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
    await a_checked_queue(hub, *checks)
    (uid,) = await hub.apply(a_job("one", queue="gold"))
    await hub.settle()
    return uid


async def test_a_state_keeps_the_time_at_which_it_came(tmp_path: Path) -> None:
    """Another message of the same state is no change of state; another state is."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub, "budget", "approval")
        asked = (await hub.job(uid)).checks["budget"]["at"]
        hub.clock.advance(5)
        await answer(hub, uid, "budget", "Pending", message="soon")
        first = (await hub.job(uid)).checks["budget"]
        assert (first["at"], first["message"]) == (asked, "soon")
        hub.clock.advance(5)
        await answer(hub, uid, "budget", "Ready")
        then = hub.clock.now().isoformat()
        hub.clock.advance(5)
        await answer(hub, uid, "budget", "Ready", message="for good")
        last = (await hub.job(uid)).checks
        assert (last["budget"]["at"], last["budget"]["message"]) == (then, "for good")
        assert last["approval"]["at"] == asked


async def test_updates_and_count_stay_until_others_are_given_and_a_delay_does_not(
    tmp_path: Path,
) -> None:
    """A later word that does not mention them leaves pod-set updates and retry count as they are."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub, "budget", "approval")
        updates = [{"name": "main", "labels": {"cost-centre": "7"}}]
        await answer(
            hub, uid, "budget", "Pending",
            podSetUpdates=updates, retryCount=3, requeueAfterSeconds=60,
        )  # fmt: skip
        await answer(hub, uid, "budget", "Ready", message="granted")
        check = (await hub.job(uid)).checks["budget"]
        assert (check["podSetUpdates"], check["retryCount"]) == (updates, 3)
        assert "requeueAfterSeconds" not in check
        await answer(hub, uid, "budget", "Ready", podSetUpdates=[], retryCount=0)
        assert (await hub.job(uid)).checks["budget"].keys() == {"state", "message", "at"}


async def test_updates_that_stand_already_may_be_repeated_once_it_is_placed(
    tmp_path: Path,
) -> None:
    """A controller that repeats all it has said is not refused for what it does not change."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub, "budget")
        updates = [{"name": "main", "labels": {"cost-centre": "7"}}]
        await answer(hub, uid, "budget", "Ready", podSetUpdates=updates)
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"
        await answer(hub, uid, "budget", "Ready", message="still", podSetUpdates=updates)
        check = (await hub.job(uid)).checks["budget"]
        assert (check["message"], check["podSetUpdates"]) == ("still", updates)


async def test_only_those_that_ask_for_a_retry_are_named(tmp_path: Path) -> None:
    """What another check had granted is not among the reasons."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub, "approval", "budget")
        await answer(hub, uid, "approval", "Ready", message="granted")
        await answer(hub, uid, "budget", "Retry", message="no money")
        told = (await hub.job(uid)).evicted["message"]
        assert told == "admission checks ask for a retry: budget: no money"


async def test_one_that_is_taken_back_is_asked_no_more(tmp_path: Path) -> None:
    """While its cluster lets it go it holds its quota, and answers come too late."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub, "budget")
        await answer(hub, uid, "budget", "Ready")
        await hub.settle()
        await hub.transition("offer", uid)
        await answer(hub, uid, "budget", "Retry")
        assert (await hub.job(uid)).state == "Withdrawing"
        with pytest.raises(Rejected) as refused:
            await answer(hub, uid, "budget", "Ready")
        assert refused.value.code == "NotReserved"


def a_condition(kind: str, status: str = "True", **more: Any) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": "Said", "message": "", **more}


async def test_conditions_of_others_stay_on_a_check(tmp_path: Path) -> None:
    """Whoever writes one type leaves the others, their times among it; its own is of its last change."""
    async with running(tmp_path) as hub:
        await hub.apply(a_check("budget"))

        async def put(*given: dict[str, Any]) -> dict[str, tuple[str, str]]:
            def run(tx: Transaction) -> None:
                check_active.set_status(
                    tx, GROUP, "AdmissionCheck", "", "budget", list(given), "somebody"
                )

            hub.clock.advance(60)
            await hub.hub.db.write(run)
            row = await hub.hub.read(objects.find, GROUP, "AdmissionCheck", "", "budget")
            assert row is not None
            found = (row.status or {})["conditions"]
            return {c["type"]: (c["status"], c["lastTransitionTime"][14:16]) for c in found}

        first = await put(a_condition("Active"))
        minute = int(first["Active"][1])
        second = await put(a_condition("Audited"))
        assert second == {**first, "Audited": ("True", f"{minute + 1:02}")}
        third = await put(a_condition("Active", message="another word"))
        assert third == second
        fourth = await put(a_condition("Active", "False"))
        assert fourth == {**second, "Active": ("False", f"{minute + 3:02}")}
