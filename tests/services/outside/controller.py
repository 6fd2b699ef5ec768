"""What an outside controller of admission checks does, on a hub whose scheduler is driven by hand."""

from collections.abc import Sequence
from typing import Any

from hub.services.outside import check_active, check_states
from hub.store.transaction import Transaction
from shared.kinds.kueue_v1beta2 import GROUP
from tests.services.hubs import KUEUE, Running, a_job, a_pool, a_queue


def a_check(name: str, controller: str = "example.com/budget") -> dict[str, Any]:
    """An AdmissionCheck."""
    return {
        "apiVersion": KUEUE,
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {"controllerName": controller},
    }


def checked(*names: str | tuple[str, list[str]], **spec: Any) -> dict[str, Any]:
    """The spec of a ClusterQueue with these checks; (name, flavors) for one on some flavors."""
    rules = [
        {"name": each} if isinstance(each, str) else {"name": each[0], "onFlavors": each[1]}
        for each in names
    ]
    return {"admissionChecksStrategy": {"admissionChecks": rules}, **spec}


async def activate(hub: Running, *names: str, status: str = "True") -> None:
    """The controllers of these checks say that they serve them, or no longer do."""
    condition = {"type": "Active", "status": status, "reason": "Said", "message": ""}

    def run(tx: Transaction) -> None:
        for name in names:
            check_active.set_status(
                tx, GROUP, "AdmissionCheck", "", name, [condition], "controller"
            )

    await hub.hub.db.write(run)


async def a_checked_queue(hub: Running, *names: str, **given: Any) -> None:
    """Active checks, and queue `gold` that asks for them."""
    await hub.apply(*(a_check(name) for name in names))
    await activate(hub, *names)
    await hub.apply(*a_queue("gold", spec=checked(*names), **given))


async def answer(hub: Running, uid: str, name: str, state: str, **more: Any) -> dict[str, Any]:
    """The controller of a check says `state` of one workload."""
    given = [{"name": name, "state": state, **more}]
    return await hub.hub.db.write(lambda tx: check_states.set_states(tx, uid, given, "controller"))


async def answer_all(hub: Running, uids: Sequence[str], name: str, state: str) -> None:
    """The same of several workloads, in one transaction."""

    def run(tx: Transaction) -> None:
        for uid in uids:
            check_states.set_states(tx, uid, [{"name": name, "state": state}], "controller")

    await hub.hub.db.write(run)


async def reserved(hub: Running, *checks: str, **job: Any) -> str:
    """A job in state Reserved on cluster `a`; queue `gold` asks for `checks`."""
    await hub.cluster("a", a_pool(cpu="8", memory="8Gi"))
    await a_checked_queue(hub, *(checks or ("budget",)))
    (uid,) = await hub.apply(a_job("one", queue="gold", **job))
    await hub.settle()
    assert (await hub.job(uid)).state == "Reserved"
    return uid
