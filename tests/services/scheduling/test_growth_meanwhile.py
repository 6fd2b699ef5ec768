"""A job grows only where its queues may admit: when that is decided, and when it is written."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hub.domain.cycle.profile import Profile
from hub.domain.quota.resize import size
from hub.services.jobs import resize
from hub.services.mirror import objects as mirrored
from hub.services.scheduling.grounds import Grounds
from hub.store import objects
from hub.store.transaction import Transaction
from shared.kinds.kueue_v1beta2 import GROUP
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.steps import lively

pytestmark = pytest.mark.anyio

Change = Callable[[Running], Awaitable[Any]]


def a_crowd(pods: int) -> dict[str, Any]:
    """A Job of parallelism `pods` and 9 completions."""
    job = a_job("j", queue="q", count=pods)
    job["spec"]["completions"] = 9
    return job


async def wishing(hub: Running) -> tuple[str, str]:
    """A job of 2 pods that is wanted with 4, and one that holds the quota for them."""
    await hub.cluster("c", a_pool(cpu="64"))
    await hub.apply(*a_queue("q", quota={"cpu": "4"}))
    uid, other = await hub.apply(a_crowd(2), a_job("other", queue="q", count=2))
    await hub.settle()
    for each in (uid, other):
        await lively(hub, each, 2)
    await hub.apply(a_crowd(4))
    await hub.settle()
    assert await pods_of(hub, uid) == 2
    return uid, other


async def pods_of(hub: Running, uid: str) -> int:
    return size((await hub.job(uid)).admission or {})


def queue_with(**spec: Any) -> Change:
    return lambda hub: hub.apply(a_queue("q", quota={"cpu": "4"}, spec=spec)[1])


async def stop_local_queue(hub: Running) -> None:
    local = a_queue("q")[2]
    local["spec"]["stopPolicy"] = "Hold"
    await hub.apply(local)


async def delete_queue(hub: Running) -> None:
    """As kubectl does: the queue is in use, and Terminating."""

    def run(tx: Transaction) -> None:
        found = objects.find(tx, GROUP, "ClusterQueue", "", "q")
        assert found is not None
        assert not mirrored.delete_object(tx, found.uid)

    await hub.hub.write(run)


FORBIDS: dict[str, Change] = {
    "the LocalQueue is stopped": stop_local_queue,
    "the ClusterQueue is stopped": queue_with(stopPolicy="Hold"),
    "the ClusterQueue is deleted": delete_queue,
    "it asks for a check that is missing": queue_with(
        admissionChecksStrategy={"admissionChecks": [{"name": "budget"}]}
    ),
    "it admits other namespaces": queue_with(namespaceSelector={"matchLabels": {"team": "x"}}),
}


@pytest.mark.parametrize("what", FORBIDS)
async def test_nothing_grows_where_its_queue_may_not_admit(tmp_path: Path, what: str) -> None:
    """The other job ends, and its quota is left unused."""
    async with running(tmp_path) as hub:
        uid, other = await wishing(hub)
        await FORBIDS[what](hub)
        await hub.settle()
        await hub.transition("succeed", other)
        await hub.settle()
        assert await pods_of(hub, uid) == 2


@pytest.mark.parametrize("what", [None, *FORBIDS])
async def test_nothing_grows_where_the_queue_changed_before_the_commit(
    tmp_path: Path, what: str | None
) -> None:
    """The commit looks at both queues again; without a change it grows."""
    async with running(tmp_path) as hub:
        uid, other = await wishing(hub)
        await hub.transition("succeed", other)
        await hub.follow()
        wishes = hub.scheduler.index.grow(hub.clock.now())
        grounds = Grounds.of(hub.scheduler.index, Profile())
        if what is not None:
            await FORBIDS[what](hub)
        term = hub.scheduler._term()
        await hub.hub.write(resize.grow, wishes, term, grounds.stays_small)
        assert await pods_of(hub, uid) == (4 if what is None else 2)
